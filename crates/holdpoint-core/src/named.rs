//! Enums whose values have stable names, and the one macro that defines them.

/// Something that is written as one word: in JSON, in files and on the command line.
pub trait Named: Sized {
    /// Every name, in order. Empty when any word may be one.
    const NAMES: &'static [&'static str] = &[];

    /// Its stable name.
    fn name(&self) -> &str;

    /// The value with this name.
    fn named(name: &str) -> Option<Self>;
}

/// Defines an enum by its values and their names.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* pub enum $enum:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $($(#[$doc])* $value,)*
        }

        impl $enum {
            /// Every value.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// Its stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }

            /// The value with this name.
            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$value),)*
                    _ => None,
                }
            }
        }

        impl $crate::Named for $enum {
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn name(&self) -> &str {
                self.as_str()
            }

            fn named(name: &str) -> Option<Self> {
                Self::parse(name)
            }
        }
    };
}

pub(crate) use named;
