//! Checks the audit rows of one run, row by row, however many there are.

use std::collections::VecDeque;

use holdpoint_core::{Revision, RunId, Timestamp};

use super::{AuditRow, AuditedRun, Finding, Link, SealedRun, body_digest, first_link, next_of_digest};

/// How many of the last links are kept, to tell a row that was changed from one whose neighbour was.
const LINKS_MAX: usize = 4_096;
/// How many rows that do not fit are looked at closely. What is beyond counts as changed.
const SUSPECTS_MAX: usize = 256;

/// How far the rows of a run were checked.
pub(super) struct RunCheck {
    head: SealedRun,
    /// How far it was sealed, and by which seal.
    sealed: (Revision, u64),
    count: u64,
    /// The place that the next row must have.
    next: u64,
    /// The last row, if it had a place beyond: whether rows are missing or it is out of order, the next one tells.
    jump: Option<Jump>,
    last: Option<Last>,
    first: Link,
    links: VecDeque<Link>,
    suspects: Vec<Suspect>,
    findings: Vec<Finding>,
}

/// The row before.
#[derive(Clone, Copy)]
struct Last {
    revision: Revision,
    stored: Link,
    /// The link that it should have.
    right: Link,
}

/// A row whose link is not what comes after the link before.
struct Suspect {
    revision: Revision,
    at: Timestamp,
    digest: [u8; 32],
    link: Link,
}

/// A row of this revision with a place that is beyond the one that was to come.
#[derive(Clone, Copy)]
struct Jump {
    wanted: u64,
    place: u64,
    revision: Revision,
}

impl RunCheck {
    pub(super) fn new(run: &AuditedRun) -> Self {
        let first = first_link(&run.head.run, run.tenant.as_deref());
        Self {
            head: run.head.clone(),
            sealed: (run.sealed, run.seal),
            count: run.count,
            next: 1,
            jump: None,
            last: None,
            first,
            links: VecDeque::from([first]),
            suspects: Vec::new(),
            findings: Vec::new(),
        }
    }

    pub(super) fn is_of(&self, run: &AuditedRun) -> bool {
        self.head.run == run.head.run
    }

    /// Checks more rows. The head is as new as they are.
    pub(super) fn add(&mut self, run: &AuditedRun) {
        self.head = run.head.clone();
        self.sealed = (run.sealed, run.seal);
        self.count = run.count;
        for (place, row) in &run.rows {
            self.row(*place, row);
        }
    }

    fn row(&mut self, place: u64, row: &AuditRow) {
        let digest = body_digest(&row.body);
        let follows = |before: Link| next_of_digest(before, row.revision, row.at, &digest);
        let right = follows(self.last.map_or(self.first, |last| last.stored));
        self.settle_jump(Some(place));
        if place > self.next {
            self.jump = Some(Jump { wanted: self.next, place, revision: row.revision });
        } else if place < self.next {
            self.find(|run| Finding::RowOutOfOrder { run, revision: row.revision });
        } else {
            // When the link before was changed, this row still follows the right one.
            let fits = right == row.link || self.last.is_some_and(|last| follows(last.right) == row.link);
            if !fits {
                self.suspect(Suspect { revision: row.revision, at: row.at, digest, link: row.link });
            }
        }
        self.next = self.next.saturating_add(1);
        self.last = Some(Last { revision: row.revision, stored: row.link, right });
        if self.links.len() == LINKS_MAX {
            self.links.pop_front();
        }
        self.links.push_back(row.link);
    }

    fn suspect(&mut self, suspect: Suspect) {
        if self.suspects.len() < SUSPECTS_MAX {
            self.suspects.push(suspect);
        } else {
            self.findings.push(self.changed(suspect.revision));
        }
    }

    /// What the row before the one of this place was, if it had a place beyond its own.
    fn settle_jump(&mut self, place: Option<u64>) {
        let Some(Jump { wanted, place: beyond, revision }) = self.jump.take() else { return };
        // It goes on as if the row before had the right place, or with the row that it was before.
        if place.is_some_and(|place| place == wanted || place == wanted.saturating_add(1)) {
            self.find(|run| Finding::RowOutOfOrder { run, revision });
        } else {
            self.find(|run| Finding::RowMissing { run, revision });
            self.next = beyond.saturating_add(1);
        }
    }

    fn find(&mut self, finding: impl FnOnce(RunId) -> Finding) {
        self.findings.push(finding(self.head.run.clone()));
    }

    fn changed(&self, revision: Revision) -> Finding {
        Finding::RowChanged { run: self.head.run.clone(), revision }
    }

    /// What was found, now that there are no more rows.
    pub(super) fn end(mut self) -> Vec<Finding> {
        self.settle_jump(None);
        let (whole, changed): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.suspects).into_iter().partition(|suspect| self.follows_some(suspect));
        let changed: Vec<Finding> = changed.iter().map(|suspect| self.changed(suspect.revision)).collect();
        self.findings.extend(changed);
        // A row that is whole and only follows another one: that one was found already, or the order is wrong.
        if self.findings.is_empty() {
            let run = &self.head.run;
            let moved = |suspect: &Suspect| Finding::RowOutOfOrder { run: run.clone(), revision: suspect.revision };
            self.findings.extend(whole.iter().map(moved));
        }
        let head = self.head_finding();
        self.findings.extend(head);
        let (sealed, seal) = self.sealed;
        // A head that is not right says nothing of this.
        if (sealed == Revision(0)) != (seal == 0) || (self.findings.is_empty() && sealed > self.head.revision) {
            self.find(|run| Finding::SealedMismatch { run });
        }
        self.findings
    }

    fn follows_some(&self, row: &Suspect) -> bool {
        self.links.iter().any(|link| next_of_digest(*link, row.revision, row.at, &row.digest) == row.link)
    }

    fn head_finding(&self) -> Option<Finding> {
        let run = self.head.run.clone();
        if self.next <= self.count {
            return Some(Finding::RowMissing { run, revision: self.head.revision });
        }
        let fits = match self.last {
            None => self.head.revision == Revision(0) && self.head.link == self.first,
            Some(last) => {
                self.head.revision == last.revision && (self.head.link == last.stored || self.head.link == last.right)
            }
        };
        (!fits || self.next != self.count + 1).then_some(Finding::HeadMismatch { run })
    }
}

#[cfg(test)]
mod tests;
