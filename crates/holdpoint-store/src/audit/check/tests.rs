use std::sync::Arc;

use super::*;
use crate::next_link;

/// A run with so many rows, of every second revision.
fn run(rows: u64) -> AuditedRun {
    let name = RunId::new("run");
    let mut link = first_link(&name, Some("acme"));
    let mut made = Vec::new();
    for place in 1..=rows {
        let (revision, at, body) = (Revision(2 * place), Timestamp(7), Arc::from(place.to_string().as_bytes()));
        link = next_link(link, revision, at, &body);
        made.push((place, AuditRow { revision, at, body, link }));
    }
    let head = SealedRun { run: name, revision: Revision(2 * rows), link };
    AuditedRun { head, tenant: Some("acme".into()), count: rows, sealed: Revision(0), seal: 0, rows: made }
}

/// What is found after a change, in parts of so many rows.
fn found_in_parts(rows: u64, part: usize, change: impl FnOnce(&mut AuditedRun)) -> Vec<String> {
    let mut run = run(rows);
    change(&mut run);
    let mut check = RunCheck::new(&run);
    for rows in run.rows.chunks(part) {
        check.add(&AuditedRun { rows: rows.to_vec(), ..run.clone() });
    }
    let short = |finding: Finding| match finding {
        Finding::RowChanged { revision, .. } => format!("{revision} changed"),
        Finding::RowMissing { revision, .. } => format!("{revision} missing"),
        Finding::RowOutOfOrder { revision, .. } => format!("{revision} out of order"),
        Finding::HeadMismatch { .. } => "head".to_owned(),
        Finding::SealedMismatch { .. } => "sealed".to_owned(),
        other => format!("{other:?}"),
    };
    check.end().into_iter().map(short).collect()
}

fn found(change: impl Fn(&mut AuditedRun)) -> Vec<String> {
    let whole = found_in_parts(6, 100, &change);
    assert_eq!(found_in_parts(6, 1, &change), whole, "row by row it is another");
    whole
}

/// Exchanges everything but the revisions of two rows.
fn swap(run: &mut AuditedRun, one: usize, other: usize) {
    let revisions = (run.rows[one].1.revision, run.rows[other].1.revision);
    run.rows.swap(one, other);
    (run.rows[one].1.revision, run.rows[other].1.revision) = revisions;
}

#[test]
fn nothing_is_found_in_what_nobody_changed() {
    for rows in [0, 1, 2, 6, 5_000] {
        assert_eq!(found_in_parts(rows, 1_000, |_| {}), Vec::<String>::new());
    }
}

#[test]
fn a_changed_row_is_named_and_its_neighbours_are_not() {
    assert_eq!(found(|run| run.rows[2].1.body = Arc::from(&b"x"[..])), ["6 changed"]);
    assert_eq!(found(|run| run.rows[2].1.at = Timestamp(8)), ["6 changed"]);
    assert_eq!(found(|run| run.rows[2].1.link = Link([9; 32])), ["6 changed"]);
    assert_eq!(found(|run| run.rows[2].1.revision = Revision(5)), ["5 changed"]);
    assert_eq!(found(|run| run.rows[0].1.body = Arc::from(&b"x"[..])), ["2 changed"]);
    assert_eq!(found(|run| run.rows[5].1.body = Arc::from(&b"x"[..])), ["12 changed"]);
    assert_eq!(found(|run| run.rows[5].1.link = Link([9; 32])), ["12 changed"]);
    let both = |run: &mut AuditedRun| {
        (run.rows[1].1.body, run.rows[4].1.body) = (run.rows[4].1.body.clone(), run.rows[1].1.body.clone());
    };
    assert_eq!(found(both), ["4 changed", "10 changed"]);
}

#[test]
fn a_missing_row_is_named_by_the_next_one() {
    assert_eq!(found(|run| drop(run.rows.remove(0))), ["4 missing"]);
    assert_eq!(found(|run| drop(run.rows.remove(2))), ["8 missing"]);
    assert_eq!(found(|run| drop(run.rows.drain(1..4))), ["10 missing"]);
    assert_eq!(found(|run| drop(run.rows.remove(5))), ["12 missing"]);
    assert_eq!(found(|run| drop(run.rows.drain(3..))), ["12 missing"]);
    assert_eq!(found(|run| run.rows.clear()), ["12 missing"]);
    let twice = |run: &mut AuditedRun| {
        run.rows.remove(1);
        run.rows.remove(3);
    };
    assert_eq!(found(twice), ["6 missing", "12 missing"]);
}

#[test]
fn rows_that_changed_places_are_named() {
    assert_eq!(found(|run| swap(run, 1, 3)), ["4 out of order", "8 out of order"]);
    assert_eq!(found(|run| swap(run, 1, 2)), ["4 out of order", "6 out of order"]);
    assert_eq!(found(|run| swap(run, 0, 4)), ["2 out of order", "10 out of order"]);
}

#[test]
fn a_head_that_is_not_the_end_is_named() {
    assert_eq!(found(|run| run.head.link = Link([9; 32])), ["head"]);
    assert_eq!(found(|run| run.head.revision = Revision(11)), ["head"]);
    assert_eq!(found(|run| run.count = 5), ["head"]);
    assert_eq!(found(|run| run.tenant = None), ["2 changed"]);
    let empty = found_in_parts(0, 1, |run| run.tenant = None);
    assert_eq!(empty, ["head"]);
}

#[test]
fn a_run_that_says_it_was_sealed_further_than_it_is_is_named() {
    let sealed = |revision, seal| {
        found(move |run| {
            run.sealed = Revision(revision);
            run.seal = seal;
        })
    };
    assert_eq!(sealed(12, 1), Vec::<String>::new());
    assert_eq!(sealed(13, 1), ["sealed"]);
    assert_eq!(sealed(12, 0), ["sealed"]);
    assert_eq!(sealed(0, 1), ["sealed"]);
}
