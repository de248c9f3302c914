//! What can be wrong with a file, and that the store goes on when it is right again.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::common;

use std::path::Path;
use std::sync::Arc;

use common::{START, commit_fault, create, fault, fault_of_opening, open, step, stranger, url};
use holdpoint_core::{Code, Revision, RunId, Status, Timestamp};
use holdpoint_store::{PruneRequest, Scope, Store, StoreFault};
use holdpoint_store_sqlite::{Migrate, Options, SCHEMA_VERSION, SqliteStore};
use sqlx::{Connection, Executor};

/// The user that owns nothing.
#[cfg(unix)]
const NOBODY: u32 = 65_534;

#[tokio::test]
async fn an_address_that_names_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let of_folder = url(folder.path());
    for address in
        ["", "sqlite:", "sqlite://", "runs.db", "postgres://x/y", "sqlite::memory:", "sqlite:a.db?mode=ro", &of_folder]
    {
        let found = fault_of_opening(address, Options::default()).await;
        assert_eq!(found, StoreFault::InvalidUrl, "{address}");
        assert_eq!(found.code(), Code::InvalidStoreUrl);
    }
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no/such/runs.db");
    assert_eq!(fault_of_opening(&url(&path), Options::default()).await, StoreFault::Missing);
    assert!(!path.parent().unwrap().exists());
}

#[tokio::test]
async fn a_file_of_something_else_is_not_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let text = "This is a letter. ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert_eq!(fault_of_opening(&url(&path), Options::default()).await, StoreFault::Corrupt);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.db");
    let mut theirs = stranger(&path).await;
    theirs.execute("CREATE TABLE songs (title TEXT)").await.unwrap();
    theirs.close().await.unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(fault_of_opening(&url(&path), Options::default()).await, StoreFault::InvalidUrl);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_newer_schema_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    open(&path).await.runs.close().await;
    let mut newer = stranger(&path).await;
    newer.execute("INSERT INTO holdpoint_schema (version, applied_at) VALUES (77, 0)").await.unwrap();
    newer.close().await.unwrap();
    for migrate in [Migrate::Auto, Migrate::Refuse] {
        let found = fault_of_opening(&url(&path), Options { migrate, ..Options::default() }).await;
        assert_eq!(found, StoreFault::SchemaNewer { found: 77, known: SCHEMA_VERSION });
    }
}

#[tokio::test]
async fn an_older_schema_is_refused_if_it_must_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let refuse = || Options { migrate: Migrate::Refuse, ..Options::default() };
    assert_eq!(fault_of_opening(&url(&path), refuse()).await, StoreFault::Missing);
    assert!(!path.exists());

    std::fs::write(&path, b"").unwrap();
    let older = StoreFault::SchemaOlder { found: 0, known: SCHEMA_VERSION };
    assert_eq!(fault_of_opening(&url(&path), refuse()).await, older);
    open(&path).await.runs.close().await;
    SqliteStore::open_with(&url(&path), refuse()).await.unwrap();
}

#[tokio::test]
async fn many_who_open_a_new_file_at_once_all_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("runs.db"));
    let openers: Vec<_> = (0..8)
        .map(|number| {
            let path = Arc::clone(&path);
            tokio::spawn(async move {
                let store = open(&path).await;
                create(&store, &format!("run-{number}"), Status::Running).await;
            })
        })
        .collect();
    for opener in openers {
        opener.await.unwrap();
    }
    let listed = open(&path).await.runs.list(&Default::default()).await.unwrap();
    assert_eq!(listed.items.len(), 8);
}

#[tokio::test]
async fn a_locked_file_is_locked_and_then_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let options = Options { busy_ms: 20, ..Options::default() };
    let store = Store::from(SqliteStore::open_with(&url(&path), options).await.unwrap());
    create(&store, "run", Status::Running).await;
    let mut other = stranger(&path).await;
    other.execute("BEGIN EXCLUSIVE").await.unwrap();

    let run = RunId::new("run");
    let made = store.runs.commit(&run, Revision(1), step(&[b"next"], Status::Running)).await;
    assert_eq!(commit_fault(&made), StoreFault::Locked);
    let hold = holdpoint_store::Hold { owner: holdpoint_store::OwnerId::unique(), lease_ms: 1_000 };
    let renewed = store.leases.renew(&run, &hold).await.unwrap_err();
    assert!(renewed.may_pass(), "{renewed}");
    // Reading goes on meanwhile, and nothing of it is there.
    assert_eq!(store.runs.load(&Scope::All, &run, Revision(0)).await.unwrap().len(), 1);

    other.execute("ROLLBACK").await.unwrap();
    let made = store.runs.commit(&run, Revision(1), step(&[b"next"], Status::Running)).await;
    assert_eq!(made.unwrap(), Revision(2));
}

#[tokio::test]
async fn a_commit_waits_for_a_lock_that_is_held_for_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).await;
    create(&store, "run", Status::Running).await;
    let mut other = stranger(&path).await;
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    let waiting = store.clone();
    let mut commit = tokio::spawn(async move {
        waiting.runs.commit(&RunId::new("run"), Revision(1), step(&[b"next"], Status::Running)).await
    });
    let early = tokio::time::timeout(std::time::Duration::from_millis(30), &mut commit).await;
    assert!(early.is_err(), "it was committed while another connection had the lock");
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(commit.await.unwrap().unwrap(), Revision(2));
}

/// Everything that waits while the file is locked becomes one group: each is decided as if it had come alone.
#[tokio::test]
async fn a_stale_commit_of_a_group_undoes_only_itself() {
    const RUNS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = open(&path).await;
    let mut other = stranger(&path).await;
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    let mut commits = Vec::new();
    for number in 0..RUNS {
        // Every second one is onto a revision that the run never had.
        let at = Revision(if number % 2 == 0 { 0 } else { 5 });
        let store = store.clone();
        commits.push(tokio::spawn(async move {
            let run = RunId::new(format!("run-{number}"));
            store.runs.commit(&run, at, step(&[b"a", b"b"], Status::Running)).await
        }));
        tokio::task::yield_now().await;
    }
    other.execute("ROLLBACK").await.unwrap();
    for (number, commit) in commits.into_iter().enumerate() {
        let made = commit.await.unwrap();
        let head = store.runs.head(&Scope::All, &RunId::new(format!("run-{number}"))).await.unwrap();
        if number % 2 == 0 {
            assert_eq!((made.unwrap(), head.unwrap().revision), (Revision(2), Revision(2)));
        } else {
            let stale = matches!(made, Err(holdpoint_store::CommitError::Stale { current: Revision(0) }));
            assert!(stale && head.is_none(), "{made:?}");
        }
    }
}

/// Bytes that do not become fewer when they are compressed.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let options = Options { pages_max: Some(120), ..Options::default() };
    let store = Store::from(SqliteStore::open_with(&url(&path), options).await.unwrap());
    let noise = noise(20_000);
    let mut written = 0;
    let failed = loop {
        let run = RunId::new(format!("run-{written}"));
        let made = store.runs.commit(&run, Revision(0), step(&[&noise], Status::Finished)).await;
        match made {
            Ok(_) => written += 1,
            made => break commit_fault(&made),
        }
        assert!(written < 1_000, "the disk is never full");
    };
    assert_eq!(failed, StoreFault::Full);
    assert!(failed.may_pass());
    let listed = store.runs.list(&Default::default()).await.unwrap();
    assert_eq!(listed.items.len(), written);
    for head in &listed.items {
        assert_eq!(store.runs.load(&Scope::All, &head.run, Revision(0)).await.unwrap()[0].body[..], noise[..]);
    }

    let request = PruneRequest { before: Timestamp(START.0 + 1), tenant: None, limit: 1 };
    assert_eq!(store.runs.prune(&request).await.unwrap(), [RunId::new("run-0")]);
    let made = store.runs.commit(&RunId::new("later"), Revision(0), step(&[&noise], Status::Finished)).await;
    assert_eq!(made.unwrap(), Revision(1));
}

/// The owner of a machine may write to everything, so somebody else has to try.
#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_can_be_read_and_not_written() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    const AS_NOBODY: &str = "HOLDPOINT_TEST_READ_ONLY_FOLDER";
    if let Some(folder) = std::env::var_os(AS_NOBODY) {
        return try_read_only(Path::new(&folder)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    for place in ["open", "closed"] {
        let place = folder.path().join(place);
        std::fs::create_dir(&place).unwrap();
        let store = open(&place.join("runs.db")).await;
        create(&store, "run", Status::Running).await;
        store.runs.close().await;
        mode(&place.join("runs.db"), 0o444);
    }
    mode(folder.path(), 0o755);
    mode(&folder.path().join("open"), 0o777);
    mode(&folder.path().join("closed"), 0o555);

    // A copy, since the folder of the build may be closed to others.
    let program = folder.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    mode(&program, 0o755);
    let mut command = std::process::Command::new(program);
    command.args(["--exact", "faults::a_read_only_file_can_be_read_and_not_written"]).env(AS_NOBODY, folder.path());
    if std::fs::File::options().append(true).open(folder.path().join("open/runs.db")).is_ok() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    mode(&folder.path().join("closed"), 0o755);
}

#[cfg(unix)]
async fn try_read_only(folder: &Path) {
    let store = open(&folder.join("open/runs.db")).await;
    let run = RunId::new("run");
    assert_eq!(store.runs.head(&Scope::All, &run).await.unwrap().unwrap().revision, Revision(1));
    let made = store.runs.commit(&run, Revision(1), step(&[b"next"], Status::Running)).await;
    assert_eq!(commit_fault(&made), StoreFault::ReadOnly);
    assert_eq!(store.runs.load(&Scope::All, &run, Revision(0)).await.unwrap().len(), 1);

    // Without a place for the files beside it, it cannot even be read.
    let found = fault_of_opening(&url(&folder.join("closed/runs.db")), Options::default()).await;
    assert_eq!(found, StoreFault::ReadOnly);
    let new = fault_of_opening(&url(&folder.join("closed/new.db")), Options::default()).await;
    assert_eq!(new, StoreFault::NotPermitted);
}

#[tokio::test]
async fn a_store_whose_runtime_ended_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let elsewhere = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(open(&path))
    });
    let store = elsewhere.await.unwrap();
    let made = store.runs.commit(&RunId::new("run"), Revision(0), step(&[b"a"], Status::Running)).await;
    assert_eq!(commit_fault(&made), StoreFault::Unavailable);
    let released = store.runs.prune(&PruneRequest { before: START, tenant: None, limit: 1 }).await;
    assert_eq!(fault(&released.unwrap_err()), StoreFault::Unavailable);
}
