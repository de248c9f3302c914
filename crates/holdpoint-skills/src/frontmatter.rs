//! The head of a `SKILL.md`: YAML between two lines of `---`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use holdpoint_config::{ConfigError, Document, Problem, YamlLimits};
use serde::Deserialize;
use thiserror::Error;

use crate::SkillName;
use crate::skill::FILE;

/// The largest head.
pub const FRONTMATTER_BYTES_MAX: usize = 16 * 1024;
/// The longest description.
pub const DESCRIPTION_CHARS_MAX: usize = 1024;
/// The longest note on compatibility.
pub const COMPATIBILITY_CHARS_MAX: usize = 500;

const LIMITS: YamlLimits = YamlLimits { max_bytes: FRONTMATTER_BYTES_MAX, max_depth: 8, max_nodes: 1000 };

/// What the head of a skill says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Frontmatter {
    /// The name of the skill's folder.
    pub name: SkillName,
    /// What it does and when to use it.
    pub description: String,
    /// Its license.
    pub license: Option<String>,
    /// What it needs.
    pub compatibility: Option<String>,
    /// Keys that the format does not have.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// The tools that its author thinks it needs, separated by blanks. A hint for people: no policy reads it.
    #[serde(default, rename = "allowed-tools")]
    pub allowed_tools: String,
}

/// What is wrong with the head of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrontmatterError {
    /// The file does not begin with `---`, or the second one is missing.
    #[error("{FILE}: the file does not begin with frontmatter between two lines of `---`")]
    Missing,
    /// Not YAML, or not the keys and values of the format.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
}

/// A file taken apart.
pub(crate) struct SkillFile<'t> {
    pub(crate) frontmatter: Frontmatter,
    pub(crate) body: &'t str,
}

pub(crate) fn parse(text: &str) -> Result<SkillFile<'_>, FrontmatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n').ok_or(FrontmatterError::Missing)?;
    if first.trim_end() != "---" {
        return Err(FrontmatterError::Missing);
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let body = rest[end + line.len()..].trim_start_matches(['\r', '\n']);
            return Ok(SkillFile { frontmatter: read(&text[..first.len() + 1 + end])?, body });
        }
        end += line.len();
    }
    Err(FrontmatterError::Missing)
}

/// `head` still has its first line, so that lines are those of the file.
fn read(head: &str) -> Result<Frontmatter, ConfigError> {
    let document = Document::yaml(head, FILE, LIMITS)?;
    let mut frontmatter: Frontmatter = document.read()?;
    let text = |key: &str, text: &str, max: usize| match text.trim() {
        text if (1..=max).contains(&text.chars().take(max + 1).count()) => Ok(text.to_owned()),
        _ => Err(document.error(Problem::at(key, format_args!("must have between 1 and {max} characters")))),
    };
    frontmatter.description = text("description", &frontmatter.description, DESCRIPTION_CHARS_MAX)?;
    if let Some(compatibility) = &mut frontmatter.compatibility {
        *compatibility = text("compatibility", compatibility, COMPATIBILITY_CHARS_MAX)?;
    }
    Ok(frontmatter)
}
