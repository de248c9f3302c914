//! How serde writes and reads the core's own types: one adapter for all of them, and the values that are not written.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Arguments, Asked, Attempt, Attributes, BatchId, Block, CallId, CallIndex, Code, Completeness,
    ContinuationId, Digest, DoubtCause, Epoch, Failure, Fence, FourEyes, GrantId, Ground, JsonText, Message, ModelStop,
    Outcome, PauseNumber, Progress, Repeat, RequestedName, ResultKind, RunId, Settings, Source, Stage, Terms,
    Timestamp, ToolName, Turn, Usage,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::{DeserializeAs, SerializeAs};

use super::{BlockWire, DigestText, Fault, Json, Members, MessageWire, Name, Text, Wire};
use crate::SettingsSpec;

/// Writes and reads a value of the core, whatever its type. A timestamp is in microseconds since 1970.
pub(crate) struct Stored;

/// The value of a type that fields of it mostly have. It is not written.
pub(crate) trait Usual {
    fn usual() -> Self;
    fn is_usual(&self) -> bool;
}

/// Derives the JSON form of types of the core (`serde(remote)`) and of this crate: [`Stored`] writes each field that has
/// another value than its [`Usual`] one. What a payload signs has its fields in the order of their names: it is canonical.
macro_rules! stored {
    ($($item:item)*) => {
        $(#[serde_with::apply(
            _ => #[serde(with = "serde_with::As::<Stored>")],
            Option => #[serde(default, skip_serializing_if = "Option::is_none")],
            Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")],
            BTreeSet => #[serde(default, skip_serializing_if = "BTreeSet::is_empty")],
            Attributes => #[serde(default, skip_serializing_if = "Attributes::is_empty")],
            bool => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            u64 => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Actor => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Arc<Settings> => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Asked => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Completeness => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            DoubtCause => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            FourEyes => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Ground => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            ModelStop => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Outcome => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Repeat => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            ResultKind => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Stage => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Terms => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
            Usage => #[serde(default = "Usual::usual", skip_serializing_if = "Usual::is_usual")],
        )]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $item)*
    };
}

/// Lets [`Stored`] write types of the core by their definitions here.
macro_rules! remote {
    ($($core:ty => $definition:ident,)*) => {
        $(impl serde_with::SerializeAs<$core> for Stored {
            fn serialize_as<S: serde::Serializer>(source: &$core, serializer: S) -> Result<S::Ok, S::Error> {
                $definition::serialize(source, serializer)
            }
        }

        impl<'de> serde_with::DeserializeAs<'de, $core> for Stored {
            fn deserialize_as<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$core, D::Error> {
                $definition::deserialize(deserializer)
            }
        })*
    };
}

pub(crate) use {remote, stored};

macro_rules! usual {
    ($($type:ty = $value:expr,)*) => {
        $(impl Usual for $type {
            fn usual() -> Self {
                $value
            }

            fn is_usual(&self) -> bool {
                *self == $value
            }
        })*
    };
}

usual! {
    bool = false,
    u64 = 0,
    Actor = Actor::default(),
    Arc<Settings> = Arc::default(),
    Asked = Asked::No,
    Completeness = Completeness::Complete,
    DoubtCause = DoubtCause::Crashed,
    FourEyes = FourEyes::Off,
    Ground = Ground::default(),
    ModelStop = ModelStop::ToolUse,
    Outcome = Outcome::Succeeded,
    Repeat = Repeat::Never,
    ResultKind = ResultKind::Answer,
    Stage = Stage::Policy,
    Terms = Terms::default(),
    Usage = Usage::default(),
}

/// Lets [`Stored`] write a type as another one, and read it back.
macro_rules! written {
    ($($type:ty as $form:ty: |$value:ident| $write:expr, |$read:ident| $take:expr;)*) => {
        $(impl SerializeAs<$type> for Stored {
            fn serialize_as<S: Serializer>($value: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                $write.serialize(serializer)
            }
        }

        impl<'de> DeserializeAs<'de, $type> for Stored {
            fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let $read = <$form>::deserialize(deserializer)?;
                $take
            }
        })*
    };
}

written! {
    bool as bool: |it| it, |read| Ok(read);
    u32 as u32: |it| it, |read| Ok(read);
    u64 as u64: |it| it, |read| Ok(read);
    Attempt as u32: |it| it.0, |read| Ok(Attempt(read));
    CallIndex as u32: |it| it.0, |read| Ok(CallIndex(read));
    Epoch as u32: |it| it.0, |read| Ok(Epoch(read));
    Fence as u64: |it| it.0, |read| Ok(Fence(read));
    PauseNumber as u32: |it| it.0, |read| Ok(PauseNumber(read));
    Timestamp as i64: |it| it.0, |read| Ok(Timestamp(read));
    Turn as u32: |it| it.0, |read| Ok(Turn(read));
    Arc<str> as Text: |it| **it, |read| Ok(read.0);
    BatchId as Text: |it| it.to_string(), |read| BatchId::parse(read.as_str()).ok_or_else(|| Fault::at("").error());
    ContinuationId as Text: |it| it.to_string(), |read| ContinuationId::parse(read.as_str()).ok_or_else(|| Fault::at("").error());
    CallId as Text: |it| it.as_str(), |read| Ok(CallId::new(read.0));
    GrantId as Text: |it| it.as_str(), |read| Ok(GrantId::new(read.0));
    RequestedName as Text: |it| it.as_str(), |read| Ok(RequestedName::new(read.0));
    RunId as Text: |it| it.as_str(), |read| Ok(RunId::new(read.0));
    ToolName as Text: |it| it.as_str(), |read| Ok(ToolName::new(read.0));
    Asked as Name<Asked>: |it| Name(*it), |read| Ok(read.0);
    Code as Name<Code>: |it| Name(*it), |read| Ok(read.0);
    Completeness as Name<Completeness>: |it| Name(*it), |read| Ok(read.0);
    DoubtCause as Name<DoubtCause>: |it| Name(*it), |read| Ok(read.0);
    Failure as Name<Failure>: |it| Name(*it), |read| Ok(read.0);
    FourEyes as Name<FourEyes>: |it| Name(*it), |read| Ok(read.0);
    ModelStop as Name<ModelStop>: |it| it.as_str(), |read| Ok(read.0);
    Outcome as Name<Outcome>: |it| Name(*it), |read| Ok(read.0);
    Progress as Name<Progress>: |it| Name(*it), |read| Ok(read.0);
    Repeat as Name<Repeat>: |it| Name(*it), |read| Ok(read.0);
    ResultKind as Name<ResultKind>: |it| Name(*it), |read| Ok(read.0);
    Source as Name<Source>: |it| Name(*it), |read| Ok(read.0);
    Stage as Name<Stage>: |it| Name(*it), |read| Ok(read.0);
    JsonText as Json: |it| Json(it.clone()), |read| Ok(read.0);
    Digest as DigestText: |it| DigestText(*it), |read| Ok(read.0);
    Attributes as Members: |it| Members(it.clone()), |read| Ok(read.0);
    Arguments as ArgumentsWire: |it| ArgumentsWire::of(it), |read| read.core().map_err(|fault| fault.error());
    Block as BlockWire: |it| BlockWire::of(it), |read| read.core().map_err(|fault| fault.error());
    Message as MessageWire: |it| MessageWire::of(it), |read| read.core().map_err(|fault| fault.error());
    Settings as SettingsSpec: |it| SettingsSpec::of(it), |read| Ok(read.settings());
}

/// Lets [`Stored`] write what holds a type that it can write.
macro_rules! holding {
    ($($holder:ident<$held:ident $(: $bound:ident)?>),*) => {
        $(impl<$held $(: $bound)?> SerializeAs<$holder<$held>> for Stored
        where
            Stored: SerializeAs<$held>,
        {
            fn serialize_as<S: Serializer>(source: &$holder<$held>, serializer: S) -> Result<S::Ok, S::Error> {
                $holder::<Stored>::serialize_as(source, serializer)
            }
        }

        impl<'de, $held $(: $bound)?> DeserializeAs<'de, $holder<$held>> for Stored
        where
            Stored: DeserializeAs<'de, $held>,
        {
            fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<$holder<$held>, D::Error> {
                $holder::<Stored>::deserialize_as(deserializer)
            }
        })*
    };
}

holding!(Arc<T>, Box<T>, BTreeSet<T: Ord>, Option<T>, Vec<T>);

/// Canonical arguments. Their digest cannot be made again where the name of the tool is not known.
#[derive(Serialize, Deserialize)]
struct ArgumentsWire {
    arguments: Json,
    digest: DigestText,
}

impl ArgumentsWire {
    fn of(arguments: &Arguments) -> Self {
        Self { arguments: Json::new(arguments.share()), digest: DigestText(arguments.digest()) }
    }

    fn core(self) -> Result<Arguments, Fault> {
        match self.arguments.as_str() {
            text if text.starts_with('{') => Ok(Arguments::from_canonical(text, self.digest.0)),
            _ => Err(Fault::at("arguments")),
        }
    }
}
