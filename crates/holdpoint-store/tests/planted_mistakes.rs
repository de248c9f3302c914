//! The conformance suite finds stores that break the rules, each mistake by the rule that is about it.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

#[path = "planted_mistakes/state.rs"]
mod state;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use holdpoint_core::{CallKey, Revision, RunId, Status, Timestamp, ToolName};
use holdpoint_store::conformance::{self, Fixture};
use holdpoint_store::{
    ApprovalsLayer, AuditLogLayer, AuditRow, AuditScope, AuditedRun, ClaimRequest, CommitError, Cursor, Fence,
    GrantFilter, GrantRow, GrantsLayer, Head, HeadUpdate, Layer, LeaseRequest, LeaseState, LeasedTask, ManualClock,
    MemoryStore, Page, PruneRequest, QuestionChange, QuestionChanges, QuestionFilter, QuestionRow, QuestionSeq, Record,
    Release, Reservation, Reserved, ResponseKey, RunFilter, RunLeasesLayer, RunLogLayer, Scope, Seal, SealedRun,
    ServerStateLayer, SessionUse, Store, StoreError, StoreTally, TaskChange, TaskCompletion, TaskGuard, TaskLease,
    TaskQueueLayer, TaskState, Tombstone, Topic, Trace, Transition, Unsealed, WorkerSeen, first_link, next_link,
};
use tokio::sync::watch;

/// What a broken store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    IgnoresTheRevision,
    LosesTheLastRecord,
    ListsTheOldestFirst,
    NeverWakes,
    ForgetsDeadlines,
    /// Takes whatever lease is the current one for the one that was named.
    ForgetsTheFence,
    /// Numbers leases by attempts, so that numbers come again.
    FencesByAttempt,
    LeasesTwice,
    LeasesToEveryTenant,
    CountsUnstartedAttempts,
    RetriesAtOnce,
    /// Writes the records of a transition whose guard failed.
    WritesHalfOnLostLease,
    ClaimsTwice,
    ForgetsWhoHolds,
    RenewsForAnybody,
    PrunesPausedRuns,
    PrunesNothing,
    PrunesEveryTenant,
    LosesAuditRows,
    RefusesTheSameResultTwice,
    NeverWakesWatchers,
    LosesAllOnReopening,
    /// Chains every run from the same beginning.
    ForgetsWhoseChainItIs,
    SealsWithoutTheSealBefore,
    LosesTombstones,
    ForgetsWhatMoved,
    PagesOfEveryTenant,
    LosesGrants,
    GrantsToEveryTenant,
    GrantsPastTheirTime,
    RevokesForEveryTenant,
    LosesQuestions,
    NeverEndsQuestions,
    ListsQuestionsInTurn,
    ForgetsDeadlinesOfQuestions,
    TellsChangesTwice,
    MissesChanges,
    SeesEverything,
    LetsTwoIntoASession,
    ForgetsSessions,
    ForgetsResponses,
    TakesAnyRequestForTheSame,
    DoesEveryRequest,
    ForgetsWorkers,
    CountsNothing,
    ForgetsSettings,
    TakesEveryLeaseForLapsed,
}

struct BrokenStore {
    inner: Store,
    mistake: Mistake,
    leased: Mutex<Vec<LeasedTask>>,
    claimed: Mutex<Vec<RunId>>,
    silent: watch::Sender<u64>,
}

fn broken(mistake: Mistake, clock: &Arc<ManualClock>) -> Store {
    let inner = MemoryStore::with_clock(Arc::clone(clock) as Arc<_>).into();
    Arc::new(BrokenStore {
        inner,
        mistake,
        leased: Mutex::default(),
        claimed: Mutex::default(),
        silent: watch::Sender::default(),
    })
    .store()
}

fn fixture(mistake: Mistake) -> Fixture {
    let clock = Arc::new(ManualClock::default());
    let fixture = Fixture::new(broken(mistake, &clock), Arc::clone(&clock));
    if mistake != Mistake::LosesAllOnReopening {
        return fixture;
    }
    fixture.reopening(move || {
        let store = broken(mistake, &clock);
        async { store }
    })
}

impl BrokenStore {
    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    fn seen<'a>(&self, scope: &'a Scope) -> &'a Scope {
        if self.has(Mistake::SeesEverything) { &Scope::All } else { scope }
    }

    /// The lease that the inner store gave, for the one that this store takes it for.
    async fn inner_lease(&self, lease: &TaskLease) -> Result<TaskLease, StoreError> {
        let Some(task) = self.inner.tasks.find(&Scope::All, &lease.key).await? else { return Ok(lease.clone()) };
        let (TaskState::Leased { fence, .. } | TaskState::Delivered { fence, .. }) = task.state else {
            return Ok(lease.clone());
        };
        let fence = match self.mistake {
            Mistake::ForgetsTheFence => fence,
            Mistake::FencesByAttempt if u64::from(task.attempts.0) == lease.fence.0 => fence,
            Mistake::FencesByAttempt => Fence(0),
            _ => lease.fence,
        };
        Ok(TaskLease { key: lease.key.clone(), fence })
    }
}

impl Layer for BrokenStore {
    fn inner(&self) -> &Store {
        &self.inner
    }
}

#[async_trait]
impl RunLogLayer for BrokenStore {
    async fn commit(&self, run: &RunId, at: Revision, mut step: Transition) -> Result<Revision, CommitError> {
        let mut at = at;
        match self.mistake {
            Mistake::IgnoresTheRevision => {
                at = self.inner.runs.head(&Scope::All, run).await?.map_or(Revision(0), |head| head.revision);
            }
            Mistake::ForgetsDeadlines => step.head.deadline = None,
            Mistake::ForgetsWhoHolds => step.hold = None,
            Mistake::LosesAuditRows => step.audit = None,
            Mistake::TakesEveryLeaseForLapsed => {
                for change in &mut step.tasks {
                    if let TaskChange::Close { guard: guard @ TaskGuard::Lapsed(_), .. } = change {
                        *guard = TaskGuard::Any;
                    }
                }
            }
            Mistake::LosesGrants => step.grants.clear(),
            Mistake::LosesQuestions => step.questions.clear(),
            Mistake::NeverEndsQuestions => {
                step.questions.retain(|change| matches!(change, QuestionChange::Open(_)));
            }
            Mistake::ForgetsDeadlinesOfQuestions => {
                for change in &mut step.questions {
                    if let QuestionChange::Open(opening) = change {
                        opening.deadline = None;
                    }
                }
            }
            Mistake::LetsTwoIntoASession => step.session_use = SessionUse::Shared,
            Mistake::ForgetsSessions => step.head.session = None,
            Mistake::GrantsPastTheirTime => step.grants.iter_mut().for_each(|grant| grant.until = None),
            _ => {}
        }
        let half = Transition::new(step.records.clone(), step.head.clone(), step.at);
        let made = self.inner.runs.commit(run, at, step).await;
        if self.has(Mistake::WritesHalfOnLostLease) && matches!(made, Err(CommitError::LeaseLost)) {
            self.inner.runs.commit(run, at, half).await?;
        }
        made
    }

    async fn load(&self, scope: &Scope, run: &RunId, after: Revision) -> Result<Vec<Record>, StoreError> {
        let mut records = self.inner.runs.load(scope, run, after).await?;
        if self.has(Mistake::LosesTheLastRecord) {
            records.pop();
        }
        Ok(records)
    }

    async fn list(&self, filter: &RunFilter) -> Result<Page<Head>, StoreError> {
        let mut page = self.inner.runs.list(filter).await?;
        if self.has(Mistake::ListsTheOldestFirst) {
            page.items.reverse();
        }
        Ok(page)
    }

    async fn changed(&self, run: &RunId, after: Revision) -> Result<Revision, StoreError> {
        if self.has(Mistake::NeverWakes) {
            return self
                .inner
                .runs
                .head(&Scope::All, run)
                .await?
                .map(|_| after)
                .ok_or_else(|| StoreError::NotFound { run: run.clone() });
        }
        self.inner.runs.changed(run, after).await
    }

    async fn prune(&self, request: &PruneRequest) -> Result<Vec<RunId>, StoreError> {
        let mut request = request.clone();
        if self.has(Mistake::PrunesEveryTenant) {
            request.tenant = None;
        }
        if self.has(Mistake::PrunesPausedRuns) {
            let paused = RunFilter { status: Some(Status::AwaitingToolResults), ..RunFilter::default() };
            for head in self.inner.runs.list(&paused).await?.items {
                let over = Transition::new(vec![vec![0]], HeadUpdate::new(Status::Finished), Timestamp(0));
                let ended = self.inner.runs.commit(&head.run, head.revision, over).await;
                ended.map_err(|error| StoreError::failed("end a run", error))?;
            }
        }
        if self.has(Mistake::PrunesNothing) {
            return Ok(Vec::new());
        }
        self.inner.runs.prune(&request).await
    }

    async fn head(&self, scope: &Scope, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.inner.runs.head(self.seen(scope), run).await
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<u64> {
        if self.has(Mistake::NeverWakesWatchers) { self.silent.subscribe() } else { self.inner.runs.watch(topic) }
    }
}

#[async_trait]
impl RunLeasesLayer for BrokenStore {
    async fn renew(&self, run: &RunId, hold: &holdpoint_store::Hold) -> Result<LeaseState, StoreError> {
        if self.has(Mistake::RenewsForAnybody) {
            return Ok(LeaseState::Held);
        }
        self.inner.leases.renew(run, hold).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<RunId>, StoreError> {
        let mut runs = self.inner.leases.claim(request).await?;
        if self.has(Mistake::ClaimsTwice) {
            let before = std::mem::replace(&mut *self.claimed.lock().unwrap(), runs.clone());
            runs.extend(before);
        }
        Ok(runs)
    }
}

#[async_trait]
impl TaskQueueLayer for BrokenStore {
    async fn lease(&self, request: &LeaseRequest) -> Result<Vec<LeasedTask>, StoreError> {
        let mut request = request.clone();
        if self.has(Mistake::LeasesToEveryTenant) {
            request.tenant = None;
        }
        let mut tasks = self.inner.tasks.lease(&request).await?;
        if self.has(Mistake::FencesByAttempt) {
            for task in &mut tasks {
                task.lease.fence = Fence(task.task.attempts.0.into());
            }
        }
        if self.has(Mistake::LeasesTwice) {
            let before = std::mem::replace(&mut *self.leased.lock().unwrap(), tasks.clone());
            tasks.extend(before);
        }
        Ok(tasks)
    }

    async fn heartbeat(&self, leases: &[TaskLease], lease_ms: u64) -> Result<Vec<LeaseState>, StoreError> {
        let mut states = Vec::new();
        for lease in leases {
            let lease = self.inner_lease(lease).await?;
            states.extend(self.inner.tasks.heartbeat(&[lease], lease_ms).await?);
        }
        Ok(states)
    }

    async fn complete(&self, lease: &TaskLease, result: Vec<u8>) -> Result<TaskCompletion, StoreError> {
        let lease = self.inner_lease(lease).await?;
        if self.has(Mistake::RefusesTheSameResultTwice) && self.is_delivered(&lease.key).await? {
            return Ok(TaskCompletion::LeaseLost);
        }
        self.inner.tasks.complete(&lease, result).await
    }

    async fn release(&self, lease: &TaskLease, how: Release) -> Result<LeaseState, StoreError> {
        let lease = self.inner_lease(lease).await?;
        let how = match (self.mistake, how) {
            (Mistake::CountsUnstartedAttempts, Release::Unstarted)
            | (Mistake::RetriesAtOnce, Release::Retry { .. })
            | (Mistake::TakesEveryLeaseForLapsed, Release::Lapsed { .. }) => Release::Retry { delay_ms: 0 },
            _ => how,
        };
        self.inner.tasks.release(&lease, how).await
    }
}

#[async_trait]
impl ApprovalsLayer for BrokenStore {
    async fn find(&self, scope: &Scope, key: &CallKey) -> Result<Option<QuestionRow>, StoreError> {
        self.inner.approvals.find(self.seen(scope), key).await
    }

    async fn list(&self, filter: &QuestionFilter) -> Result<Page<QuestionRow>, StoreError> {
        let mut page = self.inner.approvals.list(filter).await?;
        if self.has(Mistake::ListsQuestionsInTurn) {
            page.items.sort_by_key(|row| row.key.index);
        }
        Ok(page)
    }

    async fn changes(
        &self,
        scope: &Scope,
        after: Option<QuestionSeq>,
        limit: usize,
    ) -> Result<QuestionChanges, StoreError> {
        let mut changes = self.inner.approvals.changes(self.seen(scope), after, limit).await?;
        match (self.mistake, after) {
            (Mistake::TellsChangesTwice, Some(after)) => {
                changes.seq = QuestionSeq(changes.seq.0.saturating_sub(1).max(after.0));
            }
            (Mistake::MissesChanges, Some(_)) => changes.seq = self.inner.approvals.changes(scope, None, 1).await?.seq,
            _ => {}
        }
        Ok(changes)
    }
}

impl BrokenStore {
    fn store(self: &Arc<Self>) -> Store {
        Store {
            runs: Arc::clone(self) as _,
            leases: Arc::clone(self) as _,
            tasks: Arc::clone(self) as _,
            approvals: Arc::clone(self) as _,
            grants: Arc::clone(self) as _,
            audit: Arc::clone(self) as _,
            state: Arc::clone(self) as _,
        }
    }
}

impl BrokenStore {
    async fn is_delivered(&self, key: &CallKey) -> Result<bool, StoreError> {
        let task = self.inner.tasks.find(&Scope::All, key).await?;
        Ok(task.is_some_and(|task| matches!(task.state, TaskState::Delivered { .. })))
    }
}

/// The rule finds the mistake, and finds nothing in the same store without it, as the suite of the memory store shows.
macro_rules! found_by {
    ($($mistake:ident: $($rule:ident),+;)*) => {
        $($({
            let checked = conformance::$rule(fixture(Mistake::$mistake)).await;
            assert!(checked.is_err(), "{} does not find {:?}", stringify!($rule), Mistake::$mistake);
        })+)*
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_finds_every_planted_mistake() {
    found_by! {
        IgnoresTheRevision: a_commit_on_an_unknown_run_is_stale, the_same_commit_again_is_stale;
        LosesTheLastRecord: of_racing_commits_exactly_one_wins, two_writers_make_one_history, a_tail_starts_at_any_record;
        ForgetsDeadlines: deadlines_that_passed_are_due, only_runs_of_the_agents_are_due;
        ListsTheOldestFirst: lists_are_filtered;
        NeverWakes: everybody_who_waits_is_woken;
        ForgetsTheFence: an_old_lease_changes_nothing, a_reopened_task_has_new_fences;
        FencesByAttempt: a_task_given_back_unstarted_is_there_at_once, a_reopened_task_has_new_fences;
        LeasesTwice: racing_workers_never_get_the_same_task, a_leased_task_is_not_leased_again;
        LeasesToEveryTenant: a_worker_gets_only_what_it_asked_for;
        CountsUnstartedAttempts: a_task_given_back_unstarted_is_there_at_once;
        RetriesAtOnce: a_task_to_be_retried_comes_back_later;
        WritesHalfOnLostLease: a_lost_lease_undoes_the_whole_transition, a_lost_lease_creates_no_run,
            a_lost_lease_leaves_the_hold_alone;
        ClaimsTwice: of_racing_claims_each_run_goes_to_one, a_held_run_is_claimed_when_its_lease_lapsed;
        ForgetsWhoHolds: a_commit_says_who_holds_the_run, what_was_committed_is_there_after_reopening;
        RenewsForAnybody: only_the_holder_renews_a_lease, a_lease_that_is_not_held_is_lost;
        PrunesPausedRuns: only_runs_that_are_over_are_pruned, a_pruned_run_leaves_nothing_behind;
        PrunesEveryTenant: pruning_is_by_age_and_tenant;
        LosesAuditRows: audit_rows_come_back_in_order;
        RefusesTheSameResultTwice: delivering_twice_is_delivering_once;
        ForgetsWhoseChainItIs: audit_rows_are_chained, a_pruned_run_leaves_a_tombstone;
        LosesAuditRows: audit_rows_are_chained, seals_chain_what_moved, the_whole_audit_log_comes_in_pages;
        SealsWithoutTheSealBefore: seals_chain_what_moved;
        LosesTombstones: a_pruned_run_leaves_a_tombstone, traces_tell_what_became_of_sealed_runs,
            an_audit_log_that_nobody_changed_is_whole;
        ForgetsWhatMoved: what_is_to_be_sealed_is_named;
        PagesOfEveryTenant: the_audit_log_of_a_tenant_or_a_run_comes_alone;
        LosesGrants: a_grant_is_made_with_its_transition, grants_are_listed_in_pages;
        GrantsToEveryTenant: grants_match_tenant_tool_and_time;
        GrantsPastTheirTime: grants_match_tenant_tool_and_time;
        RevokesForEveryTenant: grants_match_tenant_tool_and_time;
        LosesQuestions: a_question_is_asked_and_ends_with_its_transition, a_refused_transition_leaves_questions_alone;
        NeverEndsQuestions: a_question_asked_again_begins_anew, a_question_is_asked_and_ends_with_its_transition;
        PrunesNothing: a_pruned_run_leaves_no_questions;
        ListsQuestionsInTurn: questions_are_filtered;
        ForgetsDeadlinesOfQuestions: pending_questions_come_by_deadline;
        TellsChangesTwice: changes_of_questions_are_followed, no_change_of_questions_is_missed;
        SeesEverything: what_is_outside_a_scope_is_not_there, a_run_stays_with_its_first_tenant, changes_of_questions_are_followed;
        LetsTwoIntoASession: of_racing_runs_alone_in_a_session_one_is_created, a_session_is_free_when_its_run_is_over, a_run_goes_on_only_from_the_last_of_its_session;
        ForgetsSessions: sessions_are_listed_by_their_last_run, a_head_is_what_the_last_commit_said;
        ForgetsResponses: a_response_is_kept_for_those_who_ask_again, responses_have_their_time;
        TakesAnyRequestForTheSame: a_response_is_kept_for_those_who_ask_again;
        DoesEveryRequest: of_racing_reservations_one_is_new;
        ForgetsWorkers: workers_are_listed_with_their_leases;
        CountsNothing: a_tally_counts_what_is_there;
        ForgetsSettings: a_setting_stays_as_it_was_first;
        TakesEveryLeaseForLapsed: each_guard_passes_its_own_states_only,
            a_heartbeat_or_a_result_beats_giving_back_a_lapsed_task;
        LosesAllOnReopening: what_was_committed_is_there_after_reopening;
    }
}

/// Apart, since these rules find it by waiting in vain, which the paused clock makes short.
#[tokio::test(start_paused = true)]
async fn the_suite_finds_a_store_that_never_wakes() {
    let (tasks, runs) = tokio::join!(
        conformance::a_task_wakes_those_who_wait_for_tasks(fixture(Mistake::NeverWakesWatchers)),
        conformance::a_result_wakes_those_who_wait_for_runs(fixture(Mistake::NeverWakesWatchers)),
    );
    let free = conformance::a_free_run_wakes_those_who_wait_for_runs(fixture(Mistake::NeverWakesWatchers)).await;
    assert!(tasks.is_err() && runs.is_err() && free.is_err());
    let asked = conformance::a_question_wakes_those_who_wait_for_questions(fixture(Mistake::NeverWakesWatchers)).await;
    let missed = conformance::no_change_of_questions_is_missed(fixture(Mistake::MissesChanges)).await;
    assert!(asked.is_err() && missed.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_suite_names_the_rule_that_is_broken() {
    let problem = conformance::check_all(async || fixture(Mistake::LosesAuditRows)).await.unwrap_err();
    assert!(problem.starts_with("audit_rows_come_back_in_order: "), "{problem}");
}
