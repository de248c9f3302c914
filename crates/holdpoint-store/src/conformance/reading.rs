//! Rules about reading one run, and about the clock.

use holdpoint_core::{ContinuationId, PauseNumber, Revision, RunId, Status, Timestamp};

use super::{Checked, Fixture, START, create, expect, must, step, step_at};
use crate::{Head, HeadUpdate, Record, Scope, StoreError, Transition};

/// Every byte comes back, in order, numbered from 1: also empty records and large ones.
pub async fn records_come_back_as_they_went_in(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("bytes");
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    let bodies: [&[u8]; 5] = [b"", &every_byte, &[0; 127], &[255; 128], &large];
    must("commit", store.runs.commit(&run, Revision(0), step(&bodies[..2])).await)?;
    must("commit", store.runs.commit(&run, Revision(2), step(&bodies[2..])).await)?;
    let records = must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?;
    expect(records.len() == bodies.len(), || format!("{} records came back of {}", records.len(), bodies.len()))?;
    for ((record, body), seq) in records.iter().zip(bodies).zip(1..) {
        expect(record.seq == Revision(seq), || format!("record {seq} is numbered {}", record.seq))?;
        expect(*record.body == *body, || format!("record {seq} came back changed: {record:?}"))?;
    }
    Ok(())
}

/// Every record has the moment of its transition, to the microsecond, also when a later one is earlier.
pub async fn records_keep_their_moments(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("moments");
    let moments = [START.0, START.0 + 1, START.0 - 5_000_000, 0, START.0 + 86_400_000_000];
    for (at, moment) in moments.into_iter().enumerate() {
        let transition = step_at(&[b"x", b"y"], Timestamp(moment));
        must("commit", store.runs.commit(&run, Revision(2 * at as u64), transition).await)?;
    }
    let records = must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?;
    let seen: Vec<i64> = records.iter().map(|record| record.at.0).collect();
    let wanted: Vec<i64> = moments.into_iter().flat_map(|moment| [moment, moment]).collect();
    expect(seen == wanted, || format!("moments {wanted:?} came back as {seen:?}"))
}

/// A load gives what is after the revision that the reader has, and nothing when there is no more.
pub async fn loading_goes_on_after_what_is_known(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("tail");
    must("commit", store.runs.commit(&run, Revision(0), step(&[b"1", b"2", b"3", b"4"])).await)?;
    for (after, wanted) in [(0, vec![1, 2, 3, 4]), (1, vec![2, 3, 4]), (3, vec![4]), (4, vec![]), (9, vec![])] {
        let records = must("load", store.runs.load(&Scope::All, &run, Revision(after)).await)?;
        let seen: Vec<u64> = records.iter().map(|record| record.seq.0).collect();
        expect(seen == wanted, || format!("after {after} came {seen:?}, not {wanted:?}"))?;
        let right = |record: &Record| *record.body == *record.seq.0.to_string().as_bytes();
        expect(records.iter().all(right), || format!("after {after} the records have the wrong bytes"))?;
    }
    Ok(())
}

/// A run that nobody made has no head and cannot be loaded or waited for. Names are compared byte by byte.
pub async fn an_unknown_run_is_not_found(Fixture { store, .. }: Fixture) -> Checked {
    create(&store, &RunId::new("known"), HeadUpdate::new(Status::Running)).await?;
    for name in ["unknown", "Known", "know", "known "] {
        let run = RunId::new(name);
        let head = must("head", store.runs.head(&Scope::All, &run).await)?;
        expect(head.is_none(), || format!("`{name}` has a head"))?;
        let loaded = store.runs.load(&Scope::All, &run, Revision(0)).await;
        let missing = matches!(&loaded, Err(StoreError::NotFound { run: named }) if *named == run);
        expect(missing, || format!("loading `{name}` gave {loaded:?}"))?;
        let changed = store.runs.changed(&run, Revision(0)).await;
        let missing = matches!(&changed, Err(StoreError::NotFound { run: named }) if *named == run);
        expect(missing, || format!("waiting for `{name}` gave {changed:?}"))?;
    }
    Ok(())
}

/// The head has everything that the last commit said and nothing of those before, except when, for whom and in which
/// session the run was made.
pub async fn a_head_is_what_the_last_commit_said(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("head");
    let paused = HeadUpdate {
        status: Status::AwaitingToolConfirmation,
        agent: Some("support".into()),
        tenant: Some("acme".into()),
        continuation: Some(ContinuationId { run: run.clone(), pause: PauseNumber(7) }),
        deadline: Some(START.plus_ms(500)),
        session: None,
    };
    let updates = [
        HeadUpdate { session: Some("talk".into()), continuation: None, deadline: None, ..paused.clone() },
        paused.clone(),
        HeadUpdate { continuation: None, deadline: None, status: Status::Running, ..paused },
        HeadUpdate::new(Status::Finished),
    ];
    for (done, update) in updates.into_iter().enumerate() {
        let (at, moment) = (done as u64, START.plus_ms(done as u64));
        let transition = Transition::new(vec![vec![1]], update.clone(), moment);
        must("commit", store.runs.commit(&run, Revision(at), transition).await)?;
        let wanted = Head {
            run: run.clone(),
            revision: Revision(at + 1),
            status: update.status,
            continuation: update.continuation,
            deadline: update.deadline,
            // Said once, when the run is made.
            agent: Some("support".into()),
            tenant: Some("acme".into()),
            session: Some("talk".into()),
            created_at: START,
            updated_at: moment,
        };
        let seen = must("head", store.runs.head(&Scope::All, &run).await)?;
        expect(seen.as_ref() == Some(&wanted), || format!("the head is {seen:?}, not {wanted:?}"))?;
    }
    Ok(())
}

/// The clock never goes backwards, for whoever asks.
pub async fn the_clock_never_goes_back(Fixture { store, .. }: Fixture) -> Checked {
    let other = store.clone();
    let mut latest = store.runs.now();
    let asked_elsewhere = must("asking", tokio::spawn(async move { other.runs.now() }).await)?;
    for _ in 0..1_000 {
        let now = store.runs.now();
        expect(now >= latest, || format!("the clock went from {} to {}", latest.0, now.0))?;
        latest = now;
    }
    expect(latest >= asked_elsewhere, || "the clock is behind what another task was told".to_owned())
}

/// A reader can go on from any record, whatever transition wrote it, and however large that was.
pub async fn a_tail_starts_at_any_record(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("long");
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    for (records, bytes) in [(1, 3), (40, 500), (2, 0), (1, 100_000), (7, 20)] {
        let from = bodies.len();
        bodies.extend((from..from + records).map(|number| format!("{number} ").repeat(bytes).into_bytes()));
        let transition = Transition::new(bodies[from..].to_vec(), HeadUpdate::new(Status::Running), START);
        must("commit", store.runs.commit(&run, Revision(from as u64), transition).await)?;
    }
    for after in 0..=bodies.len() {
        let records = must("load", store.runs.load(&Scope::All, &run, Revision(after as u64)).await)?;
        let right = records.len() == bodies.len() - after
            && records.iter().zip(after..).all(|(record, number)| {
                record.seq == Revision(number as u64 + 1)
                    && bodies.get(number).is_some_and(|body| *record.body == **body)
            });
        expect(right, || format!("after {after} came {records:?}"))?;
    }
    Ok(())
}

/// What transitions left in the audit log comes back in order, with the revision and the moment of its transition, and
/// only for its run.
pub async fn audit_rows_come_back_in_order(Fixture { store, .. }: Fixture) -> Checked {
    let (run, other) = (RunId::new("audited"), RunId::new("other"));
    let rows = [Some("first"), None, Some("third"), Some("")];
    for (done, row) in rows.into_iter().enumerate() {
        for run in [&run, &other] {
            let text = row.map(|row| format!("{run} {row}").into_bytes());
            let moment = START.plus_ms(done as u64);
            let transition = Transition { audit: text, ..step_at(&[b"x", b"y"], moment) };
            must("commit", store.runs.commit(run, Revision(2 * done as u64), transition).await)?;
        }
    }
    for run in [&run, &other] {
        let seen = must("audit", store.audit.rows(&Scope::All, run).await)?;
        let seen: Vec<_> = seen.iter().map(|row| (row.revision.0, row.at, row.body.to_vec())).collect();
        let wanted = [(2, 0, "first"), (6, 2, "third"), (8, 3, "")];
        let wanted =
            wanted.map(|(revision, ms, text)| (revision, START.plus_ms(ms), format!("{run} {text}").into_bytes()));
        expect(seen == wanted, || format!("the audit log of `{run}` has {} rows, or wrong ones", seen.len()))?;
    }
    let records = must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?;
    expect(records.len() == 8, || format!("beside audit rows there are {} records, not 8", records.len()))?;
    let nobody = must("audit", store.audit.rows(&Scope::All, &RunId::new("nobody")).await)?;
    expect(nobody.is_empty(), || format!("a run that is not there has the audit log {nobody:?}"))
}
