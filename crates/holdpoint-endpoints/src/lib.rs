//! Tools that a configuration describes: an HTTP endpoint, a program, or a call that workers do.
//!
//! [`HttpToolSpec`], [`CommandToolSpec`] and [`WorkerToolSpec`] are the tables of `kind = "http"`, `"command"` and
//! `"worker"`; [`ToolSpec`] is any of them. Each builds a tool, or says which key is wrong.
//!
//! ```
//! use holdpoint_endpoints::{Surroundings, ToolSpec};
//!
//! let spec: ToolSpec = serde_json::from_value(serde_json::json!({
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
mod spec;
#[cfg(test)]
mod testing;
mod worker;

pub use command::{
    ARGUMENT_BYTES_MAX, CommandToolSpec, OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_MAX, OutputForm, STDERR_BYTES_MAX,
    StdinForm,
};
pub use http::{
    AddressKind, BodyForm, ERROR_CHARS_MAX, HeaderSpec, HttpToolSpec, Lookup, LookupFuture, Method, Network,
    REDIRECTS_DEFAULT, REDIRECTS_MAX, RESPONSE_BYTES_DEFAULT, RESPONSE_BYTES_MAX, ResponseForm, ResponseSpec,
    SecretSpec, SystemLookup, kind_of,
};
pub use spec::{Parameters, RepeatSpec, SpecError, Surroundings, TIMEOUT_MS_MAX, ToolSpec, fields_of, nearest};
pub use worker::WorkerToolSpec;
