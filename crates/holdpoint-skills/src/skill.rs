//! One skill, and what may be wrong with one.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Dir;
use thiserror::Error;

use crate::folder::{self, Listing, ReadError};
use crate::frontmatter::{self, SkillFile};
use crate::{Frontmatter, FrontmatterError, NameError, SkillName};

/// The file that makes a folder a skill.
pub(crate) const FILE: &str = "SKILL.md";
/// The largest `SKILL.md`.
pub(crate) const SKILL_BYTES_MAX: u64 = 256 * 1024;

/// A skill that is well formed.
#[derive(Clone)]
pub struct Skill {
    frontmatter: Frontmatter,
    folder: PathBuf,
    root: Arc<Dir>,
    digest: ([u8; 32], [u8; 32]),
}

/// A folder that looks like a skill and is none, and why.
#[derive(Debug, Error)]
#[error("skill `{}`: {kind}", folder.display())]
pub struct SkillProblem {
    /// Where it is.
    pub folder: PathBuf,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a skill.
#[derive(Debug, Error)]
pub enum ProblemKind {
    /// The folder's own name.
    #[error("the folder cannot be a skill: its name {0}")]
    FolderName(NameError),
    /// The head of its `SKILL.md`.
    #[error(transparent)]
    Frontmatter(#[from] FrontmatterError),
    /// `name` and folder differ.
    #[error("`SKILL.md`: `name` is `{name}`, and must be the name of the folder")]
    NameMismatch {
        /// What it says.
        name: SkillName,
    },
    /// Above the limit.
    #[error("`SKILL.md` is larger than {SKILL_BYTES_MAX} bytes")]
    TooLarge,
    /// Not UTF-8.
    #[error("`SKILL.md` is not UTF-8")]
    NotText,
    /// A link, a pipe, a device.
    #[error("the folder or its `SKILL.md` is a link or not a plain file")]
    NotPlain,
    /// The system could not read it.
    #[error("it cannot be read: {0}")]
    Unreadable(std::io::ErrorKind),
    /// A folder before this one has a skill of this name.
    #[error("a skill of this name is in `{}` already", first.display())]
    Duplicate {
        /// Which one is used.
        first: PathBuf,
    },
    /// More skills than are read.
    #[error("there are more than {} skills; this and those after it are left out", crate::SKILLS_MAX)]
    TooMany,
    /// More files and folders than are looked at.
    #[error("it has more than {} entries; some are left out", crate::shelf::ENTRIES_MAX)]
    TooManyEntries,
    /// The whole folder is gone.
    #[error("the folder cannot be opened: {0}")]
    NoFolder(std::io::ErrorKind),
}

/// What a skill holds at the moment.
pub(crate) struct Content {
    pub(crate) body: String,
    pub(crate) files: Vec<String>,
    pub(crate) truncated: bool,
}

impl Skill {
    /// Reads the skill that the folder `name` below `root` holds. Nothing if there is no `SKILL.md` in it.
    pub(crate) fn read(root: &Arc<Dir>, name: &str, place: PathBuf) -> Result<Option<Self>, SkillProblem> {
        let problem = |kind: ProblemKind| SkillProblem { folder: place.clone(), kind };
        let folder = folder::open_folder(root, name).map_err(|_| problem(ProblemKind::NotPlain))?;
        if folder.symlink_metadata(FILE).is_err() {
            return Ok(None);
        }
        let folder_name = SkillName::parse(name).map_err(|error| problem(ProblemKind::FolderName(error)))?;
        let (frontmatter, ..) = read_frontmatter(&folder).map_err(problem)?;
        if frontmatter.name != folder_name {
            return Err(problem(ProblemKind::NameMismatch { name: frontmatter.name }));
        }
        let (head, files) = digests(&folder).map_err(|error| problem(ProblemKind::Unreadable(error.kind())))?;
        Ok(Some(Self { frontmatter, folder: place, root: Arc::clone(root), digest: (head, files) }))
    }

    /// Its name.
    pub fn name(&self) -> &SkillName {
        &self.frontmatter.name
    }

    /// What its `SKILL.md` says of it.
    pub fn frontmatter(&self) -> &Frontmatter {
        &self.frontmatter
    }

    /// Where it is.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Whether its files are what they were.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.digest == other.digest && self.folder == other.folder
    }

    pub(crate) fn open(&self) -> Result<Dir, ReadError> {
        folder::open_folder(&self.root, self.name().as_str()).map_err(|_| ReadError::NotThere)
    }

    /// Its text and its files as they are now.
    pub(crate) fn content(&self) -> Result<Content, ProblemKind> {
        let folder = self.open().map_err(kind_of)?;
        let (frontmatter, body) = read_frontmatter(&folder)?;
        if frontmatter.name != *self.name() {
            return Err(ProblemKind::NameMismatch { name: frontmatter.name });
        }
        let Listing { files, truncated, .. } =
            folder::list(&folder).map_err(|error| ProblemKind::Unreadable(error.kind()))?;
        Ok(Content { body, files, truncated })
    }
}

fn read_frontmatter(folder: &Dir) -> Result<(Frontmatter, String), ProblemKind> {
    let bytes = folder::read_entry(folder, FILE, SKILL_BYTES_MAX).map_err(kind_of)?;
    let text = String::from_utf8(bytes).map_err(|_| ProblemKind::NotText)?;
    let SkillFile { frontmatter, body } = frontmatter::parse(&text)?;
    Ok((frontmatter, body.to_owned()))
}

fn digests(folder: &Dir) -> std::io::Result<([u8; 32], [u8; 32])> {
    use sha2::{Digest, Sha256};
    let head = folder::read_entry(folder, FILE, SKILL_BYTES_MAX).unwrap_or_default();
    Ok((Sha256::digest(&head).into(), folder::list(folder)?.digest))
}

fn kind_of(error: ReadError) -> ProblemKind {
    match error {
        ReadError::NotThere | ReadError::NotAFile => ProblemKind::NotPlain,
        ReadError::TooLarge => ProblemKind::TooLarge,
        ReadError::Failed(error) => ProblemKind::Unreadable(error.kind()),
    }
}

impl fmt::Debug for Skill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Skill({})", self.name())
    }
}
