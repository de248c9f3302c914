//! Adapters by which serde writes and reads the core's own types: markers for `serde_as`, one for each way of writing.

use std::marker::PhantomData;
use std::sync::Arc;

use holdpoint_core::{
    Attempt, Attributes, CallIndex, Digest, Epoch, Fence, GrantId, Named, PauseNumber, PauseReason, Settings,
    Timestamp, Turn,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::{DeserializeAs, SerializeAs};

use super::names::Awaited;
use super::{DigestText, Fault, Members, Name, Text, Wire};
use crate::SettingsSpec;

/// Writes a newtype as what it holds: a number, or a text. A timestamp is in microseconds since 1970.
pub(crate) struct Plain;

macro_rules! numbers {
    ($($type:ident),*) => {
        $(impl SerializeAs<$type> for Plain {
            fn serialize_as<S: Serializer>(source: &$type, serializer: S) -> Result<S::Ok, S::Error> {
                source.0.serialize(serializer)
            }
        }

        impl<'de> DeserializeAs<'de, $type> for Plain {
            fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                Deserialize::deserialize(deserializer).map($type)
            }
        })*
    };
}

numbers!(Attempt, CallIndex, Epoch, Fence, PauseNumber, Timestamp, Turn);

impl SerializeAs<GrantId> for Plain {
    fn serialize_as<S: Serializer>(source: &GrantId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(source.as_str())
    }
}

impl<'de> DeserializeAs<'de, GrantId> for Plain {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<GrantId, D::Error> {
        Text::deserialize(deserializer).map(|text| GrantId::new(text.0))
    }
}

impl SerializeAs<Arc<str>> for Text {
    fn serialize_as<S: Serializer>(source: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(source)
    }
}

impl<'de> DeserializeAs<'de, Arc<str>> for Text {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        Text::deserialize(deserializer).map(|text| text.0)
    }
}

impl SerializeAs<Digest> for DigestText {
    fn serialize_as<S: Serializer>(source: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        DigestText(*source).serialize(serializer)
    }
}

impl<'de> DeserializeAs<'de, Digest> for DigestText {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        DigestText::deserialize(deserializer).map(|digest| digest.0)
    }
}

impl SerializeAs<Attributes> for Members {
    fn serialize_as<S: Serializer>(source: &Attributes, serializer: S) -> Result<S::Ok, S::Error> {
        Members(source.clone()).serialize(serializer)
    }
}

impl<'de> DeserializeAs<'de, Attributes> for Members {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<Attributes, D::Error> {
        Members::deserialize(deserializer).map(|members| members.0)
    }
}

impl SerializeAs<PauseReason> for Awaited {
    fn serialize_as<S: Serializer>(source: &PauseReason, serializer: S) -> Result<S::Ok, S::Error> {
        Name(Awaited(*source)).serialize(serializer)
    }
}

impl<'de> DeserializeAs<'de, PauseReason> for Awaited {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<PauseReason, D::Error> {
        Name::<Awaited>::deserialize(deserializer).map(|name| name.0.0)
    }
}

/// Writes a value by its stable name.
pub(crate) struct Word;

impl<T: Named> SerializeAs<T> for Word {
    fn serialize_as<S: Serializer>(source: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(source.name())
    }
}

impl<'de, T: Named> DeserializeAs<'de, T> for Word {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        Name::<T>::deserialize(deserializer).map(|name| name.0)
    }
}

/// Writes a type of the core through one of this crate's that stands for it.
pub(crate) struct Via<W>(PhantomData<W>);

impl<W: Wire> SerializeAs<W::Core> for Via<W> {
    fn serialize_as<S: Serializer>(source: &W::Core, serializer: S) -> Result<S::Ok, S::Error> {
        W::of(source).serialize(serializer)
    }
}

impl<'de, W: Wire> DeserializeAs<'de, W::Core> for Via<W> {
    fn deserialize_as<D: Deserializer<'de>>(deserializer: D) -> Result<W::Core, D::Error> {
        // The path of the field goes through serde as text; `read` finds it there.
        W::deserialize(deserializer)?.core().map_err(|fault| D::Error::custom(fault.message()))
    }
}

impl Wire for SettingsSpec {
    type Core = Settings;

    fn of(settings: &Settings) -> Self {
        Self::of(settings)
    }

    fn core(self) -> Result<Settings, Fault> {
        Ok(self.settings())
    }
}

/// Lets remote definitions stand inside of `Vec`, `Option`, `Arc` and `Box`.
macro_rules! remote {
    ($($definition:ident = $core:ty),* $(,)?) => {
        $(impl serde_with::SerializeAs<$core> for $definition {
            fn serialize_as<S: serde::Serializer>(source: &$core, serializer: S) -> Result<S::Ok, S::Error> {
                $definition::serialize(source, serializer)
            }
        }

        impl<'de> serde_with::DeserializeAs<'de, $core> for $definition {
            fn deserialize_as<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$core, D::Error> {
                $definition::deserialize(deserializer)
            }
        })*
    };
}

pub(crate) use remote;
