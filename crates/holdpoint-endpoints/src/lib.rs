//! Tools that a configuration describes: an HTTP endpoint, a program, or a call that workers do.
//!
//! [`ToolSpec`] is the table of a tool: [`CommonKeys`] and the keys of its kind. It builds the tool, or says which key
//! is wrong.
//!
//! ```
//! use holdpoint_endpoints::{Surroundings, ToolSpec};
//!
//! let spec = ToolSpec::from_json(serde_json::json!({
//!     "kind": "http",
//!     "url": "https://api.example.com/orders/{order}",
//!     "method": "GET",
//!     "parameters": { "type": "object", "properties": { "order": { "type": "string" } }, "required": ["order"] },
//! })).expect("a good table");
//! let tool = spec.build_in("order", &Surroundings::default()).expect("a good tool");
//! assert_eq!(&*tool.definition().metadata.source, "http");
//! ```

mod arguments;
mod command;
mod http;
mod in_time;
mod spec;
#[cfg(test)]
mod testing;
mod worker;

pub use command::{CommandToolSpec, OutputForm, StdinForm};
pub use http::{
    AddressKind, BodyForm, HeaderSpec, HttpToolSpec, Lookup, LookupFuture, Method, Network, ResponseForm, ResponseSpec,
    SecretHeader, SystemLookup, kind_of,
};
pub use spec::{CommonKeys, Surroundings, ToolKind, ToolSpec};
