//! Rules about seals, and about what is left of runs that were pruned.

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::chains::{audited, head_of, write};
use super::{Checked, Fixture, START, at, expect, must};
use crate::{Clock, DUE_LIMIT_MAX, PruneRequest, Scope, Seal, SealedRun, Store, Tombstone, Trace, first_link};

async fn seal(store: &Store, tenant: Option<&str>) -> Result<Option<Seal>, String> {
    must("seal", store.audit.seal(tenant).await)
}

/// A seal that must come now, with these runs, after that one.
async fn expect_seal(store: &Store, before: Option<&Seal>, runs: &[SealedRun]) -> Result<Seal, String> {
    let sealed = seal(store, Some("acme")).await?.ok_or("nothing was sealed")?;
    expect(sealed.runs == runs, || format!("{:?} were sealed, not {runs:?}", sealed.runs))?;
    let number = before.map_or(0, |before| before.number) + 1;
    expect(sealed.number == number, || format!("seal {} came, not {number}", sealed.number))?;
    let link = relink(&sealed, before);
    expect(sealed.link == link && sealed.tenant.as_deref() == Some("acme"), || format!("{sealed:?} is not {link}"))?;
    Ok(sealed)
}

/// A seal names the runs of its tenant that moved since the last one, in the order of their names, and follows from the
/// seal before. Nothing moved: no seal.
pub async fn seals_chain_what_moved(Fixture { store, clock, .. }: Fixture) -> Checked {
    expect(seal(&store, Some("acme")).await?.is_none(), || "an empty store was sealed".to_owned())?;
    write(&store, "b", Some("acme"), &["1"]).await?;
    write(&store, "a", Some("acme"), &["1", "2"]).await?;
    write(&store, "foreign", Some("other"), &["1"]).await?;
    write(&store, "nobody's", None, &["1"]).await?;
    must("commit", store.runs.commit(&RunId::new("silent"), at(0), audited(Some("acme"), None, START)).await)?;
    clock.advance_ms(5);
    let acme = |run, rows: &[&str]| head_of(run, Some("acme"), rows);
    let first = expect_seal(&store, None, &[acme("a", &["1", "2"]), acme("b", &["1"])]).await?;
    expect(first.at == clock.now(), || format!("the seal is of {:?}, not of now", first.at))?;
    expect(seal(&store, Some("acme")).await?.is_none(), || "what did not move was sealed again".to_owned())?;

    let step = audited(Some("acme"), Some("2"), START.plus_ms(1));
    must("commit", store.runs.commit(&RunId::new("b"), at(1), step).await)?;
    must("commit", store.runs.commit(&RunId::new("a"), at(2), audited(Some("acme"), None, START)).await)?;
    let second = expect_seal(&store, Some(&first), &[acme("b", &["1", "2"])]).await?;
    let none = seal(&store, None).await?.ok_or("runs without a tenant were not sealed")?;
    expect(none.number == 1 && none.runs == [head_of("nobody's", None, &["1"])], || format!("{none:?} was sealed"))?;

    let cases = [
        (Some("acme"), 0, 10, vec![&first, &second]),
        (Some("acme"), 0, 1, vec![&first]),
        (Some("acme"), 1, 10, vec![&second]),
        (Some("acme"), 2, 10, vec![]),
        (None, 0, 10, vec![&none]),
        (Some("other"), 0, 10, vec![]),
    ];
    for (tenant, after, limit, wanted) in cases {
        let seals = must("seals", store.audit.seals(tenant, after, limit).await)?;
        expect(seals.iter().eq(wanted.iter().copied()), || format!("{tenant:?} after {after} has {seals:?}"))?;
    }
    Ok(())
}

/// The tenants of which something moved are named, in order, with the moment of their last seal; those that were sealed
/// since, or have nothing to seal, are not.
pub async fn what_is_to_be_sealed_is_named(Fixture { store, clock, .. }: Fixture) -> Checked {
    let named = async |wanted: &[(Option<&str>, Option<Timestamp>)]| {
        let unsealed = must("unsealed", store.audit.unsealed().await)?;
        let seen: Vec<_> = unsealed.iter().map(|moved| (moved.tenant.as_deref(), moved.sealed_at)).collect();
        expect(seen == wanted, || format!("to be sealed are {seen:?}, not {wanted:?}"))
    };
    named(&[]).await?;
    write(&store, "1", Some("b"), &["1"]).await?;
    write(&store, "2", Some(""), &["1"]).await?;
    write(&store, "3", None, &["1"]).await?;
    write(&store, "4", Some("b"), &["1"]).await?;
    must("commit", store.runs.commit(&RunId::new("silent"), at(0), audited(Some("c"), None, START)).await)?;
    named(&[(None, None), (Some(""), None), (Some("b"), None)]).await?;
    let first = seal(&store, Some("b")).await?.ok_or("nothing was sealed")?;
    seal(&store, None).await?;
    named(&[(Some(""), None)]).await?;
    clock.advance_ms(5);
    let step = audited(Some("b"), Some("2"), START.plus_ms(1));
    must("commit", store.runs.commit(&RunId::new("4"), at(1), step).await)?;
    named(&[(Some(""), None), (Some("b"), Some(first.at))]).await?;
    let second = seal(&store, Some("b")).await?.ok_or("nothing was sealed")?;
    let step = audited(Some("b"), Some("2"), START.plus_ms(1));
    must("commit", store.runs.commit(&RunId::new("1"), at(1), step).await)?;
    named(&[(Some(""), None), (Some("b"), Some(second.at))]).await
}

/// More runs than fit into one seal are sealed by as many as are needed, each once.
pub async fn many_runs_take_many_seals(Fixture { store, .. }: Fixture) -> Checked {
    let runs = DUE_LIMIT_MAX + 7;
    for number in 0..runs {
        write(&store, &format!("run-{number:05}"), None, &["row"]).await?;
    }
    let mut named: Vec<RunId> = Vec::new();
    for wanted in [DUE_LIMIT_MAX, 7] {
        let sealed = seal(&store, None).await?.ok_or("nothing was sealed")?;
        expect(sealed.runs.len() == wanted, || format!("{} runs were sealed, not {wanted}", sealed.runs.len()))?;
        expect(sealed.runs.is_sorted_by_key(|sealed| &sealed.run), || "a seal is not in order".to_owned())?;
        named.extend(sealed.runs.into_iter().map(|sealed| sealed.run));
    }
    expect(seal(&store, None).await?.is_none(), || "there was something left to seal".to_owned())?;
    named.sort_unstable();
    named.dedup();
    expect(named.len() == runs, || format!("{} runs were sealed of {runs}", named.len()))?;
    let seals = must("seals", store.audit.seals(None, 0, usize::MAX).await)?;
    let right = seals.len() == 2 && seals[1].link == relink(&seals[1], Some(&seals[0]));
    expect(right, || "the seals do not follow each other".to_owned())
}

fn relink(seal: &Seal, before: Option<&Seal>) -> crate::Link {
    let before = before.map(|before| before.link);
    seal.chained(before)
}

/// Those who seal and write at the same time make one chain of seals, and nothing is sealed twice or forgotten.
pub async fn racing_seals_follow_each_other(Fixture { store, .. }: Fixture) -> Checked {
    let writer = |number: usize| {
        let store = store.clone();
        tokio::spawn(async move {
            for run in 0..10 {
                write(&store, &format!("run-{number}-{run}"), Some("acme"), &["1", "2", "3"]).await?;
            }
            Ok::<(), String>(())
        })
    };
    let sealer = || {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                seal(&store, Some("acme")).await?;
            }
            Ok::<(), String>(())
        })
    };
    let tasks: Vec<_> = (0..4).map(writer).chain((0..4).map(|_| sealer())).collect();
    for task in tasks {
        must("a task", task.await)??;
    }
    while seal(&store, Some("acme")).await?.is_some() {}
    let seals = must("seals", store.audit.seals(Some("acme"), 0, usize::MAX).await)?;
    let mut before = None;
    for (number, seal) in (1..).zip(&seals) {
        let right = seal.number == number && seal.link == relink(seal, before) && !seal.runs.is_empty();
        expect(right, || format!("seal {number} does not follow: {seal:?}"))?;
        before = Some(seal);
    }
    let mut last: Vec<&SealedRun> = seals.iter().flat_map(|seal| &seal.runs).collect();
    last.retain(|sealed| sealed.revision == Revision(3));
    expect(last.len() == 40, || format!("{} runs were sealed at their end, not 40", last.len()))?;
    super::chains::expect_whole(&store, 40, 120, seals.len() as u64).await
}

async fn finish(store: &Store, run: &str, tenant: Option<&str>, rows: &[&str]) -> Checked {
    write(store, run, tenant, rows).await?;
    let mut over = audited(tenant, None, START);
    over.head.status = Status::Finished;
    must("commit", store.runs.commit(&RunId::new(run), at(rows.len() as u64), over).await)?;
    Ok(())
}

async fn prune(store: &Store) -> Checked {
    let request = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 100 };
    must("prune", store.runs.prune(&request).await)?;
    Ok(())
}

/// Of a pruned run remains a tombstone, for its tenant: how it was last, when it went, and the last seal that named it. A
/// name that is used again begins a new chain, and the stones of both stay.
pub async fn a_pruned_run_leaves_a_tombstone(Fixture { store, clock, .. }: Fixture) -> Checked {
    finish(&store, "b", Some("acme"), &["1", "2"]).await?;
    finish(&store, "a", Some("acme"), &["1"]).await?;
    finish(&store, "c", None, &["1"]).await?;
    finish(&store, "silent", None, &[]).await?;
    must("seal", store.audit.seal(Some("acme")).await)?;
    let gone_at = clock.advance_ms(7);
    prune(&store).await?;
    let stone = |run: SealedRun, tenant: Option<&str>, seal| Tombstone {
        tenant: tenant.map(Into::into),
        run,
        seal,
        at: gone_at,
    };
    let (a, b) = (head_of("a", Some("acme"), &["1"]), head_of("b", Some("acme"), &["1", "2"]));
    let silent = RunId::new("silent");
    let silent = SealedRun { link: first_link(&silent, None), run: silent, revision: Revision(0) };
    let (a, b) = (stone(a, Some("acme"), 1), stone(b, Some("acme"), 1));
    let (c, silent) = (stone(head_of("c", None, &["1"]), None, 0), stone(silent, None, 0));
    let cases = [
        (Some("acme"), None, 10, vec![&a, &b]),
        (Some("acme"), None, 1, vec![&a]),
        (Some("acme"), Some("a"), 10, vec![&b]),
        (None, None, 10, vec![&c, &silent]),
        (Some("other"), None, 10, vec![]),
    ];
    for (tenant, after, limit, wanted) in cases {
        let stones = must("tombstones", store.audit.tombstones(tenant, after.map(RunId::new).as_ref(), limit).await)?;
        expect(stones.iter().eq(wanted.iter().copied()), || format!("{tenant:?} after {after:?} has {stones:?}"))?;
    }

    finish(&store, "b", Some("acme"), &["anew"]).await?;
    let rows = must("audit", store.audit.rows(&Scope::All, &RunId::new("b")).await)?;
    let anew = head_of("b", Some("acme"), &["anew"]);
    expect(rows.len() == 1 && rows[0].link == anew.link, || format!("used again, its audit log is {rows:?}"))?;
    prune(&store).await?;
    let stones = must("tombstones", store.audit.tombstones(Some("acme"), Some(&RunId::new("a")), 1).await)?;
    let both = [b, stone(anew, Some("acme"), 0)];
    let is_there = both.iter().all(|wanted| stones.contains(wanted));
    expect(stones.len() == 2 && is_there, || format!("after it went twice there are {stones:?}"))
}

/// What there is of runs that a seal names: those that are there, those that went, and those that never were.
pub async fn traces_tell_what_became_of_sealed_runs(Fixture { store, .. }: Fixture) -> Checked {
    finish(&store, "gone", Some("acme"), &["1"]).await?;
    prune(&store).await?;
    write(&store, "there", Some("acme"), &["1", "2"]).await?;
    write(&store, "foreign", Some("other"), &["1"]).await?;
    let asked = |run: &str, revision| SealedRun { revision: Revision(revision), ..head_of(run, None, &[]) };
    let asked = [asked("there", 2), asked("gone", 1), asked("there", 1), asked("there", 9), asked("foreign", 1)];
    let traces = must("traces", store.audit.traces(Some("acme"), &asked).await)?;
    must("seal", store.audit.seal(Some("acme")).await)?;
    let seen: Vec<_> = traces.iter().map(|trace| (trace.is_there, trace.link, trace.tombstones.len())).collect();
    let link = |rows: &[&str]| Some(head_of("there", Some("acme"), rows).link);
    let wanted =
        [(true, link(&["1", "2"]), 0), (false, None, 1), (true, link(&["1"]), 0), (true, None, 0), (false, None, 0)];
    expect(seen == wanted, || format!("the traces are {seen:?}, not {wanted:?}"))?;
    let sealed = |traces: &[Trace]| traces.iter().map(|trace| (trace.sealed.0, trace.seal)).collect::<Vec<_>>();
    expect(sealed(&traces) == [(0, 0); 5], || format!("before it was sealed they are {traces:?}"))?;
    let traces = must("traces", store.audit.traces(Some("acme"), &asked).await)?;
    let wanted = [(2, 1), (0, 0), (2, 1), (2, 1), (0, 0)];
    expect(sealed(&traces) == wanted, || format!("after it was sealed they are {traces:?}"))
}

/// Every tenant with a run, a seal or a tombstone is named once, in order.
pub async fn tenants_are_named(Fixture { store, .. }: Fixture) -> Checked {
    let named = async |wanted: &[Option<&str>]| {
        let tenants = must("tenants", store.audit.tenants().await)?;
        let seen: Vec<Option<&str>> = tenants.iter().map(Option::as_deref).collect();
        expect(seen == wanted, || format!("the tenants are {seen:?}, not {wanted:?}"))
    };
    named(&[]).await?;
    write(&store, "1", Some("b"), &["1"]).await?;
    write(&store, "2", Some("a"), &["1"]).await?;
    write(&store, "3", Some("b"), &[]).await?;
    finish(&store, "4", Some("gone"), &["1"]).await?;
    named(&[Some("a"), Some("b"), Some("gone")]).await?;
    prune(&store).await?;
    named(&[Some("a"), Some("b"), Some("gone")]).await?;
    write(&store, "5", None, &["1"]).await?;
    write(&store, "6", Some(""), &["1"]).await?;
    named(&[None, Some(""), Some("a"), Some("b"), Some("gone")]).await
}
