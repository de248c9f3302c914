//! Paused runs as payloads for the application's own storage.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::continuation::{self, Traces};
use holdpoint_codec::tasks;

use super::found::read_payload;
use crate::{Continuation, Error, Runner};

/// What of a continuation is exported.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Those of the run's settings when absent.
    context_keys: Option<BTreeSet<Arc<str>>>,
    traces: Traces,
}

impl ExportOptions {
    /// Exports these context attributes in place of those that the run's settings name.
    #[must_use]
    pub fn context_keys<'a>(mut self, keys: impl IntoIterator<Item = &'a str>) -> Self {
        self.context_keys = Some(keys.into_iter().map(Arc::from).collect());
        self
    }

    /// Whether records of calls are exported as traces.
    #[must_use]
    pub fn traces(mut self, traces: Traces) -> Self {
        self.traces = traces;
        self
    }

    fn keys<'a>(&'a self, continuation: &'a Continuation) -> &'a BTreeSet<Arc<str>> {
        self.context_keys.as_ref().unwrap_or(&continuation.run().settings().context_keys)
    }
}

impl Runner {
    /// A continuation as a payload for your own storage, signed when a key is configured.
    ///
    /// # Errors
    /// When a context value is too large.
    pub fn export(&self, continuation: &Continuation, options: &ExportOptions) -> Result<String, Error> {
        let options = continuation::DumpOptions {
            context: Some(continuation.context()),
            context_keys: Some(options.keys(continuation)),
            traces: options.traces,
            key: self.parts.signing_key.as_ref(),
            extra: Some(continuation.extra()),
        };
        Ok(continuation::dump(continuation.run(), &options)?)
    }

    /// The calls that a continuation waits for, as tasks for your own scheduler. They hold raw arguments: sensitive.
    ///
    /// # Errors
    /// When the run does not wait for results, or a context value is too large.
    pub fn export_tasks(&self, continuation: &Continuation, options: &ExportOptions) -> Result<String, Error> {
        let options = tasks::DumpOptions {
            context: Some(continuation.context()),
            context_keys: Some(options.keys(continuation)),
            key: self.parts.signing_key.as_ref(),
            receipts: self.parts.receipts(self.parts.store.runs.now()),
        };
        Ok(tasks::dump(continuation.run(), &options)?)
    }

    /// Reads a payload back, as far as that is possible without the store: size, version, shape and signature are checked, and
    /// nothing is resumed.
    ///
    /// # Errors
    /// When the payload is not accepted.
    pub fn read(&self, payload: &str) -> Result<Continuation, Error> {
        Ok(Continuation::loaded(read_payload(&self.parts, payload)?))
    }
}
