//! Which rules are about a tool, without looking at the others.

use std::borrow::Cow;
use std::collections::HashMap;

use globset::{Glob, GlobSet, GlobSetBuilder};
use holdpoint_config::Problem;

/// The rules by the names and globs that they are about.
pub(super) struct Index {
    /// The rules that name a tool, in order.
    exact: HashMap<Box<str>, Vec<u32>>,
    /// Every other glob once.
    globs: GlobSet,
    /// The rules of each of those, in order.
    rules: Vec<Vec<u32>>,
}

impl Index {
    /// `tools` are the globs of all rules, in order.
    pub(super) fn new<'t>(tools: impl Iterator<Item = &'t ToolPattern>) -> Result<Self, Problem> {
        let (mut exact, mut places) = (HashMap::<Box<str>, Vec<u32>>::new(), HashMap::<&str, usize>::new());
        let (mut builder, mut rules) = (GlobSetBuilder::new(), Vec::<Vec<u32>>::new());
        for (number, tool) in (0_u32..).zip(tools) {
            if let Shape::Names(names) = &tool.shape {
                for name in names {
                    exact.entry(name.clone()).or_default().push(number);
                }
                continue;
            }
            let place = *places.entry(tool.glob.glob()).or_insert_with(|| {
                builder.add(tool.glob.clone());
                rules.push(Vec::new());
                rules.len() - 1
            });
            rules[place].push(number);
        }
        let too_large = |_| Problem::new("have globs that cannot be searched together");
        Ok(Self { exact, globs: builder.build().map_err(too_large)?, rules })
    }

    /// The rules that are about a tool, in order.
    pub(super) fn about(&self, tool: &str) -> Cow<'_, [u32]> {
        let exact = self.exact.get(tool).map_or(&[][..], Vec::as_slice);
        let globs = self.globs.matches(tool);
        match (exact, &*globs) {
            (exact, []) => Cow::Borrowed(exact),
            ([], [only]) => Cow::Borrowed(&self.rules[*only]),
            (exact, globs) => {
                let mut about = exact.to_vec();
                for place in globs {
                    about.extend_from_slice(&self.rules[*place]);
                }
                about.sort_unstable();
                about.dedup();
                Cow::Owned(about)
            }
        }
    }
}

/// What a rule's `tool` means.
pub(super) struct ToolPattern {
    pub(super) glob: Glob,
    shape: Shape,
}

enum Shape {
    /// These names and no others.
    Names(Vec<Box<str>>),
    /// Every name that begins so.
    Starting(Box<str>),
    /// Every name that ends so.
    Ending(Box<str>),
    Other,
}

/// The letters that mean something in a glob.
const META: &[char] = &['*', '?', '[', ']', '{', '}', '\\', '!', ','];

impl ToolPattern {
    pub(super) fn parse(tool: &str) -> Result<Self, Problem> {
        let problem = || Problem::at("tool", "is not a glob on tool names");
        if tool.is_empty() {
            return Err(problem());
        }
        let glob = Glob::new(tool).map_err(|_| problem())?;
        Ok(Self { shape: Shape::of(tool), glob })
    }

    pub(super) fn text(&self) -> &str {
        self.glob.glob()
    }

    /// The names, if it is plainly a list of them.
    pub(super) fn names(&self) -> Option<&[Box<str>]> {
        match &self.shape {
            Shape::Names(names) => Some(names),
            Shape::Starting(_) | Shape::Ending(_) | Shape::Other => None,
        }
    }

    pub(super) fn matches(&self, tool: &str) -> bool {
        match &self.shape {
            Shape::Names(names) => names.iter().any(|name| **name == *tool),
            Shape::Starting(start) => tool.starts_with(&**start),
            Shape::Ending(end) => tool.ends_with(&**end),
            Shape::Other => self.glob.compile_matcher().is_match(tool),
        }
    }

    /// Whether it plainly matches every name that the other matches.
    pub(super) fn covers(&self, narrow: &Self) -> bool {
        if let Some(names) = narrow.names() {
            return names.iter().all(|name| self.matches(name));
        }
        let text = narrow.text();
        match &self.shape {
            Shape::Names(_) => false,
            Shape::Starting(start) => text[..text.find(META).unwrap_or(text.len())].starts_with(&**start),
            Shape::Ending(end) => text[text.rfind(META).map_or(0, |at| at + 1)..].ends_with(&**end),
            Shape::Other => self.text() == text,
        }
    }
}

impl Shape {
    fn of(tool: &str) -> Self {
        if !tool.contains(META) {
            return Shape::Names(vec![tool.into()]);
        }
        if let Some(start) = tool.strip_suffix('*').filter(|start| !start.contains(META)) {
            return Shape::Starting(start.into());
        }
        if let Some(end) = tool.strip_prefix('*').filter(|end| !end.contains(META)) {
            return Shape::Ending(end.into());
        }
        alternatives(tool).map_or(Shape::Other, Shape::Names)
    }
}

/// The names of a glob with one list of alternatives and nothing else that means something.
fn alternatives(tool: &str) -> Option<Vec<Box<str>>> {
    let (before, rest) = tool.split_once('{')?;
    let (inside, after) = rest.split_once('}')?;
    let plain = |part: &str| !part.contains(META);
    let parts: Vec<&str> = inside.split(',').collect();
    if !plain(before) || !plain(after) || parts.iter().any(|part| part.is_empty() || !plain(part)) {
        return None;
    }
    let mut names: Vec<Box<str>> = parts.into_iter().map(|part| format!("{before}{part}{after}").into()).collect();
    names.sort();
    names.dedup();
    Some(names)
}
