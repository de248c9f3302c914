//! The three tools.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use holdpoint_core::{Block, Repeat, ToolResult};
use holdpoint_tools::{IntoToolResult, Json, MadeTool, Tool, ToolError, blocking_tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::folder::{self, ReadError};
use crate::skill::Content;
use crate::{FILE_BYTES_MAX, Frontmatter, Skill, SkillPath, Skills};

/// Lists the skills. With `_`, because a `.` that a model writes finds `_`, and not the other way round.
pub const LIST: &str = "skills_list";
/// Reads a skill.
pub const LOAD: &str = "skills_load";
/// Reads a file of a skill.
pub const READ_FILE: &str = "skills_read_file";

/// The most names in an answer about a skill that is not there.
const NAMES_SHOWN_MAX: usize = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Load {
    /// The name of the skill, as the list shows it.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    /// The name of the skill, as the list shows it.
    name: String,
    /// The path of the file inside the skill's folder, such as `references/forms.md`.
    path: String,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    compatibility: Option<&'a str>,
}

impl Skills {
    /// `skills_list`, `skills_load` and `skills_read_file`. They only read, so they may run beside others and again.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let (list, load, read) = (self.clone(), self.clone(), self.clone());
        let list = blocking_tool(
            LIST,
            "Lists the skills: instructions for special tasks. Look here before you begin a task, and load what fits.",
            move || list.listed(),
        );
        let load = blocking_tool(
            LOAD,
            "Reads the instructions of a skill and the list of its files.",
            move |arguments: Load| load.loaded(&arguments),
        );
        let read = blocking_tool(
            READ_FILE,
            "Reads a file of a skill. The path is relative to the skill's folder.",
            move |arguments: ReadFile| read.file(&arguments),
        );
        [list, load, read].map(|tool| Arc::new(marked(tool)) as Arc<dyn Tool>).into()
    }

    fn listed(&self) -> Result<ToolResult, ToolError> {
        self.reload();
        let skills = self.skills();
        let listed: Vec<Listed<'_>> = skills.iter().map(|skill| Listed::of(skill)).collect();
        Json(listed).into_tool_result()
    }

    fn loaded(&self, arguments: &Load) -> ToolResult {
        let Some(skill) = self.find(&arguments.name) else { return self.no_such_skill() };
        match skill.content() {
            Ok(content) => ToolResult::from_blocks(content.blocks()),
            Err(problem) => {
                tracing::warn!(skill = %skill.name(), %problem, "a skill cannot be loaded any more");
                ToolResult::error(format!("The skill `{}` cannot be loaded at the moment.", skill.name()))
            }
        }
    }

    fn file(&self, arguments: &ReadFile) -> ToolResult {
        let Some(skill) = self.find(&arguments.name) else { return self.no_such_skill() };
        let path = match SkillPath::parse(&arguments.path) {
            Ok(path) => path,
            Err(error) => {
                let name = skill.name();
                tracing::warn!(skill = %name, reason = %error, "a path that is not inside the skill was asked for");
                return ToolResult::error(format!(
                    "This file cannot be read: {error}. Use a path that `{LOAD}` lists."
                ));
            }
        };
        match skill.open().and_then(|folder| folder::read(&folder, &path, FILE_BYTES_MAX)) {
            Ok(bytes) => ToolResult::from_blocks(vec![crate::media::block(bytes)]),
            Err(error) => ToolResult::error(match error {
                ReadError::NotThere => format!("There is no such file in the skill. Use a path that `{LOAD}` lists."),
                ReadError::NotAFile => "This is not a file.".to_owned(),
                ReadError::TooLarge => format!("The file is larger than {FILE_BYTES_MAX} bytes."),
                ReadError::Failed(error) => {
                    tracing::warn!(skill = %skill.name(), kind = %error.kind(), "a file of a skill cannot be read");
                    "The file cannot be read.".to_owned()
                }
            }),
        }
    }

    fn no_such_skill(&self) -> ToolResult {
        let skills = self.skills();
        let names: Vec<&str> = skills.iter().take(NAMES_SHOWN_MAX).map(|skill| skill.name().as_str()).collect();
        ToolResult::error(match names.as_slice() {
            [] => "There are no skills.".to_owned(),
            names => format!("There is no such skill. There are: {}.", names.join(", ")),
        })
    }
}

fn marked(tool: MadeTool) -> MadeTool {
    tool.source("skills").repeat(Repeat::Safe).parallelizable(true)
}

impl<'a> Listed<'a> {
    fn of(skill: &'a Skill) -> Self {
        let Frontmatter { name, description, compatibility, .. } = skill.frontmatter();
        Self { name: name.as_str(), description, compatibility: compatibility.as_deref() }
    }
}

impl Content {
    fn blocks(self) -> Vec<Block> {
        let mut blocks = vec![Block::text(self.body)];
        if !self.files.is_empty() {
            let mut list = format!("Files of this skill, for `{READ_FILE}`:");
            for file in &self.files {
                list.push_str("\n- ");
                list.push_str(file);
            }
            if self.truncated {
                list.push_str("\n(there are more)");
            }
            blocks.push(Block::text(list));
        }
        blocks
    }
}
