//! Functions that can be tools: with arguments, with or without the call beside them.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{ToolCall, ToolError};
use crate::schema::schema_of;

/// A function that can be a tool. `Marker` only tells the forms apart and is always inferred.
///
/// The forms: `(arguments)`, `(arguments, call)` and `()`, where the arguments are any type that can be deserialised and
/// described by a JSON Schema; each of them async, or plain for [`blocking_tool`](crate::blocking_tool). Parameters need
/// their types written out.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool",
    label = "not a function `(arguments)`, `(arguments, ToolCall)` or `()` of the right kind",
    note = "the arguments need `serde::Deserialize` and `schemars::JsonSchema`, the result `IntoToolResult`",
    note = "an async closure may not use what it captures by reference: clone it into an `async move` block"
)]
pub trait ToolFunction<Marker>: Send + Sync + 'static {
    /// What it returns: a future, or the result of a plain function.
    type Output;

    /// JSON Schema of the arguments.
    fn schema() -> Value;

    /// Calls it, unless the arguments do not fit.
    fn call(&self, call: ToolCall) -> Result<Self::Output, ToolError>;
}

impl<F, R, T> ToolFunction<(T,)> for F
where
    F: Fn(T) -> R + Send + Sync + 'static,
    T: DeserializeOwned + JsonSchema,
{
    type Output = R;

    fn schema() -> Value {
        schema_of::<T>()
    }

    fn call(&self, call: ToolCall) -> Result<R, ToolError> {
        Ok(self(call.arguments_as()?))
    }
}

impl<F, R, T> ToolFunction<(T, ToolCall)> for F
where
    F: Fn(T, ToolCall) -> R + Send + Sync + 'static,
    T: DeserializeOwned + JsonSchema,
{
    type Output = R;

    fn schema() -> Value {
        schema_of::<T>()
    }

    fn call(&self, call: ToolCall) -> Result<R, ToolError> {
        Ok(self(call.arguments_as()?, call))
    }
}

impl<F, R> ToolFunction<()> for F
where
    F: Fn() -> R + Send + Sync + 'static,
{
    type Output = R;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {} })
    }

    fn call(&self, _: ToolCall) -> Result<R, ToolError> {
        Ok(self())
    }
}
