//! Rules about questions.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_core::{CallIndex, Revision, RunId, Status, Timestamp, ToolName, Turn};
use tokio::time::{Instant, sleep, timeout};

use super::desk::{closes, key};
use super::{Checked, Fixture, PATIENCE, START, at, expect, must};
use crate::{
    CommitError, Cursor, Fence, HeadUpdate, PruneRequest, QuestionChange, QuestionEnd, QuestionFilter, QuestionKind,
    QuestionOpening, QuestionRow, QuestionSeq, QuestionStatus, Scope, Store, StoreError, TaskGuard, Topic, Transition,
    page_size,
};

/// A change may show a moment after its commit: how often to look for it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

fn question(index: u32, deadline: Option<Timestamp>) -> QuestionOpening {
    QuestionOpening {
        turn: Turn(1),
        index: CallIndex(index),
        tool: ToolName::new("pay"),
        kind: QuestionKind::Permission,
        deadline,
        body: format!("question {index}").into_bytes(),
    }
}

fn asks(opening: QuestionOpening) -> QuestionChange {
    QuestionChange::Open(Box::new(opening))
}

fn ends(index: u32, how: QuestionEnd) -> QuestionChange {
    QuestionChange::Close { turn: Turn(1), index: CallIndex(index), how, note: b"note".to_vec() }
}

fn asking(tenant: Option<&str>, ms: u64, questions: Vec<QuestionChange>) -> Transition {
    let head = HeadUpdate {
        agent: Some("support".into()),
        tenant: tenant.map(Into::into),
        ..HeadUpdate::new(Status::AwaitingToolConfirmation)
    };
    Transition { questions, ..Transition::new(vec![b"x".to_vec()], head, START.plus_ms(ms)) }
}

async fn ask(store: &Store, run: &str, tenant: Option<&str>, questions: Vec<QuestionChange>) -> Checked {
    must("commit", store.runs.commit(&RunId::new(run), at(0), asking(tenant, 0, questions)).await)?;
    Ok(())
}

/// The questions of all pages, as run and index.
async fn listed(store: &Store, filter: &QuestionFilter) -> Result<Vec<String>, String> {
    let (mut filter, mut seen) = (filter.clone(), Vec::new());
    loop {
        let page = must("questions", store.approvals.list(&filter).await)?;
        expect(page.items.len() <= page_size(filter.limit), || format!("a page is too long: {page:?}"))?;
        seen.extend(page.items.iter().map(|row| format!("{}{}", row.key.run, row.key.index)));
        filter.cursor = page.next;
        if filter.cursor.is_none() || seen.len() > 100 {
            return Ok(seen);
        }
    }
}

/// A question is there as it was asked once its transition is, is shown as it changed, and ends as it was said.
pub async fn a_question_is_asked_and_ends_with_its_transition(fixture: Fixture) -> Checked {
    let (store, run) = (fixture.store.clone(), RunId::new("run"));
    let long = QuestionOpening {
        kind: QuestionKind::Doubt,
        body: (0..=255).cycle().take(10_000).collect(),
        ..question(0, Some(START.plus_ms(900)))
    };
    ask(&store, "run", Some("acme"), vec![asks(long.clone()), asks(question(1, None))]).await?;
    let changed = QuestionOpening { body: b"changed".to_vec(), ..question(1, Some(START.plus_ms(70))) };
    let step = asking(Some("acme"), 5, vec![ends(0, QuestionEnd::Answered), asks(changed)]);
    must("commit", store.runs.commit(&run, at(1), step).await)?;
    drop(store);

    let fixture = fixture.reopened().await;
    let first = must("question", fixture.store.approvals.find(&Scope::All, &key(&run, 0)).await)?;
    let second = must("question", fixture.store.approvals.find(&Scope::All, &key(&run, 1)).await)?;
    let (Some(first), Some(second)) = (first, second) else { return Err("a question is not there".to_owned()) };
    let wanted = QuestionRow {
        key: key(&run, 0),
        agent: "support".into(),
        tenant: Some("acme".into()),
        tool: ToolName::new("pay"),
        kind: QuestionKind::Doubt,
        status: QuestionStatus::Answered,
        deadline: long.deadline,
        asked_at: START,
        changed_at: START.plus_ms(5),
        seq: first.seq,
        body: long.body.into(),
        note: b"note".as_slice().into(),
    };
    expect(first == wanted && first.seq > QuestionSeq(0), || format!("the question that ended is {first:?}"))?;
    let wanted = QuestionRow {
        key: key(&run, 1),
        kind: QuestionKind::Permission,
        status: QuestionStatus::Pending,
        deadline: Some(START.plus_ms(70)),
        seq: second.seq,
        body: b"changed".as_slice().into(),
        note: Arc::default(),
        ..wanted
    };
    expect(second == wanted, || format!("the question that changed is {second:?}"))
}

/// A transition that was refused asks nothing and ends nothing.
pub async fn a_refused_transition_leaves_questions_alone(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("run");
    ask(&store, "run", None, vec![asks(question(0, None))]).await?;
    let changes = || vec![ends(0, QuestionEnd::Gone), asks(question(1, None))];
    let stale = store.runs.commit(&run, at(0), asking(None, 1, changes())).await;
    expect(matches!(stale, Err(CommitError::Stale { .. })), || format!("a stale commit gave {stale:?}"))?;
    let mut lost = asking(None, 1, changes());
    lost.tasks = vec![closes(0, TaskGuard::Leased(Fence(7)))];
    let lost = store.runs.commit(&run, at(1), lost).await;
    expect(matches!(lost, Err(CommitError::LeaseLost)), || format!("a commit without its lease gave {lost:?}"))?;
    let pending = listed(&store, &QuestionFilter::default()).await?;
    expect(pending == ["run0"], || format!("{pending:?} are pending"))
}

/// Pending questions come by deadline, those without one last, and otherwise the first asked first. A change keeps the
/// place, unless it is one of the deadline.
pub async fn pending_questions_come_by_deadline(Fixture { store, .. }: Fixture) -> Checked {
    let due = |ms| Some(START.plus_ms(ms));
    ask(&store, "a", Some("acme"), vec![asks(question(0, None)), asks(question(1, due(50)))]).await?;
    ask(&store, "b", Some("acme"), vec![asks(question(0, due(10))), asks(question(1, None))]).await?;
    ask(&store, "c", None, vec![asks(question(0, due(50))), asks(question(1, due(5)))]).await?;
    let again = asking(Some("acme"), 1, vec![asks(question(0, None)), asks(question(1, due(50)))]);
    must("commit", store.runs.commit(&RunId::new("a"), at(1), again).await)?;
    let acme = QuestionFilter { tenant: Some("acme".into()), ..QuestionFilter::default() };
    for limit in [1, 2, 3, 100] {
        let limit = Some(limit);
        let all = listed(&store, &QuestionFilter { limit, ..QuestionFilter::default() }).await?;
        let wanted = ["c1", "b0", "a1", "c0", "a0", "b1"];
        expect(all == wanted, || format!("in pages of {limit:?}, {all:?} are pending, not {wanted:?}"))?;
        let own = listed(&store, &QuestionFilter { limit, ..acme.clone() }).await?;
        expect(own == ["b0", "a1", "a0", "b1"], || format!("in pages of {limit:?}, {own:?} are pending of acme"))?;
    }
    Ok(())
}

/// Lists are filtered by status, kind, agent and run; what ended comes the last changed first.
pub async fn questions_are_filtered(Fixture { store, .. }: Fixture) -> Checked {
    let doubt = QuestionOpening { kind: QuestionKind::Doubt, ..question(3, None) };
    let opened = vec![asks(question(0, None)), asks(question(1, None)), asks(question(2, None)), asks(doubt)];
    ask(&store, "a", Some("acme"), opened).await?;
    ask(&store, "b", Some("other"), vec![asks(question(0, None)), asks(question(1, None))]).await?;
    let ended = |changes| asking(Some("acme"), 9, changes);
    let step = ended(vec![ends(1, QuestionEnd::Expired), ends(2, QuestionEnd::Gone), ends(9, QuestionEnd::Gone)]);
    must("commit", store.runs.commit(&RunId::new("a"), at(1), step).await)?;
    let step = asking(Some("other"), 10, vec![ends(0, QuestionEnd::Answered)]);
    must("commit", store.runs.commit(&RunId::new("b"), at(1), step).await)?;
    must("commit", store.runs.commit(&RunId::new("a"), at(2), ended(vec![ends(0, QuestionEnd::Answered)])).await)?;
    let all = QuestionFilter::default;
    let cases = [
        (all(), vec!["a3", "b1"]),
        (QuestionFilter { kind: Some(QuestionKind::Doubt), ..all() }, vec!["a3"]),
        (QuestionFilter { tool: Some(question(0, None).tool), ..all() }, vec!["a3", "b1"]),
        (QuestionFilter { tool: Some(ToolName::new("nothing")), ..all() }, vec![]),
        (QuestionFilter { agent: Some("support".into()), ..all() }, vec!["a3", "b1"]),
        (QuestionFilter { agent: Some("nobody".into()), ..all() }, vec![]),
        (QuestionFilter { run: Some(RunId::new("b")), ..all() }, vec!["b1"]),
        (QuestionFilter { run: Some(RunId::new("nobody")), ..all() }, vec![]),
        (QuestionFilter { tenant: Some("nobody".into()), ..all() }, vec![]),
        (QuestionFilter { status: QuestionStatus::Answered, ..all() }, vec!["a0", "b0"]),
        (QuestionFilter { status: QuestionStatus::Answered, tenant: Some("other".into()), ..all() }, vec!["b0"]),
        (QuestionFilter { status: QuestionStatus::Expired, ..all() }, vec!["a1"]),
        (QuestionFilter { status: QuestionStatus::Gone, ..all() }, vec!["a2"]),
    ];
    for (filter, wanted) in cases {
        for limit in [1, 2, 100] {
            let filter = QuestionFilter { limit: Some(limit), ..filter.clone() };
            let seen = listed(&store, &filter).await?;
            expect(seen == wanted, || format!("{filter:?} lists {seen:?}, not {wanted:?}"))?;
        }
    }
    for status in QuestionStatus::ALL {
        for cursor in ["nobody's", "p1", "p-1.2", "e1.", "7"] {
            let foreign = QuestionFilter { status, cursor: Some(Cursor::new(cursor)), ..all() };
            let refused = store.approvals.list(&foreign).await;
            expect(matches!(refused, Err(StoreError::InvalidCursor)), || format!("`{cursor}` gave {refused:?}"))?;
        }
    }
    Ok(())
}

/// A call that is asked about again has the same question, which begins anew; one that ended stays as it ended.
pub async fn a_question_asked_again_begins_anew(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("run");
    ask(&store, "run", None, vec![asks(question(0, None)), asks(question(1, None))]).await?;
    let changes = vec![ends(0, QuestionEnd::Answered), ends(1, QuestionEnd::Answered)];
    must("commit", store.runs.commit(&run, at(1), asking(None, 1, changes)).await)?;
    let changes = vec![ends(0, QuestionEnd::Gone), asks(question(1, None)), asks(question(2, None))];
    must("commit", store.runs.commit(&run, at(2), asking(None, 2, changes)).await)?;
    // All in one transition, in order.
    let changes = vec![
        ends(1, QuestionEnd::Expired),
        asks(question(1, None)),
        asks(question(3, None)),
        ends(3, QuestionEnd::Gone),
    ];
    must("commit", store.runs.commit(&run, at(3), asking(None, 3, changes)).await)?;
    let mut rows = Vec::new();
    for index in 0..4 {
        let row = must("question", store.approvals.find(&Scope::All, &key(&run, index)).await)?;
        let row = row.ok_or_else(|| format!("question {index} is not there"))?;
        rows.push((row.status, row.asked_at.ms_since(START), row.changed_at.ms_since(START), row.note.len()));
    }
    let wanted = [
        (QuestionStatus::Answered, 0, 1, 4),
        (QuestionStatus::Pending, 3, 3, 0),
        (QuestionStatus::Pending, 2, 2, 0),
        (QuestionStatus::Gone, 3, 3, 4),
    ];
    expect(rows == wanted, || format!("the questions are {rows:?}, not {wanted:?}"))?;
    let pending = listed(&store, &QuestionFilter::default()).await?;
    expect(pending == ["run2", "run1"], || format!("{pending:?} are pending"))
}

/// Reads on until there is nothing more to come: everything up to a question that was asked last.
async fn follow(
    store: &Store,
    scope: &Scope,
    from: QuestionSeq,
    limit: usize,
    last: &str,
) -> Result<Vec<String>, String> {
    let (mut seq, mut seen, began) = (from, Vec::new(), Instant::now());
    loop {
        let changes = must("changes", store.approvals.changes(scope, Some(seq), limit).await)?;
        expect(changes.seq >= seq, || format!("changes go back from {seq} to {}", changes.seq))?;
        let in_order = changes.questions.windows(2).all(|pair| pair[0].seq <= pair[1].seq);
        let after = changes.questions.iter().all(|row| row.seq > seq && row.seq <= changes.seq);
        expect(in_order && after, || format!("the changes after {seq} up to {} are {changes:?}", changes.seq))?;
        seq = changes.seq;
        let rows = changes.questions.iter();
        seen.extend(rows.map(|row| format!("{}{}:{}", row.key.run, row.key.index, row.status.as_str())));
        if seen.iter().any(|seen| seen == last) {
            return Ok(seen);
        }
        expect(began.elapsed() < PATIENCE, || format!("`{last}` never came after {seen:?}"))?;
        sleep(LOOK_EVERY).await;
    }
}

/// Where to begin.
async fn beginning(store: &Store, scope: &Scope) -> Result<QuestionSeq, String> {
    let none = must("changes", store.approvals.changes(scope, None, 10).await)?;
    expect(none.questions.is_empty(), || format!("without a beginning there are {none:?}"))?;
    Ok(none.seq)
}

/// Changes are followed from anywhere: each question once, as it is now, and only those within what somebody sees.
pub async fn changes_of_questions_are_followed(Fixture { store, .. }: Fixture) -> Checked {
    let acme = Scope::Tenant("acme".into());
    let from = beginning(&store, &acme).await?;
    ask(&store, "a", Some("acme"), vec![asks(question(0, None)), asks(question(1, None))]).await?;
    ask(&store, "b", Some("other"), vec![asks(question(0, None))]).await?;
    let step = asking(Some("acme"), 1, vec![ends(0, QuestionEnd::Answered)]);
    must("commit", store.runs.commit(&RunId::new("a"), at(1), step).await)?;
    for limit in [1, 2, 100] {
        let own = follow(&store, &acme, from, limit, "a0:answered").await?;
        expect(own == ["a1:pending", "a0:answered"], || format!("acme sees {own:?} in pages of {limit}"))?;
        let all = follow(&store, &Scope::All, from, limit, "a0:answered").await?;
        expect(all.len() == 3 && all[1] == "b0:pending", || format!("everybody sees {all:?} in pages of {limit}"))?;
    }
    let foreign = store.approvals.changes(&acme, Some(QuestionSeq(u64::MAX / 4)), 10).await;
    expect(matches!(foreign, Err(StoreError::InvalidCursor)), || format!("a foreign beginning gave {foreign:?}"))
}

/// Whoever follows while others ask misses nothing and sees no change twice.
pub async fn no_change_of_questions_is_missed(Fixture { store, .. }: Fixture) -> Checked {
    const RUNS: usize = 40;
    let from = beginning(&store, &Scope::All).await?;
    let asked = (0..RUNS).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { ask(&store, &format!("r{number}-"), None, vec![asks(question(0, None))]).await })
    });
    let asked: Vec<_> = asked.collect();
    let (following, others) = (store.clone(), store.clone());
    let follower = tokio::spawn(async move { follow(&following, &Scope::All, from, 3, "last0:pending").await });
    for one in asked {
        must("asking", one.await)??;
    }
    ask(&others, "last", None, vec![asks(question(0, None))]).await?;
    let mut seen = must("following", follower.await)??;
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    expect(count == RUNS + 1 && seen.len() == count, || format!("{count} changes were seen of {}: {seen:?}", RUNS + 1))
}

/// Who waits for questions is woken when one is asked and when one ends.
pub async fn a_question_wakes_those_who_wait_for_questions(Fixture { store, .. }: Fixture) -> Checked {
    let run = RunId::new("run");
    let steps = [asks(question(0, None)), ends(0, QuestionEnd::Answered)];
    for (revision, change) in (0..).zip(steps) {
        let mut watched = store.runs.watch(Topic::Questions);
        must("commit", store.runs.commit(&run, Revision(revision), asking(None, 0, vec![change])).await)?;
        let woken = timeout(PATIENCE, watched.changed()).await;
        must("watching", woken.map_err(|_| "nobody was woken when a question changed".to_owned())?)?;
    }
    Ok(())
}

/// The questions of a run that is removed go with it.
pub async fn a_pruned_run_leaves_no_questions(Fixture { store, .. }: Fixture) -> Checked {
    ask(&store, "gone", None, vec![asks(question(0, None)), asks(question(1, None))]).await?;
    ask(&store, "stays", None, vec![asks(question(0, None))]).await?;
    let mut over = asking(None, 1, vec![ends(0, QuestionEnd::Answered)]);
    over.head.status = Status::Finished;
    must("commit", store.runs.commit(&RunId::new("gone"), at(1), over).await)?;
    let all = PruneRequest { before: Timestamp(i64::MAX), tenant: None, limit: 10 };
    must("prune", store.runs.prune(&all).await)?;
    let pending = listed(&store, &QuestionFilter::default()).await?;
    let answered = QuestionFilter { status: QuestionStatus::Answered, ..QuestionFilter::default() };
    let answered = listed(&store, &answered).await?;
    expect(pending == ["stays0"] && answered.is_empty(), || format!("{pending:?} and {answered:?} are left"))?;
    let gone = must("question", store.approvals.find(&Scope::All, &key(&RunId::new("gone"), 0)).await)?;
    expect(gone.is_none(), || format!("{gone:?} is there"))
}
