//! The skills of some folders.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use holdpoint_core::Code;
use thiserror::Error;

use crate::{ProblemKind, Skill, SkillName, SkillProblem};

/// The most skills that are read, over all folders.
pub const SKILLS_MAX: usize = 1000;

/// The most entries of one folder that are looked at.
pub(crate) const ENTRIES_MAX: usize = 10_000;

/// The skills of some folders. Cheap to clone; clones see each other's reloads.
#[derive(Clone)]
pub struct Skills {
    folders: Arc<[PathBuf]>,
    seen: Arc<RwLock<Arc<Seen>>>,
}

/// What was there when it was last looked at.
#[derive(Default)]
struct Seen {
    skills: BTreeMap<SkillName, Arc<Skill>>,
    problems: Arc<[Arc<SkillProblem>]>,
}

/// Why there are no skills at all.
#[derive(Debug, Error)]
pub enum SkillsError {
    /// A folder that cannot be opened.
    #[error("the folder of skills `{}` cannot be opened", folder.display())]
    Folder {
        /// Which one.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What a reload found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Skills that were not there before.
    pub added: Vec<SkillName>,
    /// Skills with a file that is not what it was.
    pub changed: Vec<SkillName>,
    /// Skills that are not there any more.
    pub removed: Vec<SkillName>,
}

impl SkillsError {
    /// Its stable code.
    pub fn code(&self) -> Code {
        Code::InvalidConfig
    }
}

impl Changes {
    /// Whether everything is as it was.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

impl Skills {
    /// Reads the skills of these folders. Of two skills with one name, the one of the earlier folder is used.
    ///
    /// # Errors
    /// When a folder cannot be opened. A skill that is not well formed is no error: it is among the
    /// [problems](Skills::problems).
    pub fn open<P: Into<PathBuf>>(folders: impl IntoIterator<Item = P>) -> Result<Self, SkillsError> {
        let folders: Arc<[PathBuf]> = folders.into_iter().map(Into::into).collect();
        for folder in folders.iter() {
            open(folder).map_err(|source| SkillsError::Folder { folder: folder.clone(), source })?;
        }
        let skills = Self { folders, seen: Arc::default() };
        skills.reload();
        Ok(skills)
    }

    /// Looks again, and says what is different. What is wrong is reported in the operational log when it is new.
    pub fn reload(&self) -> Changes {
        let now = Arc::new(look(&self.folders));
        let before = {
            let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *seen, Arc::clone(&now))
        };
        let known: Vec<String> = before.problems.iter().map(ToString::to_string).collect();
        for problem in now.problems.iter().map(ToString::to_string).filter(|problem| !known.contains(problem)) {
            tracing::warn!(problem, "a skill is left out");
        }
        changes(&before, &now)
    }

    /// Every skill, by name.
    pub fn skills(&self) -> Vec<Arc<Skill>> {
        self.seen().skills.values().cloned().collect()
    }

    /// The skill of this name.
    pub fn find(&self, name: &str) -> Option<Arc<Skill>> {
        // Looked up by what was found, never by what the file system makes of a name.
        self.seen().skills.get(&SkillName::parse(name).ok()?).cloned()
    }

    /// What looks like a skill and is none.
    pub fn problems(&self) -> Arc<[Arc<SkillProblem>]> {
        Arc::clone(&self.seen().problems)
    }

    fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn open(folder: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(folder, ambient_authority())
}

fn look(folders: &[PathBuf]) -> Seen {
    let mut skills: BTreeMap<SkillName, Arc<Skill>> = BTreeMap::new();
    let mut problems = Vec::new();
    for folder in folders {
        let names = open(folder).and_then(|root| names(&root).map(|names| (Arc::new(root), names)));
        let (root, names) = match names {
            Ok(found) => found,
            Err(error) => {
                problems.push(SkillProblem { folder: folder.clone(), kind: ProblemKind::NoFolder(error.kind()) });
                continue;
            }
        };
        if !names.are_all {
            problems.push(SkillProblem { folder: folder.clone(), kind: ProblemKind::TooManyEntries });
        }
        for name in names.names {
            let place = folder.join(&name);
            if skills.len() == SKILLS_MAX {
                problems.push(SkillProblem { folder: place, kind: ProblemKind::TooMany });
                break;
            }
            match Skill::read(&root, &name, place) {
                Ok(None) => {}
                Ok(Some(skill)) => match skills.get(skill.name()) {
                    Some(first) => {
                        let kind = ProblemKind::Duplicate { first: first.folder().to_owned() };
                        problems.push(SkillProblem { folder: skill.folder().to_owned(), kind });
                    }
                    None => {
                        skills.insert(skill.name().clone(), Arc::new(skill));
                    }
                },
                Err(problem) => problems.push(problem),
            }
        }
    }
    Seen { skills, problems: problems.into_iter().map(Arc::new).collect() }
}

/// The names of the folders in a folder, in order. Files and hidden folders are not meant to be skills; a link may be.
fn names(root: &Dir) -> io::Result<Names> {
    let mut names = Vec::new();
    let mut entries = root.entries()?;
    for entry in entries.by_ref().take(ENTRIES_MAX) {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        // Not what the listing says of it: some file systems say nothing there.
        let Ok(kind) = root.symlink_metadata(&name).map(|metadata| metadata.file_type()) else { continue };
        if !name.starts_with('.') && (kind.is_dir() || kind.is_symlink()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(Names { names, are_all: entries.next().is_none() })
}

struct Names {
    names: Vec<String>,
    /// Whether the folder has no more entries than are looked at.
    are_all: bool,
}

fn changes(before: &Seen, now: &Seen) -> Changes {
    let mut changes = Changes::default();
    for (name, skill) in &now.skills {
        match before.skills.get(name) {
            None => changes.added.push(name.clone()),
            Some(old) if !old.same_as(skill) => changes.changed.push(name.clone()),
            Some(_) => {}
        }
    }
    changes.removed = before.skills.keys().filter(|name| !now.skills.contains_key(name)).cloned().collect();
    changes
}

impl fmt::Debug for Skills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.seen().skills.keys().map(SkillName::as_str)).finish()
    }
}
