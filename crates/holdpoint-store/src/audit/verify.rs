//! Goes through the whole audit log and names what is not as it was written.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::check::RunCheck;
use super::{AuditScope, AuditedRun, Finding, Link, Seal, SealMark, SealedRun, Trace};
use crate::{Cursor, DUE_LIMIT_MAX, Page, Store, StoreError};

/// How many findings are named. More are counted.
pub const FINDINGS_MAX: usize = 1_000;
/// How many seals are read at a time: each may name a thousand runs.
const SEALS_AT_ONCE: usize = 16;

/// What to verify.
#[derive(Clone, Debug, Default)]
pub struct VerifyRequest {
    /// Whose audit log. Of one run only its rows are checked, and no seals.
    pub scope: AuditScope,
    /// Seals that somebody kept elsewhere: they must be there, as they were.
    pub expected: Vec<SealMark>,
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
    /// The newest seal of each tenant that has one. Whoever keeps it where nobody can change it finds whatever is changed
    /// before it later on, even by somebody who can compute chains.
    pub newest: Vec<SealMark>,
    /// What is not as it was written, each once. Empty when all is well.
    pub findings: Vec<Finding>,
    /// How many findings are not named, since there are more than [`FINDINGS_MAX`].
    pub unnamed: u64,
}

impl Verified {
    /// Whether everything is as it was written.
    pub fn is_whole(&self) -> bool {
        self.found() == 0
    }

    /// How many findings there are, named or not.
    pub fn found(&self) -> u64 {
        self.findings.len() as u64 + self.unnamed
    }
}

/// Checks audit rows, seals, and what seals name, a part at a time. Runs may go on meanwhile, be sealed and be pruned.
/// `progress` gets what was seen so far.
///
/// # Errors
/// When the store cannot be read. What is not as it was written is no error but a finding.
pub async fn verify(
    store: &Store,
    request: &VerifyRequest,
    progress: &mut (dyn FnMut(&Verified) + Send + Sync),
) -> Result<Verified, StoreError> {
    let mut checking = Checking { store, request, progress, seen: Verified::default(), found: HashSet::new() };
    let mut claims = checking.rows().await?;
    for tenant in checking.tenants().await? {
        let runs = claims.remove(&tenant).unwrap_or_default();
        let stones = checking.tombstones(&tenant).await?;
        let confirmed = checking.seals(&tenant, runs.last_seal.max(stones.last_seal)).await?;
        if stones.sealed > confirmed.stones {
            checking.unfounded_stones(&tenant).await?;
        }
        if runs.sealed > confirmed.runs {
            checking.unfounded_runs(&tenant).await?;
        }
    }
    Ok(checking.seen)
}

/// What the runs of a tenant, or its tombstones, say of seals.
#[derive(Clone, Copy, Default)]
pub(super) struct Claims {
    /// The last seal that one of them names.
    pub(super) last_seal: u64,
    /// How many name one.
    pub(super) sealed: u64,
}

/// What the runs of each tenant say.
type TenantClaims = BTreeMap<Option<Arc<str>>, Claims>;

impl Claims {
    pub(super) fn add(&mut self, seal: u64) {
        self.last_seal = self.last_seal.max(seal);
        self.sealed += u64::from(seal > 0);
    }
}

/// How many runs and tombstones the seal that they name does name.
#[derive(Clone, Copy, Default)]
struct Confirmed {
    runs: u64,
    stones: u64,
}

pub(super) struct Checking<'a> {
    pub(super) store: &'a Store,
    request: &'a VerifyRequest,
    progress: &'a mut (dyn FnMut(&Verified) + Send + Sync),
    pub(super) seen: Verified,
    found: HashSet<Finding>,
}

/// How far the seals of a tenant were checked.
struct SealCheck {
    next: u64,
    before: Option<Link>,
    confirmed: Confirmed,
}

impl Checking<'_> {
    /// Those that are in the store, and those of which somebody has a seal.
    async fn tenants(&self) -> Result<BTreeSet<Option<Arc<str>>>, StoreError> {
        let mut tenants: BTreeSet<_> = self.request.expected.iter().map(|mark| mark.tenant.clone()).collect();
        match &self.request.scope {
            AuditScope::All => tenants.extend(self.store.audit.tenants().await?),
            AuditScope::Tenant(tenant) => _ = tenants.insert(tenant.clone()),
            AuditScope::Run(_) => {}
        }
        Ok(tenants)
    }

    async fn rows(&mut self) -> Result<TenantClaims, StoreError> {
        let (store, scope) = (self.store, &self.request.scope);
        let read = async |cursor: Option<Cursor>| store.audit.rows_after(scope, cursor.as_ref(), DUE_LIMIT_MAX).await;
        let (mut claims, mut current) = (BTreeMap::new(), None);
        let mut page = read(None).await?;
        loop {
            let next = page.next.take();
            // The next page is on its way while this one is checked.
            let reading = async {
                match next {
                    Some(cursor) => read(Some(cursor)).await.map(Some),
                    None => Ok(None),
                }
            };
            let (coming, ()) = tokio::join!(biased; reading, async {
                self.check_page(&page, &mut current, &mut claims);
            });
            match coming? {
                Some(coming) => page = coming,
                None => break,
            }
        }
        if let Some(check) = current {
            self.name(check.end());
        }
        Ok(claims)
    }

    /// `current` is the check of the last run of the page before, which may go on.
    fn check_page(&mut self, page: &Page<AuditedRun>, current: &mut Option<RunCheck>, claims: &mut TenantClaims) {
        for run in &page.items {
            if !current.as_ref().is_some_and(|check| check.is_of(run)) && run.seal > 0 {
                claims.entry(run.tenant.clone()).or_default().add(run.seal);
            }
            let check = self.check_of(run, current.take());
            *current = Some(check);
            self.seen.rows += run.rows.len() as u64;
        }
        self.tell();
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

    /// `known` is a seal that there must be. Returns what the seals confirm.
    async fn seals(&mut self, tenant: &Option<Arc<str>>, known: u64) -> Result<Confirmed, StoreError> {
        let (mut check, mut after) = (SealCheck { next: 1, before: None, confirmed: Confirmed::default() }, 0);
        let request = self.request;
        let expected = || request.expected.iter().filter(|mark| mark.tenant == *tenant);
        loop {
            let page = self.store.audit.seals(tenant.as_deref(), after, SEALS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for seal in &page {
                if expected().any(|mark| mark.number == seal.number && mark.link != seal.link) {
                    self.name([Finding::SealUnexpected { tenant: tenant.clone(), number: seal.number }]);
                }
                if self.check_seal(&mut check, seal) {
                    self.check_sealed(seal, &mut check.confirmed).await?;
                }
            }
            self.seen.seals += page.len() as u64;
            self.tell();
        }
        let known = expected().map(|mark| mark.number).fold(known, u64::max);
        if known >= check.next {
            self.name([Finding::SealMissing { tenant: tenant.clone(), first: check.next, last: known }]);
        }
        let newest = check.before.map(|link| SealMark { tenant: tenant.clone(), number: after, link });
        self.seen.newest.extend(newest);
        Ok(check.confirmed)
    }

    /// Whether what the seal says can be believed.
    fn check_seal(&mut self, check: &mut SealCheck, seal: &Seal) -> bool {
        let tenant = seal.tenant.clone();
        let follows = seal.number == check.next;
        let is_right = seal.chained(check.before) == seal.link;
        if !follows {
            self.name([Finding::SealMissing { tenant, first: check.next, last: seal.number.saturating_sub(1) }]);
        } else if !is_right {
            self.name([Finding::SealBroken { tenant, number: seal.number }]);
        }
        check.next = seal.number.saturating_add(1);
        check.before = Some(seal.link);
        is_right || !follows
    }

    async fn check_sealed(&mut self, seal: &Seal, confirmed: &mut Confirmed) -> Result<(), StoreError> {
        for runs in seal.runs.chunks(DUE_LIMIT_MAX) {
            let traces = self.store.audit.traces(seal.tenant.as_deref(), runs).await?;
            let stones = traces.iter().flat_map(|trace| &trace.tombstones);
            confirmed.stones += stones.filter(|stone| stone.seal == seal.number).count() as u64;
            confirmed.runs += traces.iter().filter(|trace| trace.seal == seal.number).count() as u64;
            let findings = runs.iter().zip(&traces).filter_map(|(run, trace)| trace_finding(seal, run, trace));
            self.name(findings);
        }
        Ok(())
    }

    pub(super) fn was_found(&self, finding: &Finding) -> bool {
        self.found.contains(finding)
    }

    pub(super) fn name(&mut self, findings: impl IntoIterator<Item = Finding>) {
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

    pub(super) fn tell(&mut self) {
        (self.progress)(&self.seen);
    }
}

/// What a seal says of a run, and what there is of it.
fn trace_finding(seal: &Seal, sealed: &SealedRun, trace: &Trace) -> Option<Finding> {
    let (tenant, run) = (seal.tenant.clone(), sealed.run.clone());
    if trace.link == Some(sealed.link) {
        // Later seals are about later rows.
        let fits = match trace.seal.cmp(&seal.number) {
            Ordering::Less => false,
            Ordering::Equal => trace.sealed == sealed.revision,
            Ordering::Greater => trace.sealed > sealed.revision,
        };
        return (!fits).then_some(Finding::SealedMismatch { run });
    }
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
