//! A table of any kind.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use holdpoint_tools::Tool;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::keys::{KnownKey, fields_of, nearest};
use super::{SpecError, Surroundings};
use crate::{CommandToolSpec, HttpToolSpec, WorkerToolSpec};

const KIND: &str = "kind";
const KINDS: [&str; 3] = ["http", "command", "worker"];

/// The table of a tool, chosen by its `kind`.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolSpec {
    /// `kind = "http"`.
    Http(HttpToolSpec),
    /// `kind = "command"`.
    Command(CommandToolSpec),
    /// `kind = "worker"`.
    Worker(WorkerToolSpec),
}

impl ToolSpec {
    /// Makes the tool, as seen from this process.
    ///
    /// # Errors
    /// When a key has a value that cannot be.
    pub fn build(&self, name: &str) -> Result<Arc<dyn Tool>, SpecError> {
        self.build_in(name, &Surroundings::default())
    }

    /// Makes the tool in these surroundings.
    ///
    /// # Errors
    /// When a key has a value that cannot be.
    pub fn build_in(&self, name: &str, surroundings: &Surroundings) -> Result<Arc<dyn Tool>, SpecError> {
        match self {
            ToolSpec::Http(spec) => spec.build_in(name, surroundings),
            ToolSpec::Command(spec) => spec.build_in(name, surroundings),
            ToolSpec::Worker(spec) => spec.build_in(name, surroundings),
        }
    }
}

impl<'de> Deserialize<'de> for ToolSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kinds = [fields_of::<HttpToolSpec>(), fields_of::<CommandToolSpec>(), fields_of::<WorkerToolSpec>()];
        let mut fields: Vec<&'static str> = kinds.concat();
        fields.push(KIND);
        fields.sort_unstable();
        fields.dedup();
        let mut map = deserializer.deserialize_map(Entries { fields })?;
        let kind = map.remove(KIND).ok_or_else(|| D::Error::missing_field(KIND))?;
        let kind = kind.as_str().map(str::to_owned).ok_or_else(|| D::Error::custom("`kind` must be a text"))?;
        match kind.as_str() {
            "http" => of_kind(&kind, map).map(ToolSpec::Http),
            "command" => of_kind(&kind, map).map(ToolSpec::Command),
            "worker" => of_kind(&kind, map).map(ToolSpec::Worker),
            other => Err(D::Error::custom(match nearest(other, KINDS) {
                Some(word) => format!("unknown kind `{other}`; hint: did you mean `{word}`?"),
                None => format!("unknown kind `{other}`; hint: known are `http`, `command`, `worker`"),
            })),
        }
    }
}

fn of_kind<T: serde::de::DeserializeOwned, E: Error>(kind: &str, map: Map<String, Value>) -> Result<T, E> {
    if let Some(key) = map.keys().find(|key| !fields_of::<T>().contains(&key.as_str())) {
        return Err(E::custom(format!("`{key}` is not a key of tools of kind `{kind}`")));
    }
    T::deserialize(Value::Object(map)).map_err(E::custom)
}

/// Reads the entries of a table, and refuses what no kind knows while it is at the key.
struct Entries {
    fields: Vec<&'static str>,
}

impl<'de> Visitor<'de> for Entries {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the table of a tool")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Map::new();
        let key = || KnownKey { seed: PhantomData::<String>, fields: &self.fields };
        while let Some(key) = map.next_key_seed(key())? {
            entries.insert(key, map.next_value()?);
        }
        Ok(entries)
    }
}
