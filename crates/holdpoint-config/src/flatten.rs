//! Structs that share a table, and tables whose keys are free.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// The name by which a [`Reader`](crate::read::Reader) knows that structs share a table.
pub(crate) const TOKEN: &str = "$holdpoint::Flatten";

/// Two structs whose keys stand in one table. Unlike `#[serde(flatten)]` it keeps the places of values and knows which
/// keys are unknown. Only a [`Document`](crate::Document) can be read into it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flatten<A, B>(pub A, pub B);

impl<'de, A: Deserialize<'de>, B: Deserialize<'de>> Deserialize<'de> for Flatten<A, B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Both<A, B>(PhantomData<(A, B)>);
        impl<'de, A: Deserialize<'de>, B: Deserialize<'de>> Visitor<'de> for Both<A, B> {
            type Value = Flatten<A, B>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut parts: S) -> Result<Self::Value, S::Error> {
                // Both are read even if the first fails: only then are all keys of the table known.
                let (first, second) = (next_part(&mut parts), next_part(&mut parts));
                Ok(Flatten(first?, second?))
            }
        }
        read_parts(deserializer, Both(PhantomData))
    }
}

/// Reads structs that share a table. The visitor's `visit_seq` takes each with [`next_part`]; it must take all of them,
/// even when one fails, because a key is unknown only if none of them has it.
pub fn read_parts<'de, D: Deserializer<'de>, V: Visitor<'de>>(
    deserializer: D,
    visitor: V,
) -> Result<V::Value, D::Error> {
    deserializer.deserialize_tuple_struct(TOKEN, 0, visitor)
}

/// The next struct that shares the table.
pub fn next_part<'de, S: SeqAccess<'de>, T: Deserialize<'de>>(parts: &mut S) -> Result<T, S::Error> {
    let part = parts.next_element()?;
    part.ok_or_else(|| serde::de::Error::custom("can only be read from a document"))
}

/// A table whose keys are free, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}
