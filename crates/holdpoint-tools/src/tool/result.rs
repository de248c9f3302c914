//! What a tool may return.

use std::sync::Arc;

use holdpoint_core::{Block, JsonText, ToolResult};
use serde::Serialize;
use serde_json::Value;

use super::ToolError;

/// Anything that can be a tool's result.
pub trait IntoToolResult {
    /// Makes it one.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

/// A result that is serialised as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::success(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::success(self))
    }
}

impl IntoToolResult for Arc<str> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::success(self))
    }
}

/// Nothing to say: the model is told that it is done, since providers refuse an empty result.
impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::success("done"))
    }
}

impl IntoToolResult for Block {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::from_blocks(vec![self]))
    }
}

impl IntoToolResult for Vec<Block> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::from_blocks(self))
    }
}

impl IntoToolResult for Value {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(json_result(&self))
    }
}

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let value = serde_json::to_value(&self.0)
            .map_err(|error| ToolError::unusable(format!("the result cannot be written as JSON: {error}")))?;
        Ok(json_result(&value))
    }
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

macro_rules! displayed {
    ($($kind:ty)*) => {
        $(impl IntoToolResult for $kind {
            fn into_tool_result(self) -> Result<ToolResult, ToolError> {
                Ok(ToolResult::success(self.to_string()))
            }
        })*
    };
}

displayed!(bool i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 char);

fn json_result(value: &Value) -> ToolResult {
    ToolResult::from_blocks(vec![Block::Json(JsonText::new(holdpoint_codec::canonical_value(value)))])
}
