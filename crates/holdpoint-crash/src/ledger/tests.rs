#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::io::Write;

use super::*;

fn up(name: &str) -> Fact {
    Fact::Up { process: name.to_owned() }
}

#[test]
fn a_reader_gets_each_line_once_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let mut tail = Tail::open(folder.path()).unwrap();
    ledger.write(&up("a")).unwrap();
    ledger.write(&up("b")).unwrap();
    assert_eq!(tail.read_new().unwrap(), [up("a"), up("b")]);
    ledger.write(&up("c")).unwrap();
    assert_eq!(tail.read_new().unwrap(), [up("c")]);
    assert_eq!(tail.read_new().unwrap(), []);
}

#[test]
fn a_line_that_was_never_finished_is_not_there_and_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let mut tail = Tail::open(folder.path()).unwrap();
    ledger.write(&up("a")).unwrap();
    let mut file = OpenOptions::new().append(true).open(path(folder.path())).unwrap();
    file.write_all(b"\n{\"fact\":\"effect\",\"exec").unwrap();
    assert_eq!(tail.read_new().unwrap(), [up("a")]);
    ledger.write(&up("b")).unwrap();
    assert_eq!(tail.read_new().unwrap(), [up("b")]);
    assert_eq!(tail.torn(), 1);
}
