//! Words that stand for the variants of the core's enums.

use std::fmt;
use std::marker::PhantomData;

use holdpoint_core::{
    Asked, Code, DoubtCause, ErrorDetail, Failure, FinalTools, ModelStop, Outcome, Parallel, ParallelToolCalls,
    PauseReason, Progress, QuestionKind, Recheck, Repeat, ResultOrder, Role, Siblings, Source, Stage, StopReason,
};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::audit::Said;

/// Something that has a stable name.
pub(crate) trait Named: Sized {
    /// Its name.
    fn name(&self) -> &str;

    /// The one of that name.
    fn named(name: &str) -> Option<Self>;
}

/// Written and read by its stable name; an unknown name is an error.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Name<T>(pub(crate) T);

impl<T: Named> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
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

/// For enums that know their own names.
macro_rules! named_by_the_core {
    ($($type:ty),*) => {
        $(impl Named for $type {
            fn name(&self) -> &str {
                self.as_str()
            }

            fn named(name: &str) -> Option<Self> {
                <$type>::ALL.iter().copied().find(|one| one.as_str() == name)
            }
        })*
    };
}

named_by_the_core!(Outcome, Source, Repeat, Failure, DoubtCause, QuestionKind, Said);

macro_rules! named {
    ($type:ty: $($variant:path = $text:literal),*) => {
        impl Named for $type {
            fn name(&self) -> &str {
                match self {
                    $($variant => $text,)*
                }
            }

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($text => Some($variant),)*
                    _ => None,
                }
            }
        }
    };
}

named!(Asked: Asked::No = "no", Asked::Yes = "yes", Asked::Approved = "approved");
named!(ErrorDetail: ErrorDetail::Safe = "safe", ErrorDetail::Debug = "debug");
named!(FinalTools: FinalTools::Disabled = "disabled", FinalTools::Enabled = "enabled");
named!(Parallel: Parallel::Marked = "marked", Parallel::All = "all");
named!(ParallelToolCalls: ParallelToolCalls::Allowed = "allowed", ParallelToolCalls::One = "one");
named!(Recheck: Recheck::On = "on", Recheck::Off = "off");
named!(ResultOrder: ResultOrder::Request = "request", ResultOrder::Completion = "completion");
named!(Role: Role::System = "system", Role::User = "user", Role::Assistant = "assistant", Role::Tool = "tool");
named!(Siblings: Siblings::Hold = "hold", Siblings::Run = "run");
named!(Stage: Stage::Policy = "policy", Stage::Recheck = "recheck");
named!(
    PauseReason: PauseReason::AwaitingToolConfirmation = "awaiting_tool_confirmation",
    PauseReason::AwaitingToolResults = "awaiting_tool_results"
);

/// What a pause waits for, in the one short word that the log has for it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Awaited(pub(crate) PauseReason);

impl Named for Awaited {
    fn name(&self) -> &str {
        match self.0 {
            PauseReason::AwaitingToolConfirmation => "people",
            PauseReason::AwaitingToolResults => "results",
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "people" => Some(Self(PauseReason::AwaitingToolConfirmation)),
            "results" => Some(Self(PauseReason::AwaitingToolResults)),
            _ => None,
        }
    }
}

impl Named for Code {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn named(name: &str) -> Option<Self> {
        Code::parse(name)
    }
}

impl Named for ModelStop {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn named(name: &str) -> Option<Self> {
        Some(ModelStop::parse(name))
    }
}

impl Named for Progress {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "pending" => Some(Progress::Pending),
            "uncertain" => Some(Progress::Uncertain),
            outcome => Outcome::named(outcome).map(Progress::Settled),
        }
    }
}

/// The model's own reasons are written elsewhere: a provider may use any word.
impl Named for StopReason {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn named(name: &str) -> Option<Self> {
        let own = [
            StopReason::MaxTurns,
            StopReason::Halted,
            StopReason::AwaitingToolConfirmation,
            StopReason::AwaitingToolResults,
            StopReason::Cancelled,
        ];
        let failed = Failure::ALL.into_iter().map(StopReason::Failed);
        own.into_iter().chain(failed).find(|stop| stop.as_str() == name)
    }
}
