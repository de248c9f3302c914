//! Documents hold together: links lead somewhere, what is said to be in a file is in it, and the map of the code names
//! every crate.

use super::tree::File;
use super::{Problem, Tree};

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems: Vec<Problem> = tree.ending(".md").flat_map(|file| check_file(tree, file)).collect();
    let map = tree.text(MAP).unwrap_or_default();
    for manifest in &tree.manifests {
        if !map.contains(&format!("`{}`", manifest.name)) {
            problems.push(Problem::new(MAP, 1, format!("`{}` is not mentioned", manifest.name)));
        }
    }
    problems
}

fn check_file(tree: &Tree, file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in prose(file) {
        for target in targets(line) {
            if let Err(message) = follow(tree, file, target) {
                problems.push(Problem::new(&file.path, number, message));
            }
        }
        for (name, target) in placed(line) {
            if !is_there(tree, file, name, target) {
                problems.push(Problem::new(&file.path, number, format!("there is no `{name}` in `{target}`")));
            }
        }
    }
    problems
}

fn follow(tree: &Tree, from: &File, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { Some(from.path.clone()) } else { resolve(&from.path, path) };
    let Some(path) = path.filter(|path| tree.holds(path)) else {
        return Err(format!("the link to `{target}` leads nowhere"));
    };
    let to = tree.files.iter().find(|file| file.path == path && path.ends_with(".md"));
    match to {
        Some(to) if !anchor.is_empty() && !prose(to).any(|(_, line)| slug(line).as_deref() == Some(anchor)) => {
            Err(format!("`{path}` has no heading `#{anchor}`"))
        }
        Some(_) | None => Ok(()),
    }
}

/// The path from the root that a link in a file means; nothing if it leaves the project.
fn resolve(from: &str, path: &str) -> Option<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The lines outside of code blocks.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.lines().filter_map(move |(number, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((number, line))
    })
}

/// Where the links of a line lead.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, mark)| {
        // An odd number of backticks before it: the link stands inside inline code.
        if line[..at].matches('`').count() % 2 == 1 {
            return None;
        }
        let rest = &line[at + mark.len()..];
        Some(rest[..rest.find(')')?].trim())
    })
}

/// Names that a line places into a file, as in "`name` in [`file.rs`](file.rs)".
fn placed(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for (at, mark) in line.match_indices("](") {
        let rest = &line[at + mark.len()..];
        let (Some(open), Some(close)) = (line[..at].rfind('['), rest.find(')')) else { continue };
        let Some(before) = line[..open].strip_suffix(" in ") else { continue };
        let near = before.rsplit(['|', ';', '.', '(']).next().unwrap_or(before);
        let names =
            near.split('`').skip(1).step_by(2).filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        found.extend(names.map(|name| (name, &rest[..close])));
    }
    found
}

/// Whether a Rust file has a name. What is no Rust file is not looked into.
fn is_there(tree: &Tree, from: &File, name: &str, target: &str) -> bool {
    let path = resolve(&from.path, target);
    let code = tree.files.iter().find(|file| Some(&file.path) == path.as_ref()).and_then(|file| file.code.as_ref());
    code.is_none_or(|code| code.words.iter().any(|(word, _)| word == name))
}

/// The anchor of a heading.
fn slug(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?.trim().to_lowercase();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
}

#[cfg(test)]
mod tests;
