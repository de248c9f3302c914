//! Words that stand for the variants of the core's enums.

use std::fmt;
use std::marker::PhantomData;

pub(crate) use holdpoint_core::Named;
use holdpoint_core::{Code, DoubtCause, Failure, Outcome, PauseReason, QuestionKind, Role, Source, Stage};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Verdict;
use crate::audit::Said;

/// Written and read by its stable name; an unknown name is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name<T>(pub T);

impl<T: Named> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

/// Aliases, because an OpenAPI document names a schema by one word.
macro_rules! aliases {
    ($($alias:ident = $named:ty,)*) => {
        $(
            /// Written by its stable name.
            pub type $alias = Name<$named>;
        )*
    };
}

aliases! {
    CodeName = Code,
    DoubtCauseName = DoubtCause,
    FailureName = Failure,
    OutcomeName = Outcome,
    PauseReasonName = PauseReason,
    QuestionKindName = QuestionKind,
    RoleName = Role,
    SaidName = Said,
    SourceName = Source,
    StageName = Stage,
    VerdictName = Verdict,
}

struct NameVisitor<T>(PhantomData<T>);

impl<T: Named> Visitor<'_> for NameVisitor<T> {
    type Value = Name<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a known word")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Name<T>, E> {
        T::named(text).map(Name).ok_or_else(|| E::custom("not a known word"))
    }
}

impl<'de, T: Named> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor(PhantomData))
    }
}
