//! What makes two calls equal.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use holdpoint_codec::{Context, canonical_value};
use holdpoint_core::{Digest, ToolName};
use serde_json::{Map, Value};

use crate::AroundCall;

/// Two calls with equal keys have the same answer. The digest stands for the registered name and the canonical arguments.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    tool: ToolName,
    version: Option<Arc<str>>,
    arguments: Digest,
    tenant: Option<Arc<str>>,
    context: Option<Box<str>>,
    epoch: u64,
}

/// What a result depends on beside tool and arguments.
#[derive(Clone, Debug, Default)]
pub(super) enum Keying {
    /// The tenant and every attribute of the context.
    #[default]
    Everything,
    /// The tenant and these attributes.
    Attributes(BTreeSet<Arc<str>>),
    /// Nothing.
    Shared,
}

impl Keying {
    pub(super) fn key(&self, call: &AroundCall, epoch: u64) -> Key {
        let (definition, context) = (call.definition(), call.call().context());
        let tenant = context.actor().tenant.clone();
        let (tenant, context) = match self {
            Keying::Shared => (None, None),
            Keying::Everything => (tenant, text(context.attributes().clone())),
            Keying::Attributes(names) => (tenant, text(listed(context, names))),
        };
        Key {
            tool: definition.name.clone(),
            version: definition.metadata.version.clone(),
            arguments: call.call().arguments().digest(),
            tenant,
            context,
            epoch,
        }
    }
}

fn listed(context: &Context, names: &BTreeSet<Arc<str>>) -> Map<String, Value> {
    names.iter().filter_map(|name| Some((name.to_string(), context.attribute(name)?.clone()))).collect()
}

fn text(attributes: Map<String, Value>) -> Option<Box<str>> {
    (!attributes.is_empty()).then(|| canonical_value(&Value::Object(attributes)).into())
}

/// Counts how often results were forgotten. It is part of each key, so that a call which began before is not found after.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    all: AtomicU64,
    tools: RwLock<HashMap<Box<str>, u64>>,
}

impl Epochs {
    pub(super) fn of(&self, tool: &str) -> u64 {
        let own = self.tools.read().unwrap_or_else(PoisonError::into_inner).get(tool).copied();
        self.all.load(Ordering::Acquire) + own.unwrap_or(0)
    }

    pub(super) fn ended(&self, tool: &str) {
        *self.tools.write().unwrap_or_else(PoisonError::into_inner).entry(tool.into()).or_default() += 1;
    }

    pub(super) fn all_ended(&self) {
        self.all.fetch_add(1, Ordering::AcqRel);
    }
}
