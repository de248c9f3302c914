//! Goes through the whole audit log and names what is not as it was written.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId};

use super::check::RunCheck;
use super::{AuditedRun, Link, Seal, SealedRun, Trace, seal_link};
use crate::{DUE_LIMIT_MAX, Store, StoreError};

/// How many findings are named. More are counted.
pub const FINDINGS_MAX: usize = 1_000;
/// How many seals are read at a time: each may name a thousand runs.
const SEALS_AT_ONCE: usize = 16;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// The row of this revision is not the one that was written.
    RowChanged {
        /// The run.
        run: RunId,
        /// The revision of the row.
        revision: Revision,
    },
    /// The row of this revision is gone, or one or more before it.
    RowMissing {
        /// The run.
        run: RunId,
        /// The revision of the row, or of the next one that is there.
        revision: Revision,
    },
    /// The row of this revision is not in its place.
    RowOutOfOrder {
        /// The run.
        run: RunId,
        /// The revision that it has by now.
        revision: Revision,
    },
    /// The rows of the run do not end where the run says.
    HeadMismatch {
        /// The run.
        run: RunId,
    },
    /// A run that was sealed is gone, and was not pruned.
    RunMissing {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// The run.
        run: RunId,
        /// A seal that names it.
        seal: u64,
    },
    /// A seal is not the one that was made.
    SealBroken {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// Its number.
        number: u64,
    },
    /// Seals are gone.
    SealMissing {
        /// Their tenant.
        tenant: Option<Arc<str>>,
        /// The first that is missing.
        first: u64,
        /// The last that is missing.
        last: u64,
    },
    /// A run was pruned, and what is left of it is not what a seal says.
    TombstoneMismatch {
        /// Its tenant.
        tenant: Option<Arc<str>>,
        /// The run.
        run: RunId,
        /// The seal that names it.
        seal: u64,
    },
}

/// As in ``of tenant `acme` ``.
struct Of<'a>(&'a Option<Arc<str>>);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(tenant) => write!(f, "of tenant `{tenant}`"),
            None => f.write_str("of runs without a tenant"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::RowChanged { run, revision } => {
                write!(f, "run `{run}`: the row of revision `{revision}` was changed")
            }
            Finding::RowMissing { run, revision } => {
                write!(f, "run `{run}`: the row of revision `{revision}` is missing, or rows before it are")
            }
            Finding::RowOutOfOrder { run, revision } => {
                write!(f, "run `{run}`: the row of revision `{revision}` is not in its place")
            }
            Finding::HeadMismatch { run } => write!(f, "run `{run}`: its rows do not end where they should"),
            Finding::RunMissing { tenant, run, seal } => {
                write!(f, "run `{run}` is in seal `{seal}` {} and is gone", Of(tenant))
            }
            Finding::SealBroken { tenant, number } => write!(f, "seal `{number}` {} was changed", Of(tenant)),
            Finding::SealMissing { tenant, first, last } if first == last => {
                write!(f, "seal `{first}` {} is missing", Of(tenant))
            }
            Finding::SealMissing { tenant, first, last } => {
                write!(f, "seals `{first}` to `{last}` {} are missing", Of(tenant))
            }
            Finding::TombstoneMismatch { tenant, run, seal } => {
                write!(f, "run `{run}` was pruned as another than seal `{seal}` {} says", Of(tenant))
            }
        }
    }
}

/// How far a verification is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Runs checked so far.
    pub runs: u64,
    /// Audit rows checked so far.
    pub rows: u64,
    /// Seals checked so far.
    pub seals: u64,
    /// Tombstones read so far.
    pub tombstones: u64,
    /// What was found so far.
    pub findings: u64,
}

/// What a verification saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many runs there are.
    pub runs: u64,
    /// How many audit rows.
    pub rows: u64,
    /// How many seals.
    pub seals: u64,
    /// How many tombstones.
    pub tombstones: u64,
    /// What is not as it was written, each once. Empty when all is well.
    pub findings: Vec<Finding>,
    /// How many findings are not named, since there are more than [`FINDINGS_MAX`].
    pub unnamed: u64,
}

impl Verified {
    /// Whether everything is as it was written.
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty() && self.unnamed == 0
    }
}

/// Checks every audit row of every run, every seal and what every seal names, a part at a time. Runs may go on meanwhile,
/// be sealed and be pruned.
///
/// # Errors
/// When the store cannot be read. What is not as it was written is no error but a finding.
pub async fn verify(
    store: &dyn Store,
    progress: &mut (dyn FnMut(VerifyProgress) + Send),
) -> Result<Verified, StoreError> {
    let mut checking = Checking { store, progress, seen: Verified::default(), found: HashSet::new() };
    let mut sealed = checking.rows().await?;
    for tenant in store.tenants().await? {
        let known = sealed.remove(&tenant).unwrap_or_default();
        let known = known.max(checking.tombstones(tenant.as_deref()).await?);
        checking.seals(&tenant, known).await?;
    }
    Ok(checking.seen)
}

/// The last seal of each tenant that a run names.
type LastSeals = BTreeMap<Option<Arc<str>>, u64>;

struct Checking<'a> {
    store: &'a dyn Store,
    progress: &'a mut (dyn FnMut(VerifyProgress) + Send),
    seen: Verified,
    found: HashSet<Finding>,
}

/// How far the seals of a tenant were checked.
struct SealCheck {
    next: u64,
    before: Option<Link>,
}

impl Checking<'_> {
    async fn rows(&mut self) -> Result<LastSeals, StoreError> {
        let (mut sealed, mut cursor) = (LastSeals::new(), None);
        let mut current: Option<RunCheck> = None;
        loop {
            let page = self.store.audit_after(cursor.as_ref(), DUE_LIMIT_MAX).await?;
            for run in &page.runs {
                let check = self.check_of(run, current.take());
                current = Some(check);
                self.seen.rows += run.rows.len() as u64;
                if run.seal > 0 {
                    let last = sealed.entry(run.tenant.clone()).or_default();
                    *last = run.seal.max(*last);
                }
            }
            self.tell();
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        if let Some(check) = current {
            self.name(check.end());
        }
        Ok(sealed)
    }

    /// The check of this run with the rows that came; the one before ends when it is another run's.
    fn check_of(&mut self, run: &AuditedRun, before: Option<RunCheck>) -> RunCheck {
        let mut check = match before {
            Some(before) if before.is_of(run) => before,
            other => {
                if let Some(ended) = other {
                    self.name(ended.end());
                }
                self.seen.runs += 1;
                RunCheck::new(run)
            }
        };
        check.add(run);
        check
    }

    /// Counts tombstones, and returns the last seal that one of them names.
    async fn tombstones(&mut self, tenant: Option<&str>) -> Result<u64, StoreError> {
        let (mut after, mut sealed) = (None, 0);
        loop {
            let page = self.store.tombstones(tenant, after.as_ref(), DUE_LIMIT_MAX).await?;
            let Some(last) = page.last() else { return Ok(sealed) };
            after = Some(last.run.run.clone());
            sealed = page.iter().map(|tombstone| tombstone.seal).fold(sealed, u64::max);
            self.seen.tombstones += page.len() as u64;
            self.tell();
        }
    }

    /// `known` is a seal that there must be.
    async fn seals(&mut self, tenant: &Option<Arc<str>>, known: u64) -> Result<(), StoreError> {
        let (mut check, mut after) = (SealCheck { next: 1, before: None }, 0);
        loop {
            let page = self.store.seals(tenant.as_deref(), after, SEALS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for seal in &page {
                if self.check_seal(&mut check, seal) {
                    self.check_sealed(seal).await?;
                }
            }
            self.seen.seals += page.len() as u64;
            self.tell();
        }
        if known >= check.next {
            self.name([Finding::SealMissing { tenant: tenant.clone(), first: check.next, last: known }]);
        }
        Ok(())
    }

    /// Whether what the seal says can be believed.
    fn check_seal(&mut self, check: &mut SealCheck, seal: &Seal) -> bool {
        let tenant = seal.tenant.clone();
        let follows = seal.number == check.next;
        let link = seal_link(check.before, (tenant.as_deref(), seal.number, seal.at), &seal.runs);
        let is_right = link == seal.link;
        if !follows {
            self.name([Finding::SealMissing { tenant, first: check.next, last: seal.number.saturating_sub(1) }]);
        } else if !is_right {
            self.name([Finding::SealBroken { tenant, number: seal.number }]);
        }
        *check = SealCheck { next: seal.number.saturating_add(1), before: Some(seal.link) };
        is_right || !follows
    }

    async fn check_sealed(&mut self, seal: &Seal) -> Result<(), StoreError> {
        for runs in seal.runs.chunks(DUE_LIMIT_MAX) {
            let traces = self.store.traces(seal.tenant.as_deref(), runs).await?;
            let findings = runs.iter().zip(&traces).filter_map(|(run, trace)| trace_finding(seal, run, trace));
            self.name(findings);
        }
        Ok(())
    }

    fn name(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            if self.found.contains(&finding) {
                continue;
            }
            if self.seen.findings.len() == FINDINGS_MAX {
                self.seen.unnamed += 1;
            } else {
                self.found.insert(finding.clone());
                self.seen.findings.push(finding);
            }
        }
    }

    fn tell(&mut self) {
        let Verified { runs, rows, seals, tombstones, ref findings, unnamed } = self.seen;
        let findings = findings.len() as u64 + unnamed;
        (self.progress)(VerifyProgress { runs, rows, seals, tombstones, findings });
    }
}

/// What a seal says of a run, and what there is of it.
fn trace_finding(seal: &Seal, sealed: &SealedRun, trace: &Trace) -> Option<Finding> {
    if trace.link == Some(sealed.link) {
        return None;
    }
    let (tenant, run) = (seal.tenant.clone(), sealed.run.clone());
    // Those that were pruned before this seal were other runs of the same name.
    let mut pruned = trace.tombstones.iter().filter(|tombstone| tombstone.seal >= seal.number).peekable();
    let was_pruned = pruned.peek().is_some();
    let fits = |last: &SealedRun| {
        last.revision > sealed.revision || (last.revision == sealed.revision && last.link == sealed.link)
    };
    if pruned.any(|tombstone| fits(&tombstone.run)) {
        return None;
    }
    let revision = sealed.revision;
    Some(match (trace.is_there, trace.link) {
        (true, Some(_)) => Finding::RowChanged { run, revision },
        (true, None) => Finding::RowMissing { run, revision },
        (false, _) if was_pruned => Finding::TombstoneMismatch { tenant, run, seal: seal.number },
        (false, _) => Finding::RunMissing { tenant, run, seal: seal.number },
    })
}
