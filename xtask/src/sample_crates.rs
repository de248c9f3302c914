//! `cargo xtask sample-crates`: every Rust sample of a page compiles in a crate that has the dependencies that the page lists, and
//! no other.
//!
//! A page lists what its samples need beyond the dependencies of the README in a TOML block under `<!-- dependencies -->`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use crate::tidy::{Tree, samples};

/// The page whose dependencies every sample may use.
const README: &str = "README.md";
const DEPENDENCIES: &str = "<!-- dependencies -->";
const SAMPLE: &str = "<!-- sample: ";

/// The samples of one page, and what they may use.
struct Page {
    name: String,
    dependencies: Table,
    samples: Vec<Sample>,
}

struct Sample {
    name: String,
    code: String,
}

/// Makes a crate of each page and compiles it.
pub(crate) fn check(root: &Path) -> Result<ExitCode> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("sample-crates");
    let tree = Tree::read(root)?;
    let pages = pages(&tree, root)?;
    ensure!(!pages.is_empty(), "no page has a sample");
    write(&folder, &pages)?;
    // The versions that everything else is tested with.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    for page in &pages {
        println!("{}: {} samples", page.name, page.samples.len());
        // One at a time: together they would share the features of their dependencies.
        let status = Command::new("cargo")
            .args(["check", "--quiet", "--package", &page.name])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .status()?;
        if !status.success() {
            eprintln!("sample-crates: a sample of `{}` needs a dependency that the page does not list", page.name);
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn pages(tree: &Tree, root: &Path) -> Result<Vec<Page>> {
    let documents = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let readme = tree.files.iter().find(|file| file.path == README).context("there is no README")?;
    let common = listed(readme.text()).context(README)?;
    let mut pages = Vec::new();
    for document in documents {
        let found = rust_samples(document.text());
        if found.is_empty() {
            continue;
        }
        let mut dependencies = common.clone();
        dependencies.extend(listed(document.text()).with_context(|| document.path.clone())?);
        for (name, dependency) in &mut dependencies {
            if name.starts_with("holdpoint") {
                *dependency = beside(dependency, &root.join("crates").join(name));
            }
        }
        let sample = |path: &str| {
            let code = samples::source(tree, path).with_context(|| format!("`{path}` is not there"))?;
            let name = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            Ok(Sample { name: name.to_owned(), code })
        };
        let samples = found.into_iter().map(sample).collect::<Result<_>>()?;
        let name = document.path.trim_end_matches(".md").replace('/', "-").to_lowercase();
        pages.push(Page { name, dependencies, samples });
    }
    Ok(pages)
}

/// The dependencies of the block under the mark; none without one.
fn listed(text: &str) -> Result<Table> {
    let Some((_, rest)) = text.split_once(DEPENDENCIES) else { return Ok(Table::new()) };
    let Some(block) = rest.trim_start().strip_prefix("```toml\n").and_then(|rest| rest.split("```").next()) else {
        bail!("no TOML block follows `{DEPENDENCIES}`");
    };
    let mut table: Table = block.parse()?;
    match table.remove("dependencies") {
        Some(Value::Table(dependencies)) => Ok(dependencies),
        _ => bail!("the block under `{DEPENDENCIES}` has no `[dependencies]`"),
    }
}

/// The paths of the Rust files that a page shows.
fn rust_samples(text: &str) -> Vec<&str> {
    let marks = text.lines().filter_map(|line| line.strip_prefix(SAMPLE)?.strip_suffix(" -->"));
    marks.filter(|path| path.ends_with(".rs")).collect()
}

/// A dependency on a crate of this workspace, wherever the page says that it is.
fn beside(dependency: &Value, path: &Path) -> Value {
    let mut table = dependency.as_table().cloned().unwrap_or_default();
    table.remove("version");
    table.insert("path".to_owned(), path.display().to_string().into());
    table.into()
}

fn write(folder: &Path, pages: &[Page]) -> Result<()> {
    let mut members = Vec::new();
    for page in pages {
        let source = folder.join(&page.name).join("src/bin");
        // What an earlier run left may be no sample any more.
        if source.exists() {
            fs::remove_dir_all(&source)?;
        }
        fs::create_dir_all(&source)?;
        for sample in &page.samples {
            fs::write(source.join(format!("{}.rs", sample.name)), &sample.code)?;
        }
        let mut package = Table::new();
        package.insert("name".to_owned(), page.name.clone().into());
        package.insert("version".to_owned(), "0.0.0".into());
        package.insert("edition".to_owned(), "2024".into());
        let mut manifest = Table::new();
        manifest.insert("package".to_owned(), package.into());
        manifest.insert("dependencies".to_owned(), page.dependencies.clone().into());
        fs::write(folder.join(&page.name).join("Cargo.toml"), manifest.to_string())?;
        members.push(Value::from(page.name.clone()));
    }
    let mut workspace = Table::new();
    workspace.insert("members".to_owned(), members.into());
    workspace.insert("resolver".to_owned(), "3".into());
    let mut manifest = Table::new();
    manifest.insert("workspace".to_owned(), workspace.into());
    fs::write(folder.join("Cargo.toml"), manifest.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests;
