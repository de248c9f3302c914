//! Values that are read in more than one way.

use std::fmt;
use std::marker::PhantomData;

use holdpoint_core::Named;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// The names by which a [`Reader`](crate::read::Reader) knows these types.
pub(crate) const TABLE_OR_TOKEN: &str = "$holdpoint::TableOr";
pub(crate) const VARIANTS_TOKEN: &str = "$holdpoint::Variants";

/// A value that is read as one type if it is a table, and as another if it is not. Unlike an untagged enum it keeps the
/// places of values. Only a [`Document`](crate::Document) can be read into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TableOr<T, O> {
    /// A table.
    Table(T),
    /// Anything else.
    Other(O),
}

impl<'de, T: Deserialize<'de>, O: Deserialize<'de>> Deserialize<'de> for TableOr<T, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T, O>(PhantomData<(T, O)>);
        impl<'de, T: Deserialize<'de>, O: Deserialize<'de>> Visitor<'de> for Either<T, O> {
            type Value = TableOr<T, O>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value of a document")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, table: D) -> Result<Self::Value, D::Error> {
                T::deserialize(table).map(TableOr::Table)
            }

            fn visit_some<D: Deserializer<'de>>(self, other: D) -> Result<Self::Value, D::Error> {
                O::deserialize(other).map(TableOr::Other)
            }
        }
        deserializer.deserialize_newtype_struct(TABLE_OR_TOKEN, Either(PhantomData))
    }
}

/// A table in which each key names a variant of an enum and has its content, in the order of the file. Only a
/// [`Document`](crate::Document) can be read into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variants<T>(pub Vec<T>);

impl<T> Default for Variants<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Variants<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Variants<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Variants<T>, A::Error> {
                let mut variants = Vec::new();
                while let Some(variant) = entries.next_element()? {
                    variants.push(variant);
                }
                Ok(Variants(variants))
            }
        }
        deserializer.deserialize_tuple_struct(VARIANTS_TOKEN, 0, Entries(PhantomData))
    }
}

/// Reads a value of the core by its stable name; for `deserialize_with`.
pub fn named<'de, D: Deserializer<'de>, T: Named>(deserializer: D) -> Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    T::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, T::NAMES))
}
