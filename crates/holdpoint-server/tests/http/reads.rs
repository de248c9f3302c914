//! How often a request reads the log of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use holdpoint::RunId;
use holdpoint_core::Revision;
use holdpoint_store::{Layer, MemoryStore, Record, RunLogLayer, Scope, Store, StoreError};
use reqwest::{Method, StatusCode};

use crate::stage::{Setting, Stage, allow};

struct Counting {
    inner: Store,
    loads: AtomicUsize,
}

impl Layer for Counting {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for Counting {
    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        self.inner.runs.load(scope, run, after).await
    }
}

async fn counted() -> (Stage, Arc<Counting>) {
    let counting = Arc::new(Counting { inner: MemoryStore::new().into(), loads: AtomicUsize::new(0) });
    let store = Store { runs: Arc::clone(&counting) as _, ..counting.inner.clone() };
    (Stage::with(Setting { store: Some(store), ..Setting::default() }).await, counting)
}

#[tokio::test]
async fn answered_approval_reads_the_log_once() {
    let (stage, counting) = counted().await;
    for query in ["?wait_ms=20000", ""] {
        let paused = stage.run("use ask_first {}").await;
        counting.loads.store(0, Ordering::SeqCst);
        let path = format!("/v1/runs/{}/answers{query}", paused["id"].as_str().unwrap());
        let run = stage.post(&path, allow(&paused)).await.expect(StatusCode::OK);
        assert_eq!(run["continuation_id"], serde_json::Value::Null);
        assert_eq!(counting.loads.load(Ordering::SeqCst), 1, "answers{query}");
    }
}

#[tokio::test]
async fn answered_approval_that_is_streamed_reads_the_log_once() {
    let (stage, counting) = counted().await;
    let paused = stage.run("use ask_first {}").await;
    counting.loads.store(0, Ordering::SeqCst);
    let path = format!("/v1/runs/{}/answers", paused["id"].as_str().unwrap());
    let request = stage.request(Method::POST, &path).header("accept", "text/event-stream").json(&allow(&paused));
    let events = request.send().await.unwrap().text().await.unwrap();
    assert!(events.contains("\"event\":\"resumed\""), "{events}");
    assert_eq!(counting.loads.load(Ordering::SeqCst), 1);
}
