//! Tools that are an HTTP endpoint.

mod address;
mod body;
mod exchange;
mod headers;
mod network;
mod request;
mod response;
mod spec;
mod target;
mod template;
mod texts;
mod tool;

pub use address::{AddressKind, kind_of};
pub use headers::{HeaderSpec, SecretHeader};
pub use network::{Lookup, LookupFuture, Network, SystemLookup};
pub use request::{BodyForm, Method};
pub use response::{ResponseForm, ResponseSpec};
pub use spec::HttpToolSpec;
