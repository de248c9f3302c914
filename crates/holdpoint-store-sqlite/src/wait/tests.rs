use std::task::{Context, Waker};

use holdpoint_store::Topic;

use super::*;

fn is_ready(future: impl Future) -> bool {
    std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[tokio::test]
async fn a_look_wakes_the_waiters_of_runs_that_moved_or_went() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut file = crate::schema::open(&path, &crate::Options::default(), holdpoint_core::Timestamp(0)).await.unwrap();
    let sql = "INSERT INTO runs (run_id, revision, status, agent, tenant, created_at, updated_at, lease_until, lease_ms, \
         audit_revision, audit_rows, audit_link, alone) VALUES ($1, 1, 0, '', '', 0, 0, 0, 0, 0, 0, x'', 0)";
    for run in ["moves", "stays", "goes"] {
        sqlx::query(sql).bind(run).execute(&mut file).await.unwrap();
    }
    let readers = Readers(sqlx::SqlitePool::connect_lazy_with(crate::Options::default().reading(&path)));
    let notifier = Notifier::new();
    let [mut moves, mut stays, mut goes] = ["moves", "stays", "goes"].map(|run| notifier.wait(RunId::new(run)));
    for sql in [
        "UPDATE runs SET lease_until = 9",
        "UPDATE runs SET revision = 2 WHERE run_id = 'moves'",
        "DELETE FROM runs WHERE run_id = 'goes'",
    ] {
        look(&notifier, &readers).await.unwrap();
        assert!(!is_ready(stays.until_after(Revision(1))) && !is_ready(goes.until_after(Revision(1))));
        sqlx::query(sql).execute(&mut file).await.unwrap();
    }
    look(&notifier, &readers).await.unwrap();
    assert_eq!(moves.until_after(Revision(1)).await, Some(Revision(2)));
    assert_eq!(goes.until_after(Revision(1)).await, None);
    assert!(!is_ready(stays.until_after(Revision(1))));
}

#[tokio::test(start_paused = true)]
async fn the_file_is_asked_only_while_a_caller_waits() {
    let notifier = Arc::new(Notifier::new());
    let (queue, mut requests) = mpsc::channel(1);
    // No caller waits for a run, so that the file is not read.
    let readers = Readers(sqlx::SqlitePool::connect_lazy("sqlite::memory:").unwrap());
    let poller = tokio::spawn(poll(Arc::clone(&notifier), queue.downgrade(), readers));
    tokio::time::sleep(100 * POLL).await;
    assert!(requests.try_recv().is_err());

    let mut tasks = notifier.watch(Topic::Tasks);
    for version in [1, 2] {
        let Some(Request::ForeignVersion(answer)) = requests.recv().await else { panic!("nobody asked") };
        answer.send(Ok(version)).unwrap();
        tasks.changed().await.unwrap();
    }
    // The same again wakes nobody.
    let Some(Request::ForeignVersion(answer)) = requests.recv().await else { panic!("nobody asked") };
    answer.send(Ok(2)).unwrap();
    tokio::time::sleep(POLL / 2).await;
    assert!(!tasks.has_changed().unwrap());

    drop(queue);
    drop(requests);
    poller.await.unwrap();
}
