//! `cargo xtask facade`: whatever a public signature of `holdpoint` names can be named through `holdpoint`.
//!
//! The signatures come from rustdoc's JSON, which a stable rustdoc writes only when it is told that it may: this program
//! stands in for `rustdoc` and tells it so. Cargo and the build scripts of dependencies never see that setting, so nothing is
//! built again because of it. Items with `#[doc(hidden)]` are no public API and are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The crate that users depend on.
const FACADE: &str = "holdpoint";
/// Set for the `rustdoc` that Cargo starts, which is this program.
const AS_RUSTDOC: &str = "XTASK_AS_RUSTDOC";

/// A type, trait, function or constant: its crate, and its name there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    library: String,
    name: String,
}

/// Documents the workspace and checks the facade.
pub(crate) fn check(root: &Path) -> Result<ExitCode> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    document(root)?;
    let documents = Documents { folder: target.join("doc"), read: BTreeMap::new() };
    let problems = problems(documents)?;
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => Ok(ExitCode::SUCCESS),
        count => {
            eprintln!("facade: {count} problems");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Whether Cargo started this program in the place of `rustdoc`.
pub(crate) fn is_rustdoc() -> bool {
    std::env::var_os(AS_RUSTDOC).is_some()
}

/// Runs the real `rustdoc` and lets it use what is not stable.
pub(crate) fn rustdoc() -> Result<ExitCode> {
    let status = Command::new("rustdoc").args(std::env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1").status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn document(root: &Path) -> Result<()> {
    // With the features of all other steps, so that no dependency is built again.
    let status = Command::new("cargo")
        .args(["doc", "--quiet", "--workspace", "--no-deps", "--lib", "--all-features"])
        .current_dir(root)
        .env("RUSTDOC", std::env::current_exe()?)
        .env(AS_RUSTDOC, "1")
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json")
        .status()?;
    ensure!(status.success(), "rustdoc failed");
    Ok(())
}

/// The documentation of each crate, read when it is needed.
struct Documents {
    folder: std::path::PathBuf,
    read: BTreeMap<String, Value>,
}

impl Documents {
    fn of(&mut self, library: &str) -> Result<&Value> {
        if !self.read.contains_key(library) {
            let path = self.folder.join(format!("{library}.json"));
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            self.read.insert(library.to_owned(), serde_json::from_str(&text)?);
        }
        Ok(&self.read[library])
    }
}

fn problems(mut documents: Documents) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let exported = exported(documents.of(FACADE)?, &mut problems)?;
    let mut missing: BTreeMap<Item, BTreeSet<String>> = BTreeMap::new();
    for item in &exported {
        let document = documents.of(&item.library)?;
        let mut signatures = Signatures { document, named: BTreeSet::new(), exported: &exported };
        signatures.read_item(item)?;
        for named in signatures.named {
            missing.entry(named).or_default().insert(item.name.clone());
        }
    }
    problems.extend(missing.into_iter().map(|(Item { library, name }, by)| {
        let by: Vec<String> = by.into_iter().collect();
        format!("`{library}::{name}` is named by {}, and `{FACADE}` does not export it", by.join(", "))
    }));
    Ok(problems)
}

/// What the facade has: its own items, and those of other crates one by one.
fn exported(document: &Value, problems: &mut Vec<String>) -> Result<BTreeSet<Item>> {
    let mut exported = BTreeSet::new();
    let mut modules = vec![document["root"].clone()];
    while let Some(module) = modules.pop() {
        for id in ids(&item(document, &module)["inner"]["module"]["items"]) {
            let item = item(document, &id);
            let inner = &item["inner"];
            if inner.get("module").is_some() {
                modules.push(id);
            } else if let Some(import) = inner.get("use") {
                let path = &document["paths"][key(&import["id"])];
                let source = import["source"].as_str().unwrap_or_default();
                if import["is_glob"] == true || path["kind"] == "module" || import["id"].is_null() {
                    problems.push(format!("`{FACADE}` exports all of `{source}`: list what users need"));
                } else if let Some(item) = referred(document, &import["id"]) {
                    exported.insert(item);
                }
            } else {
                let name = item["name"].as_str().context("an item without a name")?;
                exported.insert(Item { library: FACADE.to_owned(), name: name.to_owned() });
            }
        }
    }
    if exported.is_empty() {
        bail!("the documentation of `{FACADE}` has no items");
    }
    Ok(exported)
}

/// What the signatures of one crate's items name.
struct Signatures<'a> {
    document: &'a Value,
    named: BTreeSet<Item>,
    exported: &'a BTreeSet<Item>,
}

impl Signatures<'_> {
    fn read_item(&mut self, wanted: &Item) -> Result<()> {
        let index = self.document["index"].as_object().context("documentation without an index")?;
        let is_wanted = |(id, item): &(&String, &Value)| {
            item["name"] == *wanted.name
                && item["crate_id"] == 0
                && ["struct", "enum", "trait", "function", "type_alias", "constant", "static", "macro"]
                    .iter()
                    .any(|kind| item["inner"].get(kind).is_some())
                && self.document["paths"].get(id.as_str()).is_some()
        };
        let found: Vec<String> = index.iter().filter(is_wanted).map(|(id, _)| id.clone()).collect();
        ensure!(!found.is_empty(), "`{}::{}` is not in the documentation", wanted.library, wanted.name);
        found.iter().for_each(|id| self.read(id));
        Ok(())
    }

    /// Reads an item and those that belong to it: fields, variants, methods.
    fn read(&mut self, id: &str) {
        let document = self.document;
        let Some((kind, inner)) = document["index"][id]["inner"].as_object().and_then(|inner| inner.iter().next())
        else {
            return;
        };
        match kind.as_str() {
            "impl" => {
                let is_foreign = inner["is_synthetic"] == true || !inner["blanket_impl"].is_null();
                let of = referred(document, &inner["trait"]["id"]);
                // Nobody outside can name the trait, or use what it gives.
                if is_foreign || of.is_some_and(|of| is_ours(&of) && !self.exported.contains(&of)) {
                    return;
                }
                self.note(&inner["trait"]);
                self.read_all(&inner["items"]);
            }
            "struct" | "enum" | "union" => {
                self.note(&inner["generics"]);
                self.read_all(&inner["kind"]["plain"]["fields"]);
                self.read_all(&inner["kind"]["tuple"]);
                self.read_all(&inner["variants"]);
                self.read_all(&inner["impls"]);
            }
            "variant" => {
                self.read_all(&inner["kind"]["tuple"]);
                self.read_all(&inner["kind"]["struct"]["fields"]);
            }
            "trait" => {
                self.note(&inner["generics"]);
                self.note(&inner["bounds"]);
                self.read_all(&inner["items"]);
            }
            _ => self.note(inner),
        }
    }

    fn read_all(&mut self, of: &Value) {
        ids(of).iter().for_each(|id| self.read(&key(id)));
    }

    /// Notes every path in a signature that the facade does not export.
    fn note(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                if fields.contains_key("path")
                    && let Some(item) = fields.get("id").and_then(|id| referred(self.document, id))
                    && is_ours(&item)
                    && !self.exported.contains(&item)
                {
                    self.named.insert(item);
                }
                fields.values().for_each(|value| self.note(value));
            }
            Value::Array(values) => values.iter().for_each(|value| self.note(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn is_ours(item: &Item) -> bool {
    item.library.starts_with(FACADE)
}

/// The item that an id stands for, by the crate that has it.
fn referred(document: &Value, id: &Value) -> Option<Item> {
    let path = document["paths"].get(key(id))?["path"].as_array()?;
    let part = |part: Option<&Value>| part.and_then(Value::as_str).map(str::to_owned);
    Some(Item { library: part(path.first())?, name: part(path.last())? })
}

fn item<'a>(document: &'a Value, id: &Value) -> &'a Value {
    &document["index"][key(id)]
}

fn ids(of: &Value) -> Vec<Value> {
    of.as_array().into_iter().flatten().filter(|id| !id.is_null()).cloned().collect()
}

/// Ids are numbers, and keys of objects are texts.
fn key(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}
