//! The types that stand between the core's and every JSON text.
//!
//! Everything that a payload signs is declared in the order of its names, so that what is written once is canonical.
//! Reading ends in the core's own types; a [`Fault`] names the field that does not fit.

use serde::{Deserialize, Serialize};

mod adapt;
mod decision;
mod message;
mod names;
mod pending;
mod result;
mod scalar;
#[cfg(feature = "openapi")]
mod schema;
mod state;

pub(crate) use adapt::{Stored, Usual, remote, stored};
pub use decision::{ActorWire, DecisionWire, Verdict};
pub use message::{MessageCallWire, MessageWire, ProviderStateWire};
pub use names::{
    CodeName, DoubtCauseName, FailureName, Name, OutcomeName, PauseReasonName, QuestionKindName, RoleName, SaidName,
    SourceName, StageName, VerdictName,
};
pub(crate) use pending::nullable;
pub use pending::{PendingWire, ShownAnswer, ShownAsk, ShownDoubt, ShownEvidence};
pub(crate) use result::kind_core;
pub use result::{BlobWire, BlockWire};
pub use scalar::{DigestText, Json, Members, Moment, Text};

const MISFIT: &str = "does not fit at `";

/// The path of a field that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) String);

impl Fault {
    pub(crate) fn at(field: impl Into<String>) -> Self {
        Self(field.into())
    }

    /// As one of serde's errors: [`Fault::path_in`] finds the path in its message.
    pub(crate) fn error<E: serde::de::Error>(&self) -> E {
        E::custom(format_args!("{MISFIT}{}`", self.0))
    }

    /// The path in the message of one of serde's errors.
    pub(crate) fn path_in(message: &str) -> Option<&str> {
        message.strip_prefix(MISFIT)?.split('`').next()
    }

    /// The same field, seen from one level further out.
    pub(crate) fn within(self, outer: &str) -> Self {
        match self.0.as_str() {
            "" => Self(outer.to_owned()),
            inner => Self(format!("{outer}.{inner}")),
        }
    }

    /// The same field, seen from the list that holds it.
    pub(crate) fn item(self, list: &str, index: usize) -> Self {
        self.within(&format!("{list}[{index}]"))
    }
}

/// A type of this crate that stands for one of the core's.
pub(crate) trait Wire: Serialize + for<'de> Deserialize<'de> {
    /// The core's type.
    type Core;

    /// From the core's.
    fn of(core: &Self::Core) -> Self;

    /// Back to the core's.
    fn core(self) -> Result<Self::Core, Fault>;
}

/// All of a list.
pub(crate) fn all_of<W: Wire>(list: &[W::Core]) -> Vec<W> {
    list.iter().map(W::of).collect()
}

/// All of a list back.
pub(crate) fn all_core<W: Wire>(list: Vec<W>, name: &str) -> Result<Vec<W::Core>, Fault> {
    let items = list.into_iter().enumerate();
    items.map(|(index, item)| item.core().map_err(|fault| fault.item(name, index))).collect()
}

/// As a value, for those who want no text. A large integer in it may lose its last digits there.
pub(crate) fn to_value<T: Serialize>(wire: &T) -> serde_json::Value {
    serde_json::to_value(wire).unwrap_or_default()
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn is_one(value: &u32) -> bool {
    *value == 1
}

pub(crate) fn one() -> u32 {
    1
}
