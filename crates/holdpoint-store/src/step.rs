//! A transition as a database writes it.

use holdpoint_core::{Revision, RunId, Status, Timestamp};
use std::sync::Arc;

use crate::{
    CommitError, GrantOpening, HeadUpdate, Hold, Link, QuestionChange, SessionUse, TaskChange, Topics, Transition,
    first_link, next_link, packed,
};

/// A valid transition whose long values are compressed, by the caller's task and not by the one that writes.
pub struct Step {
    /// The run.
    pub run: RunId,
    /// The revision that it is written onto.
    pub at: Revision,
    /// The revision afterwards.
    pub next: Revision,
    /// What is true of the run afterwards.
    pub head: HeadUpdate,
    /// Who drives the run afterwards. Nobody unless it runs.
    pub hold: Option<Hold>,
    /// When it happened.
    pub moment: Timestamp,
    /// The records as one value.
    pub body: Vec<u8>,
    /// The entry in the audit log.
    pub audit: Option<Vec<u8>>,
    /// What happens to the queue. Bodies are packed.
    pub tasks: Vec<TaskChange>,
    /// Grants that it makes.
    pub grants: Vec<GrantOpening>,
    /// Questions that are asked or end. Bodies are packed.
    pub questions: Vec<QuestionChange>,
    /// Whether other runs of the session may be open.
    pub session_use: SessionUse,
    /// What callers may wait for.
    pub topics: Topics,
    /// About how many bytes it brings.
    pub bytes: usize,
}

impl Step {
    /// Checks and packs a transition.
    ///
    /// # Errors
    /// [`CommitError::Invalid`] for a transition that no store takes.
    pub fn new(run: &RunId, at: Revision, transition: Transition) -> Result<Self, CommitError> {
        transition.check(run).map_err(CommitError::Invalid)?;
        let topics = transition.topics();
        let Transition { records, head, at: moment, hold, mut tasks, audit, grants, mut questions, session_use } =
            transition;
        for change in &mut tasks {
            if let TaskChange::Open(opening) = change {
                opening.body = packed::pack_one(std::mem::take(&mut opening.body));
            }
        }
        for change in &mut questions {
            if let QuestionChange::Open(opening) = change {
                opening.body = packed::pack_one(std::mem::take(&mut opening.body));
            }
        }
        let body = packed::pack(&records);
        let brought = tasks.iter().map(TaskChange::bytes).chain(questions.iter().map(QuestionChange::bytes));
        let brought = brought.chain(grants.iter().map(|grant| grant.body.len())).sum::<usize>();
        Ok(Self {
            run: run.clone(),
            at,
            next: Revision(at.0.saturating_add(records.len() as u64)),
            hold: hold.filter(|_| head.status == Status::Running),
            head,
            moment,
            bytes: body.len() + audit.as_ref().map_or(0, Vec::len) + brought,
            body,
            audit,
            tasks,
            grants,
            questions,
            session_use,
            topics,
        })
    }

    /// Whether it creates its run.
    pub fn creates(&self) -> bool {
        self.at == Revision(0)
    }

    /// The session that the run must be alone in, if this creates it.
    pub fn own_session(&self) -> Option<&Arc<str>> {
        let is_alone = self.creates() && self.session_use.is_alone();
        self.head.session.as_ref().filter(|_| is_alone)
    }

    /// The link of the run's audit chain afterwards. `before` is the one that it has; nothing for a run that this creates.
    pub fn link_after(&self, before: Option<Link>) -> Link {
        let before = before.unwrap_or_else(|| first_link(&self.run, self.head.tenant.as_deref()));
        self.audit.as_deref().map_or(before, |body| next_link(before, self.next, self.moment, body))
    }
}
