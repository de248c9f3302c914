//! The audit log: rows that are chained within their run, seals that chain the heads of a tenant's runs, and what is left
//! of a run that was pruned. Whoever changes, removes or reorders any of it is found.

mod check;
mod claims;
mod finding;
mod mark;
mod verify;

use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Revision, RunId, Timestamp};
use sha2::{Digest, Sha256};

use crate::{StoreError, packed};

pub use finding::Finding;
pub use mark::{NotASealMark, SealMark};
pub use verify::{FINDINGS_MAX, Verified, VerifyRequest, verify};

/// A link of a chain: the SHA-256 of everything up to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link(pub [u8; 32]);

impl Link {
    /// A link as it was stored. What is not as long as a link is one that nothing leads to.
    pub fn stored(bytes: &[u8]) -> Self {
        Self(bytes.try_into().unwrap_or_default())
    }

    /// Reads 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        holdpoint_core::Digest::parse(text).map(|digest| Self(digest.0))
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({self})")
    }
}

/// Makes a link of a chain hard to take for anything else.
const RUN_CHAIN: &[u8] = b"holdpoint audit run v1\n";
const SEAL_CHAIN: &[u8] = b"holdpoint audit seal v1\n";

/// What one transition left in the audit log.
#[derive(Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// The revision of the run after the transition.
    pub revision: Revision,
    /// When it happened.
    pub at: Timestamp,
    /// What the codec wrote.
    pub body: Arc<[u8]>,
    /// The chain of the run up to this row.
    pub link: Link,
}

/// Shows the size only.
impl fmt::Debug for AuditRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditRow({} at {}, {} bytes, {})", self.revision, self.at.0, self.body.len(), self.link)
    }
}

/// Where the chain of a run begins. The tenant is that of its first transition, and seals, heads and tombstones of the run
/// are that tenant's, whatever later transitions say.
pub fn first_link(run: &RunId, tenant: Option<&str>) -> Link {
    let mut hash = Sha256::new();
    hash.update(RUN_CHAIN);
    sized(&mut hash, run.as_str().as_bytes());
    optional(&mut hash, tenant);
    Link(hash.finalize().into())
}

/// The chain after one more row: SHA-256 of the link before, the revision and the moment as eight bytes each, the highest
/// first, and the SHA-256 of the body. A database can compute it.
pub fn next_link(before: Link, revision: Revision, at: Timestamp, body: &[u8]) -> Link {
    next_of_digest(before, revision, at, &body_digest(body))
}

/// The SHA-256 of the body of an audit row.
pub fn body_digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

fn next_of_digest(before: Link, revision: Revision, at: Timestamp, digest: &[u8; 32]) -> Link {
    let mut hash = Sha256::new();
    hash.update(before.0);
    hash.update(revision.0.to_be_bytes());
    hash.update(at.0.to_be_bytes());
    hash.update(digest);
    Link(hash.finalize().into())
}

/// A run as a seal, a tombstone or a check sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRun {
    /// The run.
    pub run: RunId,
    /// The revision of its last audit row.
    pub revision: Revision,
    /// Its chain up to there.
    pub link: Link,
}

/// A seal over the heads of the runs of one tenant that moved since the seal before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The tenant; nothing for runs without one.
    pub tenant: Option<Arc<str>>,
    /// Its place, from 1.
    pub number: u64,
    /// When it was made.
    pub at: Timestamp,
    /// What it covers, in the order of their names.
    pub runs: Vec<SealedRun>,
    /// The chain of the tenant's seals up to this one.
    pub link: Link,
}

impl Seal {
    /// The seal after another one, of which number and link are given, over these runs.
    pub fn after(before: Option<(u64, Link)>, tenant: Option<&str>, at: Timestamp, mut runs: Vec<SealedRun>) -> Self {
        runs.sort_unstable_by(|one, other| one.run.as_str().cmp(other.run.as_str()));
        let number = before.map_or(0, |(number, _)| number) + 1;
        let mut seal = Self { tenant: tenant.map(Into::into), number, at, runs, link: Link([0; 32]) };
        seal.link = seal.chained(before.map(|(_, link)| link));
        seal
    }

    /// The link that it must have after the seal before it.
    pub fn chained(&self, before: Option<Link>) -> Link {
        let mut hash = Sha256::new();
        hash.update(SEAL_CHAIN);
        hash.update(before.map_or([0; 32], |link| link.0));
        optional(&mut hash, self.tenant.as_deref());
        hash.update(self.number.to_be_bytes());
        hash.update(self.at.0.to_be_bytes());
        for SealedRun { run, revision, link } in &self.runs {
            sized(&mut hash, run.as_str().as_bytes());
            hash.update(revision.0.to_be_bytes());
            hash.update(link.0);
        }
        Link(hash.finalize().into())
    }
}

/// A tenant of which something moved since its last seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsealed {
    /// The tenant; nothing for runs without one.
    pub tenant: Option<Arc<str>>,
    /// When its last seal was made, if it has one.
    pub sealed_at: Option<Timestamp>,
}

/// What is left of a run that was pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The tenant, where there are tenants.
    pub tenant: Option<Arc<str>>,
    /// The run as it was last. Revision 0 if it had no audit row.
    pub run: SealedRun,
    /// The last seal that named it, 0 if none did. Later seals that name such a run are about another one of that name.
    pub seal: u64,
    /// When it was pruned.
    pub at: Timestamp,
}

/// What there is by now of a run that a seal names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Whether a run of that name is there.
    pub is_there: bool,
    /// The link of its audit row of that revision, if it has one.
    pub link: Option<Link>,
    /// How far it says that it was sealed, and by which seal. Both 0 if it was not, or is not there.
    pub sealed: Revision,
    /// The last seal that named it, as it says.
    pub seal: u64,
    /// The tombstones of runs of that name.
    pub tombstones: Vec<Tombstone>,
}

/// Whose audit log is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AuditScope {
    /// That of all runs.
    #[default]
    All,
    /// That of a tenant's runs; `None`: of runs without one.
    Tenant(Option<Arc<str>>),
    /// That of one run.
    Run(RunId),
}

/// A run with audit rows of it.
#[derive(Clone, Debug)]
pub struct AuditedRun {
    /// The run, and where its chain ends.
    pub head: SealedRun,
    /// The tenant of its first transition.
    pub tenant: Option<Arc<str>>,
    /// How many audit rows it has in all.
    pub count: u64,
    /// How far it was sealed, 0 if it was not.
    pub sealed: Revision,
    /// The last seal that named it, 0 if none did.
    pub seal: u64,
    /// Its rows, or a part of them, each with its place in the chain, from 1.
    pub rows: Vec<(u64, AuditRow)>,
}

/// The runs of a seal as one value.
pub fn pack_sealed(runs: &[SealedRun]) -> Vec<u8> {
    let record = |sealed: &SealedRun| {
        let mut bytes = sealed.revision.0.to_be_bytes().to_vec();
        bytes.extend_from_slice(&sealed.link.0);
        bytes.extend_from_slice(sealed.run.as_str().as_bytes());
        bytes
    };
    packed::pack(&runs.iter().map(record).collect::<Vec<_>>())
}

/// The runs of a seal.
///
/// # Errors
/// When nobody here wrote it.
pub fn unpack_sealed(bytes: &[u8]) -> Result<Vec<SealedRun>, StoreError> {
    let corrupt = || StoreError::fault(crate::StoreFault::Corrupt, "read a seal", "a run of it is no run");
    let sealed = |bytes: Arc<[u8]>| {
        let (revision, rest) = bytes.split_first_chunk::<8>().ok_or_else(corrupt)?;
        let (link, name) = rest.split_first_chunk::<32>().ok_or_else(corrupt)?;
        let name = std::str::from_utf8(name).map_err(|_| corrupt())?;
        Ok(SealedRun { run: RunId::new(name), revision: Revision(u64::from_be_bytes(*revision)), link: Link(*link) })
    };
    packed::unpack(bytes)?.into_iter().map(sealed).collect()
}

fn sized(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

fn optional(hash: &mut Sha256, text: Option<&str>) {
    match text {
        Some(text) => {
            hash.update([1]);
            sized(hash, text.as_bytes());
        }
        None => hash.update([0]),
    }
}
