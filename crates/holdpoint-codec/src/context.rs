//! What an application says about the surroundings of a run: who, and whatever tools and policies need to know.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use holdpoint_core::{Actor, Attributes, JsonText, Limits, RunId};
use serde_json::{Map, Value};

use crate::{CodecError, canonical_value};

#[cfg(test)]
mod tests;

/// Reaches filter, authorize, tools and hooks. Only allowlisted attributes are ever stored. `Debug` shows only names.
#[derive(Clone, Default, PartialEq)]
pub struct Context {
    run_id: Option<RunId>,
    attributes: Map<String, Value>,
    actor: Actor,
}

impl Context {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute, or replaces the one of that name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Says who acts.
    #[must_use]
    pub fn by(mut self, actor: Actor) -> Self {
        self.actor = actor;
        self
    }

    /// Says which run it is about.
    #[must_use]
    pub fn with_run_id(mut self, run_id: RunId) -> Self {
        self.run_id = Some(run_id);
        self
    }

    /// One attribute.
    pub fn attribute(&self, name: &str) -> Option<&Value> {
        self.attributes.get(name)
    }

    /// All attributes.
    pub fn attributes(&self) -> &Map<String, Value> {
        &self.attributes
    }

    /// The run it is about, once there is one.
    pub fn run_id(&self) -> Option<&RunId> {
        self.run_id.as_ref()
    }

    /// Who acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Both together: what `over` says replaces what this one says of the same name, the rest stays.
    #[must_use]
    pub fn merged(&self, over: &Context) -> Context {
        let mut merged = self.clone();
        merged.attributes.extend(over.attributes.iter().map(|(name, value)| (name.clone(), value.clone())));
        if over.run_id.is_some() {
            merged.run_id.clone_from(&over.run_id);
        }
        if over.actor != Actor::default() {
            merged.actor = over.actor.clone();
        }
        merged
    }

    /// The attributes that may be stored; listed ones that are absent are skipped.
    ///
    /// # Errors
    /// When a listed value is too large.
    pub fn stored(&self, keys: &BTreeSet<Arc<str>>) -> Result<Attributes, CodecError> {
        let listed = keys.iter().filter_map(|key| Some((key, self.attributes.get(&**key)?)));
        let stored = listed.map(|(key, value)| {
            let text = canonical_value(value);
            check_len(key, text.len())?;
            Ok((Arc::clone(key), JsonText::new(text)))
        });
        stored.collect()
    }

    /// A context with the attributes that were stored.
    pub fn from_stored(stored: &Attributes) -> Context {
        // Whatever the codec stored reads back; the text itself stands in for anything else.
        let value = |text: &JsonText| serde_json::from_str(text.expose()).unwrap_or_else(|_| text.expose().into());
        let attributes = stored.iter().map(|(name, text)| (name.to_string(), value(text))).collect();
        Context { attributes, ..Context::default() }
    }
}

pub(crate) fn check_len(name: &str, len_bytes: usize) -> Result<(), CodecError> {
    let max_bytes = Limits::CONTEXT_VALUE_BYTES_MAX;
    if len_bytes > max_bytes {
        return Err(CodecError::ContextValueTooLarge { name: name.to_owned(), len_bytes, max_bytes });
    }
    Ok(())
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.attributes.keys().collect();
        let mut shown = f.debug_struct("Context");
        shown.field("run_id", &self.run_id).field("actor", &self.actor.id).field("attributes", &names).finish()
    }
}
