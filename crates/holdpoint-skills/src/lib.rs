//! Agent Skills: folders with a `SKILL.md`, offered to a model by three tools.
//!
//! [`Skills::open`] reads one or more folders; each folder in them that has a `SKILL.md` is a skill. A skill that is not
//! well formed is reported ([`Skills::problems`]) and left out; the others are not affected. [`Skills::tools`] gives
//! `skills_list`, `skills_load` and `skills_read_file`; a model may write `skills.list` as well.
//!
//! Nothing outside a skill's own folder can be read through them: names are checked before anything is opened, every
//! folder is opened relative to the handle of the one above it, and links are never followed, so that nobody can swap a
//! folder for a link between the check and the reading.

mod folder;
mod frontmatter;
mod media;
mod name;
mod path;
mod shelf;
mod skill;
mod tools;

pub use folder::{FILE_BYTES_MAX, FILES_LISTED_MAX, FOLDER_DEPTH_MAX};
pub use frontmatter::{
    COMPATIBILITY_CHARS_MAX, DESCRIPTION_CHARS_MAX, FRONTMATTER_BYTES_MAX, Frontmatter, FrontmatterError,
};
pub use name::{NAME_BYTES_MAX, NameError, SkillName};
pub use path::{PATH_BYTES_MAX, PATH_PARTS_MAX, PathError, SkillPath};
pub use shelf::{Changes, SKILLS_MAX, Skills, SkillsError};
pub use skill::{ProblemKind, Skill, SkillProblem};
pub use tools::{LIST, LOAD, READ_FILE};
