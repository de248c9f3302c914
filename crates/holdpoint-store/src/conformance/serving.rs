//! Rules about what servers keep: responses, workers, and counts.

use holdpoint_core::{CallIndex, Digest, Status, ToolName, Turn};

use super::desk::{Desk, task, wants};
use super::{Checked, Fixture, at, create, expect, must};
use crate::{
    HeadUpdate, LeaseRequest, QuestionChange, QuestionKind, QuestionOpening, RESPONSE_KEPT_MS, Reservation, Reserved,
    ResponseKey, Scope, Store, StoreTally, Swept, WORKER_KEPT_MS, WorkerSeen,
};

/// How long a request that was begun is left to whoever began it.
const RESERVED_MS: u64 = 30_000;

fn key(sender: &str, name: &str) -> ResponseKey {
    ResponseKey { sender: sender.into(), route: "POST /v1/runs".into(), key: name.into() }
}

async fn reserve(store: &Store, key: &ResponseKey, digest: u8) -> Result<Reserved, String> {
    let reservation = Reservation { key: key.clone(), digest: Digest([digest; 32]), reserved_ms: RESERVED_MS };
    must("reserve", store.state.reserve(&reservation).await)
}

async fn expect_kept(store: &Store, key: &ResponseKey, wanted: Option<&[u8]>) -> Checked {
    let found = must("look for a response", store.state.kept(key).await)?;
    expect(found.as_deref() == wanted, || format!("{key:?} has {:?} bytes", found.map(|kept| kept.len())))
}

async fn expect_reserved(store: &Store, key: &ResponseKey, digest: u8, wanted: Reserved) -> Checked {
    let found = reserve(store, key, digest).await?;
    expect(found == wanted, || format!("{key:?} with digest {digest} is {found:?}, not {wanted:?}"))
}

/// Whoever asks again gets the first response, also from a store that was opened again; another request of the same name
/// gets none; and other names, routes and senders have nothing to do with it.
pub async fn a_response_is_kept_for_those_who_ask_again(fixture: Fixture) -> Checked {
    let (store, mine) = (fixture.store.clone(), key("desk", "k1"));
    must("keep", store.state.keep(&mine, b"never begun".to_vec()).await)?;
    expect_kept(&store, &mine, None).await?;
    expect_reserved(&store, &mine, 1, Reserved::New).await?;
    expect_kept(&store, &mine, None).await?;
    expect_reserved(&store, &mine, 1, Reserved::InProgress).await?;
    expect_reserved(&store, &mine, 2, Reserved::Mismatch).await?;
    let long: Vec<u8> = (0..=255).cycle().take(20_000).collect();
    must("keep", store.state.keep(&mine, long.clone()).await)?;
    must("keep", store.state.keep(&mine, b"later".to_vec()).await)?;
    must("drop", store.state.forget(&mine).await)?;
    drop(store);

    let fixture = fixture.reopened().await;
    let store = &fixture.store;
    expect_kept(store, &mine, Some(&long)).await?;
    expect_kept(store, &key("other", "k1"), None).await?;
    expect_reserved(store, &mine, 1, Reserved::Kept(long.into())).await?;
    expect_reserved(store, &mine, 2, Reserved::Mismatch).await?;
    let route = ResponseKey { route: "POST /v1/other".into(), ..mine.clone() };
    // Where one part ends and the next begins matters.
    let shifted = ResponseKey { sender: "des".into(), route: "kPOST /v1/runs".into(), key: "k1".into() };
    for other in [key("other", "k1"), key("desk", "k2"), route, shifted] {
        expect_reserved(store, &other, 1, Reserved::New).await?;
    }
    let given_up = key("desk", "k2");
    must("drop", store.state.forget(&given_up).await)?;
    expect_reserved(store, &given_up, 7, Reserved::New).await
}

/// Of those who begin the same at the same time one does it.
pub async fn of_racing_reservations_one_is_new(Fixture { store, .. }: Fixture) -> Checked {
    let racing = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { reserve(&store, &key("desk", "same"), 1).await })
    });
    let racing: Vec<_> = racing.collect();
    let mut new = 0;
    for one in racing {
        match must("racing", one.await)?? {
            Reserved::New => new += 1,
            Reserved::InProgress => {}
            other => return Err(format!("a reservation is {other:?}")),
        }
    }
    expect(new == 1, || format!("{new} were told to do it"))
}

/// One who reserved and says nothing gave it up; a response is kept for its time; both go when their time is over.
pub async fn responses_have_their_time(Fixture { store, clock, .. }: Fixture) -> Checked {
    let (kept, left) = (key("desk", "kept"), key("desk", "left"));
    expect_reserved(&store, &kept, 1, Reserved::New).await?;
    must("keep", store.state.keep(&kept, b"response".to_vec()).await)?;
    expect_reserved(&store, &left, 1, Reserved::New).await?;
    clock.advance_ms(RESERVED_MS + 1);
    expect_reserved(&store, &left, 2, Reserved::Mismatch).await?;
    expect_reserved(&store, &left, 1, Reserved::Again).await?;
    expect_reserved(&store, &left, 1, Reserved::InProgress).await?;
    expect_reserved(&store, &kept, 1, Reserved::Kept(b"response".as_slice().into())).await?;
    let swept = must("sweep", store.state.sweep().await)?;
    expect(swept == Swept::default(), || format!("{swept:?} was thrown away too early"))?;
    clock.advance_ms(RESPONSE_KEPT_MS - RESERVED_MS);
    // Its time is over also where nobody sweeps.
    expect_kept(&store, &kept, None).await?;
    expect_reserved(&store, &kept, 2, Reserved::New).await?;
    clock.advance_ms(RESPONSE_KEPT_MS + 1);
    let swept = must("sweep", store.state.sweep().await)?;
    expect(swept == Swept { responses: 2, workers: 0 }, || format!("{swept:?} was thrown away"))
}

/// Workers are listed as they were last seen, with the tasks that they have now, within what somebody sees.
pub async fn workers_are_listed_with_their_leases(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let names = |names: &[&str]| names.iter().map(|name| ToolName::new(*name)).collect::<Vec<_>>();
    let seen = |name: &str, tenant: Option<&str>, tools: &[&str]| WorkerSeen {
        name: name.into(),
        tenant: tenant.map(Into::into),
        tools: names(tools),
    };
    for (name, tenant) in [("acme-run", Some("acme")), ("other-run", Some("other"))] {
        let head = HeadUpdate { tenant: tenant.map(Into::into), ..HeadUpdate::new(Status::AwaitingToolResults) };
        desk.open_of(name, head, vec![task(0, "mail"), task(1, "mail")]).await?;
    }
    let first = desk.now();
    must("seen", desk.store.state.note_worker(&seen("worker", None, &["old"])).await)?;
    must("seen", desk.store.state.note_worker(&seen("w2", Some("acme"), &["mail"])).await)?;
    must("lease", desk.store.tasks.lease(&wants(&["mail"], 3)).await)?;
    let own = LeaseRequest { worker: "w2".into(), tenant: Some("other".into()), ..wants(&["mail"], 9) };
    must("lease", desk.store.tasks.lease(&own).await)?;
    desk.clock.advance_ms(5);
    must("seen", desk.store.state.note_worker(&seen("worker", None, &["post", "mail", "post"])).await)?;

    let all = must("workers", desk.store.state.workers(&Scope::All).await)?;
    let [one, two] = all.as_slice() else { return Err(format!("the workers are {all:?}")) };
    let known = (&*one.name, &one.tenant, &one.tools, one.since, one.seen_at, one.leases);
    expect(known == ("worker", &None, &names(&["mail", "post"]), first, desk.now(), 3), || format!("{one:?}"))?;
    // What it does for another tenant is nothing that a worker of this one does.
    expect((&*two.name, two.leases, two.seen_at) == ("w2", 0, first), || format!("{two:?}"))?;
    let own = must("workers", desk.store.state.workers(&Scope::Tenant("acme".into())).await)?;
    expect(own.len() == 1 && *own[0].name == *"w2", || format!("acme sees {own:?}"))?;
    desk.clock.advance_ms(WORKER_KEPT_MS - 1);
    let late = must("workers", desk.store.state.workers(&Scope::All).await)?;
    expect(late.len() == 1, || format!("after a long time there are {late:?}"))?;
    let swept = must("sweep", desk.store.state.sweep().await)?;
    expect(swept == Swept { responses: 0, workers: 1 }, || format!("{swept:?} was thrown away"))
}

/// A setting is what it was first, for everybody and for ever, until somebody who knows it changes it.
pub async fn a_setting_stays_as_it_was_first(fixture: Fixture) -> Checked {
    let store = fixture.store.clone();
    for (name, value, wanted) in [("key", "one", "one"), ("key", "two", "one"), ("other", "two", "two")] {
        let found = must("keep a setting", store.state.first_setting(name, value).await)?;
        expect(*found == *wanted, || format!("{name} is {found}, not {wanted}"))?;
    }
    let read = must("read a setting", store.state.setting("key").await)?;
    expect(read.as_deref() == Some("one"), || format!("it reads as {read:?}"))?;
    let none = must("read a setting", store.state.setting("nothing").await)?;
    expect(none.is_none(), || format!("a setting that is not there reads as {none:?}"))?;
    for (from, to, wanted) in [("two", "three", false), ("one", "four", true), ("one", "four", true)] {
        let changed = must("change a setting", store.state.change_setting("key", from, to).await)?;
        expect(changed == wanted, || format!("from {from} to {to} is {changed}"))?;
    }
    let none = must("change a setting", store.state.change_setting("nothing", "one", "two").await)?;
    expect(!none, || "a setting that is not there was changed".to_owned())?;
    drop(store);
    let fixture = fixture.reopened().await;
    let found = must("keep a setting", fixture.store.state.first_setting("key", "one").await)?;
    expect(*found == *"four", || format!("after opening it again it is {found}"))
}

/// A tally counts what is there and not over.
pub async fn a_tally_counts_what_is_there(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let empty = must("tally", desk.store.state.counts().await)?;
    expect(empty == StoreTally::default(), || format!("an empty store has {empty:?}"))?;
    for (number, status) in Status::ALL.into_iter().chain([Status::Running]).enumerate() {
        create(&desk.store, &holdpoint_core::RunId::new(format!("r{number}")), HeadUpdate::new(status)).await?;
    }
    let run = desk.open("tasks", (0..6).map(|index| task(index, "mail")).collect()).await?;
    let leased = desk.lease(&["mail"], 3).await?;
    desk.deliver(&leased[0].lease, b"done").await?;
    let question = |index| QuestionOpening {
        turn: Turn(1),
        index: CallIndex(index),
        tool: ToolName::new("pay"),
        kind: QuestionKind::Permission,
        deadline: None,
        body: b"question".to_vec(),
    };
    let asked_at = desk.now();
    let mut step = desk.step(Vec::new());
    step.questions = (7..9).map(|index| QuestionChange::Open(Box::new(question(index)))).collect();
    must("commit", desk.store.runs.commit(&run, at(1), step).await)?;
    let wanted = StoreTally {
        runs_running: 2,
        runs_awaiting_confirmation: 1,
        runs_awaiting_results: 2,
        questions_pending: 2,
        question_oldest: Some(asked_at),
        tasks_waiting: 3,
        tasks_leased: 2,
        tasks_delivered: 1,
    };
    let tally = must("tally", desk.store.state.counts().await)?;
    expect(tally == wanted, || format!("the store has {tally:?}, not {wanted:?}"))
}
