//! Functions that can be tools: with arguments, with or without the call beside them.

use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use holdpoint_core::ToolResult;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{IntoToolResult, ToolCall, ToolError};
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
    /// JSON Schema of the arguments.
    fn schema() -> Value;

    /// Calls it. What an async function returns is awaited; a plain one has done its work when this returns.
    fn call(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolResult, ToolError>>;
}

/// Marks async functions.
#[derive(Debug)]
pub struct AsyncForm<T>(std::marker::PhantomData<T>);

/// Marks plain functions, which block.
#[derive(Debug)]
pub struct PlainForm<T>(std::marker::PhantomData<T>);

impl<F, Fut, T> ToolFunction<AsyncForm<(T,)>> for F
where
    F: Fn(T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
    T: DeserializeOwned + JsonSchema,
{
    fn schema() -> Value {
        schema_of::<T>()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolResult, ToolError>> {
        match call.arguments_as::<T>() {
            Ok(arguments) => settle(self(arguments)),
            Err(error) => std::future::ready(Err(error)).boxed(),
        }
    }
}

impl<F, Fut, T> ToolFunction<AsyncForm<(T, ToolCall)>> for F
where
    F: Fn(T, ToolCall) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
    T: DeserializeOwned + JsonSchema,
{
    fn schema() -> Value {
        schema_of::<T>()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolResult, ToolError>> {
        match call.arguments_as::<T>() {
            Ok(arguments) => settle(self(arguments, call)),
            Err(error) => std::future::ready(Err(error)).boxed(),
        }
    }
}

impl<F, Fut> ToolFunction<AsyncForm<()>> for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn schema() -> Value {
        empty_schema()
    }

    fn call(&self, _: ToolCall) -> BoxFuture<'static, Result<ToolResult, ToolError>> {
        settle(self())
    }
}

impl<F, R, T> ToolFunction<PlainForm<(T,)>> for F
where
    F: Fn(T) -> R + Send + Sync + 'static,
    R: IntoToolResult,
    T: DeserializeOwned + JsonSchema,
{
    fn schema() -> Value {
        schema_of::<T>()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolResult, ToolError>> {
        let result = call.arguments_as::<T>().and_then(|arguments| self(arguments).into_tool_result());
        std::future::ready(result).boxed()
    }
}

impl<F, R, T> ToolFunction<PlainForm<(T, ToolCall)>> for F
where
    F: Fn(T, ToolCall) -> R + Send + Sync + 'static,
    R: IntoToolResult,
    T: DeserializeOwned + JsonSchema,
{
    fn schema() -> Value {
        schema_of::<T>()
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolResult, ToolError>> {
        let result = call.arguments_as::<T>().and_then(|arguments| self(arguments, call).into_tool_result());
        std::future::ready(result).boxed()
    }
}

impl<F, R> ToolFunction<PlainForm<()>> for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: IntoToolResult,
{
    fn schema() -> Value {
        empty_schema()
    }

    fn call(&self, _: ToolCall) -> BoxFuture<'static, Result<ToolResult, ToolError>> {
        std::future::ready(self().into_tool_result()).boxed()
    }
}

fn settle<Fut>(body: Fut) -> BoxFuture<'static, Result<ToolResult, ToolError>>
where
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    async move { body.await.into_tool_result() }.boxed()
}

fn empty_schema() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}
