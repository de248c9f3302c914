//! Rules about who drives a run.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Status};

use super::desk::{Desk, agents_named, task};
use super::{Checked, Fixture, at, expect, must, nameless};
use crate::LeaseState::{Held, Lost};
use crate::{
    CLAIM_LIMIT_MAX, ClaimRequest, Clock, HeadUpdate, Hold, LeaseOf, ManualClock, OverlongLease, OwnerId, Scope, Store,
    Transition,
};

/// How long the leases of the rules last.
const LEASE_MS: u64 = 10_000;
/// How many claim at once.
const CLAIMERS: usize = 16;

fn by(owner: &str) -> Hold {
    Hold { owner: OwnerId::new(owner), lease_ms: LEASE_MS }
}

fn moving(clock: &ManualClock, status: Status, hold: Option<Hold>) -> Transition {
    Transition { hold, ..Transition::new(vec![b"step".to_vec()], HeadUpdate::new(status), clock.now()) }
}

async fn claim(store: &Store, owner: &str, limit: usize) -> Result<Vec<String>, String> {
    let request = ClaimRequest { hold: by(owner), agents: nameless().into(), limit };
    let claimed = must("claim", store.leases.claim(&request).await)?;
    Ok(claimed.iter().map(ToString::to_string).collect())
}

async fn expect_claimed(store: &Store, owner: &str, wanted: &[&str]) -> Checked {
    let claimed = claim(store, owner, 10).await?;
    expect(claimed == wanted, || format!("`{owner}` claimed {claimed:?}, not {wanted:?}"))
}

/// Only a run that is to go on is claimed: not one that waits and not one that is over.
pub async fn only_running_runs_are_claimed(Fixture { store, clock, .. }: Fixture) -> Checked {
    for status in Status::ALL {
        let run = RunId::new(status.as_str());
        must("commit", store.runs.commit(&run, Revision(0), moving(&clock, status, None)).await)?;
    }
    expect_claimed(&store, "first", &[Status::Running.as_str()]).await?;
    let waiting = RunId::new(Status::AwaitingToolResults.as_str());
    must("commit", store.runs.commit(&waiting, at(1), moving(&clock, Status::Running, None)).await)?;
    let running = RunId::new(Status::Running.as_str());
    must("commit", store.runs.commit(&running, at(1), moving(&clock, Status::Finished, None)).await)?;
    clock.advance_ms(LEASE_MS + 1);
    expect_claimed(&store, "second", &[waiting.as_str()]).await
}

/// A run that is held is not claimed until the lease lapses, and then by one.
pub async fn a_held_run_is_claimed_when_its_lease_lapsed(Fixture { store, clock, .. }: Fixture) -> Checked {
    let run = RunId::new("held");
    must("commit", store.runs.commit(&run, at(0), moving(&clock, Status::Running, Some(by("first")))).await)?;
    expect_claimed(&store, "second", &[]).await?;
    clock.advance_ms(LEASE_MS - 1);
    expect_claimed(&store, "second", &[]).await?;
    clock.advance_ms(2);
    expect_claimed(&store, "second", &["held"]).await?;
    expect_claimed(&store, "third", &[]).await?;
    let head = must("head", store.runs.head(&Scope::All, &run).await)?;
    let untouched = head.as_ref().is_some_and(|head| head.revision == at(1) && head.status == Status::Running);
    expect(untouched, || format!("a claim changed the head to {head:?}"))
}

/// A commit that says who holds the run sets the lease anew; one that says nobody does makes the run free at once.
pub async fn a_commit_says_who_holds_the_run(Fixture { store, clock, .. }: Fixture) -> Checked {
    let run = RunId::new("driven");
    must("commit", store.runs.commit(&run, at(0), moving(&clock, Status::Running, Some(by("first")))).await)?;
    clock.advance_ms(LEASE_MS - 1);
    must("commit", store.runs.commit(&run, at(1), moving(&clock, Status::Running, Some(by("first")))).await)?;
    clock.advance_ms(LEASE_MS - 1);
    expect_claimed(&store, "second", &[]).await?;
    must("commit", store.runs.commit(&run, at(2), moving(&clock, Status::Running, Some(by("other")))).await)?;
    let renewed = must("renew", store.leases.renew(&run, &by("first")).await)?;
    expect(renewed == Lost, || "the holder before the commit still holds the run".to_owned())?;
    must("commit", store.runs.commit(&run, at(3), moving(&clock, Status::Running, None)).await)?;
    expect_claimed(&store, "second", &["driven"]).await?;
    // A pause lets go, and going on without a holder is free again.
    let paused = moving(&clock, Status::AwaitingToolResults, None);
    must("commit", store.runs.commit(&run, at(4), paused).await)?;
    must("commit", store.runs.commit(&run, at(5), moving(&clock, Status::Running, None)).await)?;
    expect_claimed(&store, "third", &["driven"]).await
}

/// The holder prolongs its lease, also one that lapsed; who does not hold it is told so and changes nothing.
pub async fn only_the_holder_renews_a_lease(Fixture { store, clock, .. }: Fixture) -> Checked {
    let run = RunId::new("renewed");
    must("commit", store.runs.commit(&run, at(0), moving(&clock, Status::Running, Some(by("first")))).await)?;
    for _ in 0..3 {
        clock.advance_ms(LEASE_MS / 2 + 1);
        let strangers = must("renew", store.leases.renew(&run, &by("stranger")).await)?;
        expect(strangers == Lost, || "somebody else renewed the lease".to_owned())?;
        let renewed = must("renew", store.leases.renew(&run, &by("first")).await)?;
        expect(renewed == Held, || "the holder could not renew the lease".to_owned())?;
        expect_claimed(&store, "second", &[]).await?;
    }
    clock.advance_ms(LEASE_MS + 1);
    let renewed = must("renew", store.leases.renew(&run, &by("first")).await)?;
    expect(renewed == Held, || "a lapsed lease that nobody took was not renewed".to_owned())?;
    expect_claimed(&store, "second", &[]).await?;
    clock.advance_ms(LEASE_MS + 1);
    expect_claimed(&store, "second", &["renewed"]).await?;
    let renewed = must("renew", store.leases.renew(&run, &by("first")).await)?;
    expect(renewed == Lost, || "the holder before the claim renewed the lease".to_owned())?;
    let renewed = must("renew", store.leases.renew(&run, &by("second")).await)?;
    expect(renewed == Held, || "who claimed the run could not renew the lease".to_owned())?;
    // A lease of no time gives the run back.
    must("renew", store.leases.renew(&run, &Hold { lease_ms: 0, ..by("second") }).await)?;
    expect_claimed(&store, "third", &["renewed"]).await
}

/// A lease is renewed only for its holder and only while the run goes on: not for a run that nobody holds, that paused, or
/// that is not there.
pub async fn a_lease_that_is_not_held_is_lost(Fixture { store, clock, .. }: Fixture) -> Checked {
    let run = RunId::new("let-go");
    let lost = async |when: &str| {
        let renewed = must("renew", store.leases.renew(&run, &by("first")).await)?;
        expect(renewed == Lost, || format!("a lease was renewed for a run that {when}"))
    };
    lost("is not there").await?;
    must("commit", store.runs.commit(&run, at(0), moving(&clock, Status::Running, Some(by("first")))).await)?;
    must("commit", store.runs.commit(&run, at(1), moving(&clock, Status::Running, None)).await)?;
    lost("nobody holds").await?;
    for (revision, status) in (2..).zip([Status::AwaitingToolConfirmation, Status::Finished, Status::Cancelled]) {
        must("commit", store.runs.commit(&run, at(revision), moving(&clock, status, Some(by("first")))).await)?;
        lost("does not go on").await?;
    }
    Ok(())
}

/// After the store's clock was set back, leases that end later than their own length from now are named, and each is ended
/// only if it is still the one that was named. Leases that were written since are not named.
pub async fn overlong_leases_are_named_and_ended(Fixture { store, clock, .. }: Fixture) -> Checked {
    const HOUR_MS: u64 = 3_600_000;
    let desk = Desk { store: store.clone(), clock: Arc::clone(&clock) };
    let agents = agents_named(&[""]);
    let overlong = async || must("overlong leases", store.leases.overlong(&agents, 10).await);
    for (name, hold) in [("dead", Some(by("first"))), ("alive", Some(by("second"))), ("free", None)] {
        must("commit", store.runs.commit(&RunId::new(name), at(0), moving(&clock, Status::Running, hold)).await)?;
    }
    desk.open("tasks", vec![task(0, "mail"), task(1, "post"), task(2, "fax")]).await?;
    let (gone, kept) = (desk.lease_one("mail").await?.lease, desk.lease_one("post").await?.lease);
    let none = overlong().await?;
    expect(none.is_empty(), || format!("without a clock that was set back, {none:?} are named"))?;
    clock.set_back_ms(HOUR_MS);
    expect_claimed(&store, "third", &[]).await?;
    let named = overlong().await?;
    let of = |lease: &OverlongLease| match &lease.of {
        LeaseOf::Run(run) => run.to_string(),
        LeaseOf::Task(key) => key.to_string(),
    };
    let mut names: Vec<(String, u64)> = named.iter().map(|lease| (of(lease), lease.lease_ms)).collect();
    names.sort_unstable();
    let wanted =
        [("alive", LEASE_MS), ("dead", LEASE_MS), ("free", 0), ("tasks.b1.c0", LEASE_MS), ("tasks.b1.c1", LEASE_MS)];
    let wanted = wanted.map(|(name, lease_ms)| (name.to_owned(), lease_ms));
    expect(names == wanted, || format!("{names:?} are named, not {wanted:?}"))?;
    let foreign = must("overlong leases", store.leases.overlong(&agents_named(&["other"]), 10).await)?;
    expect(foreign.is_empty(), || format!("{foreign:?} are of no agent that was asked for"))?;
    // Holders that live renew: what was named is not what is there.
    must("renew", store.leases.renew(&RunId::new("alive"), &by("second")).await)?;
    desk.heartbeat(&kept).await?;
    for lease in &named {
        let renewed = ["alive", "tasks.b1.c1"].contains(&of(lease).as_str());
        let ended = must("end a lease", store.leases.end(lease).await)?;
        expect(ended != renewed, || format!("ending the lease of {} gave {ended}", of(lease)))?;
        let again = must("end a lease", store.leases.end(lease).await)?;
        expect(!again, || format!("the lease of {} ended twice", of(lease)))?;
    }
    let none = overlong().await?;
    expect(none.is_empty(), || format!("after all were ended or renewed, {none:?} are named"))?;
    let lapsed = desk.lapsed(&[""], 10).await?;
    expect(lapsed == [gone.key.index.0], || format!("{lapsed:?} lapsed"))?;
    let mut claimed = claim(&store, "third", 10).await?;
    claimed.sort_unstable();
    expect(claimed == ["dead", "free"], || format!("{claimed:?} were claimed"))
}

/// Only runs of the agents that were asked for are claimed, those that wait longest first, and never more than the limit.
pub async fn claims_are_of_some_agents_and_limited(Fixture { store, clock, .. }: Fixture) -> Checked {
    for (name, agent) in [("c", "sales"), ("b", "support"), ("a", "sales"), ("d", ""), ("0", "sales")] {
        let mut step = moving(&clock, Status::Running, None);
        step.head.agent = (!agent.is_empty()).then(|| agent.into());
        must("commit", store.runs.commit(&RunId::new(name), Revision(0), step).await)?;
        clock.advance_ms(10);
    }
    let cases = [
        (vec![], 10, vec![]),
        (vec!["sale", "Sales"], 10, vec![]),
        (vec!["sales"], 0, vec![]),
        (vec!["sales"], 2, vec!["c", "a"]),
        (vec!["support", "sales"], usize::MAX, vec!["b", "0"]),
        (vec![""], CLAIM_LIMIT_MAX, vec!["d"]),
        (vec!["", "sales", "support"], 10, vec![]),
    ];
    for (agents, limit, wanted) in cases {
        let request = ClaimRequest { hold: by("claimer"), agents: agents_named(&agents), limit };
        let claimed = must("claim", store.leases.claim(&request).await)?;
        let seen: Vec<&str> = claimed.iter().map(RunId::as_str).collect();
        expect(seen == wanted, || format!("of {agents:?}, {limit} at most, {seen:?} was claimed, not {wanted:?}"))?;
    }
    Ok(())
}

/// Many claim at once: each run goes to one of them, who then holds it.
pub async fn of_racing_claims_each_run_goes_to_one(Fixture { store, clock, .. }: Fixture) -> Checked {
    const RUNS: usize = 60;
    for number in 0..RUNS {
        let hold = (number % 2 == 0).then(|| by("crashed"));
        let run = RunId::new(number.to_string());
        must("commit", store.runs.commit(&run, Revision(0), moving(&clock, Status::Running, hold)).await)?;
    }
    clock.advance_ms(LEASE_MS + 1);
    let barrier = Arc::new(tokio::sync::Barrier::new(CLAIMERS));
    let claimers: Vec<_> = (0..CLAIMERS)
        .map(|claimer| {
            let (store, barrier) = (store.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                let name = format!("claimer-{claimer}");
                let mut got = Vec::new();
                barrier.wait().await;
                loop {
                    let claimed = claim(&store, &name, 3).await?;
                    if claimed.is_empty() {
                        return Ok::<_, String>((name, got));
                    }
                    got.extend(claimed);
                }
            })
        })
        .collect();
    let mut claimed = vec![("rest".to_owned(), Vec::new())];
    for claimer in claimers {
        claimed.push(must("a claimer", claimer.await)??);
    }
    // A claimer may find nothing while others are still taking; nothing is left once they are done.
    claimed[0].1 = claim(&store, "rest", usize::MAX).await?;
    let all: Vec<&String> = claimed.iter().flat_map(|(_, runs)| runs).collect();
    let each: HashSet<&&String> = all.iter().collect();
    expect(each.len() == all.len(), || format!("{} runs were claimed twice", all.len() - each.len()))?;
    expect(each.len() == RUNS, || format!("{} runs were claimed, not {RUNS}", each.len()))?;
    for (name, runs) in &claimed {
        for run in runs {
            let renewed = must("renew", store.leases.renew(&RunId::new(run.as_str()), &by(name)).await)?;
            expect(renewed == Held, || format!("`{name}` claimed run {run} and does not hold it"))?;
        }
    }
    Ok(())
}
