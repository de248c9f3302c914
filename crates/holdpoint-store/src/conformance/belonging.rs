//! Rules about sessions.

use holdpoint_core::{Revision, RunId, Status, Timestamp};

use super::{Checked, Fixture, START, at, expect, must};
use crate::{
    CommitError, Cursor, HeadUpdate, PruneRequest, RunFilter, Scope, SessionFilter, SessionUse, Store, StoreError,
    Transition,
};

fn step(session: Option<&str>, tenant: Option<&str>, status: Status, session_use: SessionUse) -> Transition {
    let head =
        HeadUpdate { session: session.map(Into::into), tenant: tenant.map(Into::into), ..HeadUpdate::new(status) };
    Transition { session_use, ..Transition::new(vec![b"x".to_vec()], head, START) }
}

async fn create(
    store: &Store,
    run: &str,
    session: &str,
    tenant: Option<&str>,
    session_use: SessionUse,
) -> Result<Revision, CommitError> {
    store.runs.commit(&RunId::new(run), at(0), step(Some(session), tenant, Status::Running, session_use)).await
}

/// Of runs that are to be alone in a session, one is created; those of other sessions and tenants do not matter, and
/// neither do those that need not be alone.
pub async fn of_racing_runs_alone_in_a_session_one_is_created(Fixture { store, .. }: Fixture) -> Checked {
    let racing = (0..8).map(|number| {
        let store = store.clone();
        tokio::spawn(
            async move { create(&store, &format!("r{number}"), "talk", Some("acme"), SessionUse::Alone).await },
        )
    });
    let racing: Vec<_> = racing.collect();
    let mut created = 0;
    for one in racing {
        match must("racing", one.await)? {
            Ok(_) => created += 1,
            Err(CommitError::SessionBusy) => {}
            Err(error) => return Err(format!("a run alone in a session got {error:?}")),
        }
    }
    expect(created == 1, || format!("{created} runs were created alone in one session"))?;
    let others = [("o1", "talk", Some("other")), ("o2", "talk", None), ("o3", "walk", Some("acme"))];
    for (run, session, tenant) in others {
        must("another session", create(&store, run, session, tenant, SessionUse::Alone).await)?;
    }
    must("a run that shares", create(&store, "o4", "talk", Some("acme"), SessionUse::Shared).await)?;
    let busy = create(&store, "o5", "talk", Some("acme"), SessionUse::Alone).await;
    expect(matches!(busy, Err(CommitError::SessionBusy)), || format!("a second one got {busy:?}"))?;
    let head = must("head", store.runs.head(&Scope::All, &RunId::new("o5")).await)?;
    expect(head.is_none(), || format!("the refused run is {head:?}"))?;
    // Whoever has the run already is told that it is there, not that the session is busy.
    let again = create(&store, "o1", "talk", Some("other"), SessionUse::Alone).await;
    expect(matches!(again, Err(CommitError::Stale { current: Revision(1) })), || format!("the same run got {again:?}"))
}

/// A session is busy while its run goes on or waits, and free once that is over or removed.
pub async fn a_session_is_free_when_its_run_is_over(Fixture { store, .. }: Fixture) -> Checked {
    let alone = SessionUse::Alone;
    for (number, over) in [Status::Finished, Status::Failed, Status::Cancelled].into_iter().enumerate() {
        let run = format!("r{number}");
        must("create", create(&store, &run, "talk", None, alone.clone()).await)?;
        let waits = [Status::AwaitingToolConfirmation, Status::Running, Status::AwaitingToolResults];
        for (revision, status) in (1..).zip(waits) {
            let moved = step(None, None, status, SessionUse::Shared);
            must("commit", store.runs.commit(&RunId::new(&*run), at(revision), moved).await)?;
            let busy = create(&store, "second", "talk", None, alone.clone()).await;
            expect(matches!(busy, Err(CommitError::SessionBusy)), || format!("while it is {status:?}: {busy:?}"))?;
        }
        let ended = step(None, None, over, SessionUse::Shared);
        must("commit", store.runs.commit(&RunId::new(&*run), at(4), ended).await)?;
    }
    // One that is over when it is made keeps nobody out.
    let done = step(Some("talk"), None, Status::Finished, alone.clone());
    must("create", store.runs.commit(&RunId::new("done"), at(0), done).await)?;
    must("create", create(&store, "last", "talk", None, alone).await)?;
    Ok(())
}

/// Who goes on with a session from a run that is no longer its last is refused: they do not know all of it.
pub async fn a_run_goes_on_only_from_the_last_of_its_session(Fixture { store, .. }: Fixture) -> Checked {
    let after = |last: Option<&str>| SessionUse::AloneAfter(last.map(RunId::new));
    let done = |last: Option<&str>| step(Some("talk"), Some("acme"), Status::Finished, after(last));
    let cases = [
        ("r1", Some("r0"), false),
        ("r1", None, true),
        ("r2", None, false),
        ("r2", Some("r1"), true),
        ("r3", Some("r1"), false),
        ("r3", Some("r2"), true),
    ];
    for (run, last, created) in cases {
        match (store.runs.commit(&RunId::new(run), at(0), done(last)).await, created) {
            (Ok(_), true) | (Err(CommitError::SessionBusy), false) => {}
            (other, _) => return Err(format!("{run} after {last:?} got {other:?}")),
        }
    }
    // Other sessions and tenants have nothing to do with it, and a run that does not ask still counts.
    for (run, session, tenant) in [("o1", "talk", None), ("o2", "talk", Some("other")), ("o3", "walk", Some("acme"))] {
        must("another session", create(&store, run, session, tenant, after(None)).await)?;
    }
    must("a run that shares", create(&store, "shared", "talk", Some("acme"), SessionUse::Shared).await)?;
    let late = store.runs.commit(&RunId::new("r4"), at(0), done(Some("r3"))).await;
    expect(matches!(late, Err(CommitError::SessionBusy)), || format!("after a newer run it got {late:?}"))?;
    // Of those who go on from the same run at the same time one is created.
    let racing = (0..8).map(|number| {
        let (store, use_) = (store.clone(), after(Some("shared")));
        tokio::spawn(async move { create(&store, &format!("x{number}"), "talk", Some("acme"), use_).await })
    });
    let racing: Vec<_> = racing.collect();
    let mut created = 0;
    for one in racing {
        created += usize::from(must("racing", one.await)?.is_ok());
    }
    expect(created == 1, || format!("{created} runs went on from the same one"))
}

/// Sessions are listed that of the last created run first, with how many runs they have; runs are listed by session.
pub async fn sessions_are_listed_by_their_last_run(Fixture { store, .. }: Fixture) -> Checked {
    let runs = [("1", "a", "acme"), ("2", "b", "acme"), ("3", "a", "other"), ("4", "a", "acme"), ("5", "c", "acme")];
    for (run, session, tenant) in runs {
        must("create", create(&store, run, session, Some(tenant), SessionUse::Shared).await)?;
    }
    must(
        "create",
        store.runs.commit(&RunId::new("6"), at(0), step(None, Some("acme"), Status::Running, SessionUse::Shared)).await,
    )?;
    let ended = step(None, Some("acme"), Status::Finished, SessionUse::Shared);
    must("commit", store.runs.commit(&RunId::new("2"), at(1), ended).await)?;
    let cases = [
        (None, vec!["c:1:5", "a:2:4", "a:1:3", "b:1:2"]),
        (Some("acme"), vec!["c:1:5", "a:2:4", "b:1:2"]),
        (Some("nobody"), vec![]),
    ];
    for (tenant, wanted) in cases {
        for limit in [1, 2, 3, 100] {
            let (mut cursor, mut seen) = (None, Vec::new());
            loop {
                let filter = SessionFilter { tenant: tenant.map(Into::into), cursor, limit: Some(limit) };
                let page = must("sessions", store.runs.sessions(&filter).await)?;
                expect(page.items.len() <= limit, || format!("a page of {limit} has {:?}", page.items))?;
                seen.extend(page.items.iter().map(|row| format!("{}:{}:{}", row.id, row.runs, row.last_run)));
                cursor = page.next;
                if cursor.is_none() || seen.len() > wanted.len() {
                    break;
                }
            }
            expect(seen == wanted, || format!("the sessions of {tenant:?} in pages of {limit} are {seen:?}"))?;
        }
    }
    let last = must("sessions", store.runs.sessions(&SessionFilter::default()).await)?;
    let ended = last.items.last().is_some_and(|row| row.status == Status::Finished && row.created_at == START);
    expect(ended, || format!("the last session is {:?}", last.items.last()))?;
    let of = RunFilter { session: Some("a".into()), tenant: Some("acme".into()), ..RunFilter::default() };
    let runs = must("list", store.runs.list(&of).await)?.items;
    let named = runs.iter().map(|head| head.run.to_string()).collect::<String>();
    expect(named == "41" && runs[0].session.as_deref() == Some("a"), || format!("the runs of a session are {runs:?}"))?;
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
    must("prune", store.runs.prune(&all).await)?;
    let left = must("sessions", store.runs.sessions(&SessionFilter::default()).await)?.items;
    expect(left.len() == 3, || format!("after pruning, {left:?} are left"))?;
    let foreign = SessionFilter { cursor: Some(Cursor::new("nobody's")), ..SessionFilter::default() };
    let refused = store.runs.sessions(&foreign).await;
    expect(matches!(refused, Err(StoreError::InvalidCursor)), || format!("a foreign cursor gave {refused:?}"))
}
