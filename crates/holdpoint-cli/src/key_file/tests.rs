#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use super::*;

#[test]
fn a_key_is_made_once_and_read_ever_after() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holdpoint.key");
    let first = load_or_make(&path).unwrap();
    let again = load_or_make(&path).unwrap();
    assert!(first.made && !again.made);
    assert_eq!(first.seed, again.seed);
    assert_eq!(first.receipt.public().to_text(), again.receipt.public().to_text());
    assert_eq!(first.receipt.id().as_str(), again.receipt.id().as_str());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holdpoint.key");
    load_or_make(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(load_or_make(&path), Err(KeyFileError::Open { .. })));
}

#[test]
fn what_is_no_key_is_not_taken_for_one_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holdpoint.key");
    for text in ["", "secret-text", "holdpoint-key-1 00", &format!("holdpoint-key-1 {}", "zz".repeat(32))] {
        let _ = std::fs::remove_file(&path);
        write_private(&path, text).unwrap();
        let error = load_or_make(&path).err().unwrap().to_string();
        assert!(error.contains("does not hold a key") && !error.contains("secret-text"), "{error}");
    }
    assert!(matches!(load_or_make(&folder.path().join("no/such.key")), Err(KeyFileError::Unreachable { .. })));
}

#[test]
fn of_many_that_begin_at_once_all_have_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holdpoint.key");
    // Threads share a process id, so they would share the file beside: each has a folder of its own for it.
    write_private(&path, &format!("holdpoint-key-1 {}\n", "ab".repeat(32))).unwrap();
    assert!(make(&path).is_ok_and(|key| !key.made && key.seed == [0xab; 32]));
}
