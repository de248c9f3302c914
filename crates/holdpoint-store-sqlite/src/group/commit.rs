//! Decides transitions. One that is accepted is part of the group afterwards; one that is not changed nothing.

use std::sync::Arc;

use holdpoint_core::{CallKey, Revision};
use holdpoint_store::rows::{signed, tenant_key};
use holdpoint_store::{CommitError, Hold, Step, TaskChange, is_over};

use super::{Chain, Group, Moved, Opened, RunChange, RunNow, SessionKey, TaskNow};
use crate::grants::open_grants;
use crate::request::About;

fn own_session(step: &Step) -> Option<SessionKey> {
    step.own_session().map(|session| (tenant_key(step.head.tenant.as_deref()), Arc::clone(session)))
}

impl About {
    /// What a transition is about. A run that is about to be created has no tasks.
    pub(crate) fn step(step: &Step) -> Self {
        let changed = step.tasks.iter().filter(|_| !step.creates()).map(TaskChange::place);
        let key = |(turn, index)| CallKey { run: step.run.clone(), turn, index };
        Self {
            runs: vec![step.run.clone()],
            tasks: changed.map(key).collect(),
            session: own_session(step),
            bytes: step.bytes,
        }
    }
}

impl Group {
    pub(crate) fn commit(&mut self, step: Step) -> Result<Revision, CommitError> {
        let run = self.runs.get(&step.run).and_then(Option::as_ref);
        let current = run.map_or(Revision(0), |run| run.revision);
        if current != step.at {
            return Err(CommitError::Stale { current });
        }
        self.check_guards(&step)?;
        self.check_session(&step)?;
        let run = self.moved_run(&step);
        let chain = step.audit.is_some().then_some(run.chain);
        self.log
            .row()
            .int(run.run_no)
            .int(step.next.0)
            .int(step.moment.0)
            .bytes_or_null(step.audit.as_deref())
            .bytes(&step.body)
            .int_or_null(chain.map(|chain| signed(chain.rows)))
            .bytes_or_null(chain.as_ref().map(|chain| chain.link.0.as_slice()))
            .end();
        let tenant = tenant_key(run.tenant.as_deref());
        open_grants(&mut self.grants, &tenant, &step);
        self.approvals.add(run.run_no, &run.agent, &tenant, &step, &mut self.last_ticket);
        self.topics |= step.topics;
        self.moved.push((step.run.clone(), step.next));
        let next = step.next;
        self.change_tasks(&run, &step);
        self.runs.insert(step.run, Some(run));
        Ok(next)
    }

    fn check_guards(&self, step: &Step) -> Result<(), CommitError> {
        let holds = |change: &TaskChange| match change {
            TaskChange::Open(_) => true,
            TaskChange::Close { turn, index, guard } => {
                let key = CallKey { run: step.run.clone(), turn: *turn, index: *index };
                let task = self.tasks.get(&key).and_then(|task| task.head.as_ref());
                guard.holds(task.map(|task| &task.state), self.lease_now)
            }
        };
        if step.tasks.iter().all(holds) { Ok(()) } else { Err(CommitError::LeaseLost) }
    }

    /// Whether the run may be created in its session. What comes after it in the group finds it there.
    fn check_session(&mut self, step: &Step) -> Result<(), CommitError> {
        if let Some(session) = own_session(step).and_then(|key| self.sessions.get(&key)) {
            let is_after = step.session_use.after().is_none_or(|wanted| session.last.as_ref() == wanted);
            if session.is_taken || !is_after {
                return Err(CommitError::SessionBusy);
            }
        }
        let (true, Some(session)) = (step.creates(), &step.head.session) else { return Ok(()) };
        let key = (tenant_key(step.head.tenant.as_deref()), Arc::clone(session));
        if let Some(session) = self.sessions.get_mut(&key) {
            session.last = Some(step.run.clone());
            session.is_taken |= step.session_use.is_alone() && !is_over(step.head.status);
        }
        Ok(())
    }

    /// The run after a transition.
    fn moved_run(&mut self, step: &Step) -> RunNow {
        let before = self.runs.get_mut(&step.run).and_then(Option::take);
        let moved = Moved {
            pause: step.head.continuation.as_ref().map(|continuation| continuation.pause.0),
            deadline: step.head.deadline,
            updated_at: step.moment,
        };
        let link = step.link_after(before.as_ref().map(|run| run.chain.link));
        let lease_ms = step.hold.as_ref().map_or(0, Hold::length_ms);
        let mut run = before.unwrap_or_else(|| {
            self.last_run += 1;
            RunNow {
                run_no: self.last_run,
                revision: Revision(0),
                status: step.head.status,
                agent: step.head.agent.clone().unwrap_or_default(),
                tenant: step.head.tenant.clone(),
                owner: None,
                lease_until: self.lease_now,
                lease_ms: 0,
                chain: Chain { revision: Revision(0), rows: 0, link },
                change: RunChange::Created {
                    at: step.moment,
                    session: step.head.session.clone(),
                    is_alone: step.own_session().is_some(),
                    moved,
                },
            }
        });
        match &mut run.change {
            RunChange::Created { moved: last, .. } => *last = moved,
            change @ (RunChange::Nothing | RunChange::Renewed | RunChange::Moved(_)) => {
                *change = RunChange::Moved(moved);
            }
        }
        if step.audit.is_some() {
            run.chain = Chain { revision: step.next, rows: run.chain.rows + 1, link };
        }
        (run.revision, run.status) = (step.next, step.head.status);
        run.owner = step.hold.as_ref().map(|hold| hold.owner.as_str().into());
        (run.lease_until, run.lease_ms) = (self.lease_now.plus_ms(lease_ms), lease_ms);
        run
    }

    fn change_tasks(&mut self, run: &RunNow, step: &Step) {
        for change in &step.tasks {
            let (turn, index) = change.place();
            let key = CallKey { run: step.run.clone(), turn, index };
            let stored = self.tasks.get(&key).and_then(|task| task.stored);
            let task = match change {
                TaskChange::Close { .. } => TaskNow { stored, ..TaskNow::default() },
                TaskChange::Open(opening) => {
                    self.last_task += 1;
                    let opened = Opened { task_no: self.last_task, run_no: run.run_no, body: opening.body.clone() };
                    let (agent, tenant) = (Arc::clone(&run.agent), run.tenant.clone());
                    let head = opening.head(key.clone(), agent, tenant, step.moment, self.lease_now);
                    TaskNow { stored, head: Some(head), opened: Some(opened), ..TaskNow::default() }
                }
            };
            self.tasks.insert(key, task);
        }
    }
}
