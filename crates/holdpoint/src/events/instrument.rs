//! What operators see of a run: named happenings with safe fields, as `tracing` events and to a sink of your own.
//!
//! Raw arguments and results never appear here, only summaries: argument names and sizes (I8).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Map, Value};

/// One happening.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Happening {
    /// Such as `holdpoint.pause`.
    pub name: &'static str,
    /// Its fields.
    pub fields: Map<String, Value>,
}

/// Takes happenings. One that panics never breaks or masks a run.
pub type InstrumentSink = Arc<dyn Fn(&Happening) + Send + Sync>;

/// Where happenings go.
#[derive(Clone, Default)]
pub(crate) struct Instruments {
    pub(crate) sink: Option<InstrumentSink>,
}

impl Instruments {
    pub(crate) fn listens(&self) -> bool {
        self.sink.is_some() || tracing::enabled!(target: "holdpoint", tracing::Level::INFO)
    }

    /// Reports a happening. A sink that panics is logged and disturbs nothing.
    pub(crate) fn note(&self, happening: &Happening) {
        let name = happening.name;
        tracing::info!(target: "holdpoint", happening = name, fields = %Fields(&happening.fields));
        let Some(sink) = &self.sink else { return };
        if catch_unwind(AssertUnwindSafe(|| sink(happening))).is_err() {
            tracing::error!(target: "holdpoint", happening = name, "the instrument sink panicked; the run goes on");
        }
    }
}

struct Fields<'a>(&'a Map<String, Value>);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (name, value)) in self.0.iter().enumerate() {
            let space = if position == 0 { "" } else { " " };
            write!(f, "{space}{name}={value}")?;
        }
        Ok(())
    }
}

/// Builds the fields of a happening.
macro_rules! fields {
    ($($name:ident: $value:expr),* $(,)?) => {{
        let mut fields = serde_json::Map::new();
        $(fields.insert(stringify!($name).to_owned(), serde_json::json!($value));)*
        fields
    }};
}
pub(crate) use fields;
