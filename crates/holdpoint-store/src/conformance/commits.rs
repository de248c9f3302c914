//! Rules about writing.

use std::sync::Arc;

use holdpoint_core::{ContinuationId, PauseNumber, Revision, RunId, Status};

use super::{Checked, Fixture, append, create, expect, must, step};
use crate::{CommitError, HeadUpdate, RUN_ID_BYTES_MAX, Scope, Store, StoreError, Transition, TransitionProblem};

/// How many try at once.
const RACERS: usize = 16;

/// A commit at revision 0 makes the run, and its revision is the number of its records.
pub async fn a_commit_at_zero_creates_the_run(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("created");
    let made = store.runs.commit(&run, Revision(0), step(&[b"a", b"b", b"c"])).await;
    expect(matches!(made, Ok(Revision(3))), || format!("three records at 0 gave {made:?}, not revision 3"))?;
    let made = store.runs.commit(&run, Revision(3), step(&[b"d"])).await;
    expect(matches!(made, Ok(Revision(4))), || format!("one record at 3 gave {made:?}, not revision 4"))
}

/// A run that is not there is at revision 0: a commit anywhere else is stale and makes nothing.
pub async fn a_commit_on_an_unknown_run_is_stale(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("nowhere");
    let made = store.runs.commit(&run, Revision(2), step(&[b"a"])).await;
    let stale = matches!(made, Err(CommitError::Stale { current: Revision(0) }));
    expect(stale, || format!("a commit at 2 of a new run gave {made:?}, not stale at 0"))?;
    let head = must("head", store.runs.head(&Scope::All, &run).await)?;
    expect(head.is_none(), || "a stale commit made a run".to_owned())
}

/// Behind, ahead, or at 0 of a run that exists: stale, with the true revision, and nothing changes.
pub async fn a_stale_commit_changes_nothing(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("moved-on");
    create(&store, &run, HeadUpdate::new(Status::Running)).await?;
    append(&store, &run, Revision(1)).await?;
    let before = (
        must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?,
        must("head", store.runs.head(&Scope::All, &run).await)?,
    );
    for at in [0, 1, 3, u64::MAX] {
        let mut transition = step(&[b"late", b"later"]);
        transition.head.status = Status::Finished;
        transition.head.deadline = Some(super::START);
        let made = store.runs.commit(&run, Revision(at), transition).await;
        let stale = matches!(made, Err(CommitError::Stale { current: Revision(2) }));
        expect(stale, || format!("a commit at {at} of a run at 2 gave {made:?}, not stale at 2"))?;
    }
    let after = (
        must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?,
        must("head", store.runs.head(&Scope::All, &run).await)?,
    );
    expect(before == after, || format!("a stale commit changed {before:?} to {after:?}"))?;
    let due = must("due", store.runs.due(&super::nameless(), super::START, 10).await)?;
    expect(due.is_empty(), || "a stale commit set a deadline".to_owned())
}

/// Transitions that no store takes: the problem is named and nothing is written.
pub async fn a_refused_transition_writes_nothing(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("whole");
    let other = ContinuationId { run: RunId::new("other"), pause: PauseNumber(1) };
    let mut foreign = step(&[b"a", b"b"]);
    foreign.head.continuation = Some(other);
    let cases: [(&RunId, Transition, TransitionProblem); 4] = [
        (&run, step(&[]), TransitionProblem::Empty),
        (&run, foreign, TransitionProblem::ForeignContinuation),
        (&RunId::new(""), step(&[b"a"]), TransitionProblem::RunIdLength { bytes: 0 }),
        (
            &RunId::new("r".repeat(RUN_ID_BYTES_MAX + 1)),
            step(&[b"a"]),
            TransitionProblem::RunIdLength { bytes: RUN_ID_BYTES_MAX + 1 },
        ),
    ];
    for (run, transition, problem) in cases {
        let made = store.runs.commit(run, Revision(0), transition).await;
        let named = matches!(&made, Err(CommitError::Invalid(found)) if *found == problem);
        expect(named, || format!("expected `{problem}`, got {made:?}"))?;
        let loaded = store.runs.load(&Scope::All, run, Revision(0)).await;
        let nothing = matches!(loaded, Err(StoreError::NotFound { .. }));
        expect(nothing, || format!("after `{problem}` a load gave {loaded:?}"))?;
    }
    Ok(())
}

/// Many write onto the same revision at once: one succeeds, the others are stale, and only the winner's records are there.
pub async fn of_racing_commits_exactly_one_wins(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("raced");
    create(&store, &run, HeadUpdate::new(Status::Running)).await?;
    race(&store, &run, Revision(1)).await
}

/// Many create the same run at once: one succeeds.
pub async fn of_racing_creations_exactly_one_wins(Fixture { store, .. }: Fixture) -> Checked {
    race(&store, &RunId::new("raced-from-nothing"), Revision(0)).await
}

async fn race(store: &Store, run: &RunId, at: Revision) -> Checked {
    let barrier = Arc::new(tokio::sync::Barrier::new(RACERS));
    let racers: Vec<_> = (0..RACERS)
        .map(|racer| {
            let (store, run, barrier) = (store.clone(), run.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                let name = racer.to_string();
                barrier.wait().await;
                (name.clone(), store.runs.commit(&run, at, step(&[name.as_bytes(), name.as_bytes()])).await)
            })
        })
        .collect();
    let after = Revision(at.0 + 2);
    let mut winners = Vec::new();
    for racer in racers {
        match must("a racer", racer.await)? {
            (name, Ok(revision)) if revision == after => winners.push(name),
            (_, Err(CommitError::Stale { current })) if current == after => {}
            (name, made) => return Err(format!("racer {name} got {made:?}, neither {after} nor stale at {after}")),
        }
    }
    let [winner] = winners.as_slice() else {
        return Err(format!("{} racers won, not one", winners.len()));
    };
    let records = must("load", store.runs.load(&Scope::All, run, at).await)?;
    let theirs = records.len() == 2 && records.iter().all(|record| *record.body == *winner.as_bytes());
    expect(theirs, || format!("racer {winner} won but the records are {records:?}"))
}

/// While transitions of three records are written, nobody sees a number of records that is no multiple of three.
pub async fn readers_see_whole_transitions_only(Fixture { store, .. }: Fixture) -> Checked {
    const STEPS: u64 = 100;
    let run = RunId::new("in-threes");
    let three: &[&[u8]] = &[b"one", b"two", b"three"];
    must("commit", store.runs.commit(&run, Revision(0), step(three)).await)?;
    let (writing, writers_run) = (store.clone(), run.clone());
    let writer = tokio::spawn(async move {
        for done in 1..STEPS {
            writing.runs.commit(&writers_run, Revision(3 * done), step(three)).await?;
            tokio::task::yield_now().await;
        }
        Ok::<(), CommitError>(())
    });
    loop {
        // Asked before reading: what is read afterwards must have all that a finished writer wrote.
        let finished = writer.is_finished();
        let records = must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?.len() as u64;
        let head = must("head", store.runs.head(&Scope::All, &run).await)?.ok_or("the run has no head")?.revision.0;
        let whole = records.is_multiple_of(3) && head.is_multiple_of(3);
        expect(whole, || format!("{records} records and revision {head} were seen"))?;
        expect(records <= head, || format!("revision {head} was seen after {records} records"))?;
        if records == 3 * STEPS {
            break;
        }
        if finished {
            must("the writer", must("the writer", writer.await)?)?;
            return Err(format!("the writer is done and the run is at {head}"));
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Committing the same transition again, since the first answer was lost, is stale: nothing is written twice.
pub async fn the_same_commit_again_is_stale(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("again");
    for at in [0, 2, 4] {
        let made = store.runs.commit(&run, Revision(at), step(&[b"a", b"b"])).await;
        expect(matches!(made, Ok(Revision(now)) if now == at + 2), || format!("a commit at {at} gave {made:?}"))?;
        let again = store.runs.commit(&run, Revision(at), step(&[b"a", b"b"])).await;
        let stale = matches!(again, Err(CommitError::Stale { current }) if current.0 == at + 2);
        expect(stale, || format!("the same commit at {at} again gave {again:?}"))?;
        let records = must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?.len() as u64;
        expect(records == at + 2, || format!("after the same commit again there are {records} records"))?;
    }
    Ok(())
}

/// Two who write to one run in turns, each again where the other was faster, lose nothing and see one history.
pub async fn two_writers_make_one_history(Fixture { store, .. }: Fixture) -> Checked {
    const EACH: u64 = 40;
    let run = RunId::new("shared");
    let writers: Vec<_> = ["a", "b"]
        .map(|name| {
            let (store, run) = (store.clone(), run.clone());
            tokio::spawn(async move {
                let (mut at, mut done) = (Revision(0), 0);
                while done < EACH {
                    match store.runs.commit(&run, at, step(&[format!("{name}{done}").as_bytes()])).await {
                        Ok(revision) => (at, done) = (revision, done + 1),
                        Err(CommitError::Stale { current }) if current > at => at = current,
                        Err(error) => return Err(format!("a commit at {at} gave {error:?}")),
                    }
                    tokio::task::yield_now().await;
                }
                Ok(())
            })
        })
        .into();
    for writer in writers {
        must("a writer", writer.await)??;
    }
    let records = must("load", store.runs.load(&Scope::All, &run, Revision(0)).await)?;
    for name in ["a", "b"] {
        let theirs = records.iter().filter(|record| record.body.starts_with(name.as_bytes()));
        let seen: Vec<&[u8]> = theirs.map(|record| &*record.body).collect();
        let wanted: Vec<Vec<u8>> = (0..EACH).map(|done| format!("{name}{done}").into_bytes()).collect();
        expect(seen == wanted, || format!("writer {name} wrote {EACH} records, {} are there", seen.len()))?;
    }
    expect(records.len() as u64 == 2 * EACH, || format!("{} records are there", records.len()))
}
