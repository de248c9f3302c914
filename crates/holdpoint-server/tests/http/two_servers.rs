//! Two servers on one store: any of them answers for any run, and one may die.

use std::time::Duration;

use holdpoint::open_store;
use holdpoint_store::Store;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::approvals::Frames;
use crate::stage::{Setting, Stage, allow};

async fn stage(url: String) -> Stage {
    let store: Store = open_store(&url).await.unwrap();
    Stage::with(Setting { store: Some(store), ..Setting::default() }).await
}

/// A run that A drives is followed at B; A dies; B goes on, and the follower sees everything once.
async fn follows_over_a_death(url: &str) {
    // A runtime that ends at once ends all that it does, as a process that is killed.
    let dying = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let a = dying.spawn(stage(url.to_owned())).await.unwrap();
    let b = stage(url.to_owned()).await;
    let started = a.post("/v1/runs", json!({"agent": "support", "input": "wait"})).await.expect(StatusCode::CREATED);
    let id = started["id"].as_str().unwrap().to_owned();
    let request = b.request(Method::GET, &format!("/v1/runs/{id}/events")).header("accept", "text/event-stream");
    let mut stream = Frames::of(request.timeout(Duration::from_secs(120)).send().await.unwrap());
    let mut seen = vec![stream.next().await];
    dying.shutdown_background();
    // Whoever takes the run over asks the model anew.
    b.gate.add_permits(1);
    while let Some(frame) = tokio::time::timeout(Duration::from_secs(100), stream.frame()).await.expect("it goes on") {
        if let Some((id, data)) = frame.strip_prefix("id: ").and_then(|rest| rest.split_once("\ndata: ")) {
            seen.push((id.to_owned(), serde_json::from_str(data).unwrap()));
        }
    }
    let all = b.get(&format!("/v1/runs/{id}/events")).await.expect(StatusCode::OK);
    let all: Vec<(String, Value)> =
        all["events"].as_array().unwrap().iter().map(|event| (event["seq"].to_string(), event.clone())).collect();
    assert_eq!(seen, all);
    assert_eq!(all.last().unwrap().1["event"], "done");
    b.stop().await;
}

/// What one server paused another resumes, and what one handed out another understands.
async fn shares_everything(url: &str) {
    let (a, b) = (stage(url.to_owned()).await, stage(url.to_owned()).await);
    let paused = a.run("use ask_first {}").await;
    let inbox = b.get("/v1/approvals").await.expect(StatusCode::OK);
    assert_eq!(inbox["approvals"][0]["run_id"], paused["id"]);
    let path = format!("/v1/runs/{}/answers?wait_ms=20000", paused["id"].as_str().unwrap());
    let run = b.post(&path, allow(&paused)).await.expect(StatusCode::OK);
    assert_eq!(run["status"], "finished");
    a.run("say one").await;
    let page = a.get("/v1/runs?limit=1").await.expect(StatusCode::OK);
    let path = format!("/v1/runs?limit=1&cursor={}", page["next"].as_str().unwrap());
    assert_eq!(b.get(&path).await.expect(StatusCode::OK)["runs"][0]["id"], paused["id"]);
    a.stop().await;
    b.stop().await;
}

fn sqlite() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("runs.db").display());
    (folder, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_outlives_the_server_that_drives_sqlite() {
    let (_folder, url) = sqlite();
    follows_over_a_death(&url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_one_file() {
    let (_folder, url) = sqlite();
    shares_everything(&url).await;
}

#[cfg(feature = "server-tests")]
mod on_a_server {
    use super::{follows_over_a_death, shares_everything};
    use holdpoint_store_postgres::testing::Scratch;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_follower_outlives_the_server_that_drives_postgres() {
        let scratch = Scratch::new().await.unwrap();
        follows_over_a_death(scratch.url()).await;
        scratch.close().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn two_servers_share_one_database() {
        let scratch = Scratch::new().await.unwrap();
        shares_everything(scratch.url()).await;
        scratch.close().await.unwrap();
    }
}
