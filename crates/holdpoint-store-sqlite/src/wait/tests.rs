use std::task::{Context, Waker};

use super::*;

#[tokio::test]
async fn a_run_that_nobody_waits_for_has_no_bell() {
    let waits = Waits::new();
    let run = RunId::new("run");
    let (first, second) = (waits.begin(&run), waits.begin(&run));
    assert_eq!(waits.bells().len(), 1);
    drop(first);
    assert!(waits.somebody_waits());
    drop(second);
    assert!(waits.bells().is_empty() && !waits.somebody_waits());
}

#[tokio::test]
async fn a_bell_rings_for_those_who_listened_before() {
    let waits = Waits::new();
    let (run, other) = (RunId::new("run"), RunId::new("other"));
    let (waiting, elsewhere) = (waits.begin(&run), waits.begin(&other));
    let (woken, asleep) = (waiting.bell.notified(), elsewhere.bell.notified());
    waits.wake_runs([&run]);
    woken.await;
    let mut asleep = std::pin::pin!(asleep);
    assert!(asleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    waits.wake_bells();
    asleep.await;
}

#[tokio::test]
async fn only_those_whose_run_moved_are_woken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let mut file = crate::schema::open(&path, &crate::Options::default(), holdpoint_core::Timestamp(0)).await.unwrap();
    let sql = "INSERT INTO runs (run_id, revision, status, agent, created_at, updated_at, lease_until, lease_ms, audit_tenant, \
         audit_revision, audit_rows, audit_link) VALUES ($1, 1, 0, '', 0, 0, 0, 0, '', 0, 0, x'')";
    for run in ["moves", "stays"] {
        sqlx::query(sql).bind(run).execute(&mut file).await.unwrap();
    }
    let readers = Readers(sqlx::SqlitePool::connect_lazy_with(crate::Options::default().reading(&path)));
    let (waits, mut known) = (Waits::new(), Known::new());
    let names = ["moves", "stays", "comes"].map(RunId::new);
    let waiting = names.each_ref().map(|run| waits.begin(run));
    // Whoever came before the first look is woken once: something may have happened since they looked.
    let first = waiting.each_ref().map(|waiting| waiting.bell.notified());
    wake_moved(&waits, &readers, &mut known).await.unwrap();
    for woken in first {
        woken.await;
    }
    for (sql, moved) in [
        ("UPDATE runs SET lease_until = 9", vec![]),
        ("UPDATE runs SET revision = 2 WHERE run_id = 'moves'", vec!["moves"]),
        ("UPDATE runs SET run_id = 'comes' WHERE run_id = 'moves'", vec!["moves", "comes"]),
    ] {
        let bells = waiting.each_ref().map(|waiting| Box::pin(waiting.bell.notified()));
        sqlx::query(sql).execute(&mut file).await.unwrap();
        wake_moved(&waits, &readers, &mut known).await.unwrap();
        let mut woken = Vec::new();
        for (run, mut bell) in names.iter().zip(bells) {
            if bell.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                woken.push(run.as_str());
            }
        }
        assert_eq!(woken, moved, "{sql}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_while_nobody_waits() {
    let waits = Arc::new(Waits::new());
    let (queue, mut requests) = mpsc::channel(1);
    // Nobody waits for a run, so that the file is not read.
    let readers = Readers(sqlx::SqlitePool::connect_lazy("sqlite::memory:").unwrap());
    let poller = tokio::spawn(poll(Arc::clone(&waits), queue.downgrade(), readers));
    tokio::time::sleep(100 * POLL).await;
    assert!(requests.try_recv().is_err());

    let mut tasks = waits.watch(Topic::Tasks);
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
