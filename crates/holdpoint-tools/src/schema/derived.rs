//! The schema of a Rust type, without what a model does not need.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// The JSON Schema of a type, as a model should see it: no dialect, no title, and number formats turned into bounds.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    tidy(&mut schema);
    match schema {
        Value::Object(mut object) => {
            object.remove("$schema");
            object.remove("title");
            // Providers want to see it at the top, also beside a reference or alternatives.
            object.entry("type").or_insert_with(|| json!("object"));
            Value::Object(object)
        }
        // The schema of a type that takes anything; arguments still are an object.
        _ => json!({ "type": "object" }),
    }
}

/// Formats such as `uint32` are known only to Rust: providers ignore or refuse them.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            bound_number(object);
            for (key, value) in object.iter_mut() {
                // These hold values, not schemas.
                if !matches!(key.as_str(), "default" | "const" | "enum" | "examples") {
                    tidy(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn bound_number(object: &mut Map<String, Value>) {
    let bounds: Option<(i64, i64)> = match object.get("format").and_then(Value::as_str) {
        Some("int8") => Some((i8::MIN.into(), i8::MAX.into())),
        Some("uint8") => Some((0, u8::MAX.into())),
        Some("int16") => Some((i16::MIN.into(), i16::MAX.into())),
        Some("uint16") => Some((0, u16::MAX.into())),
        Some("int32") => Some((i32::MIN.into(), i32::MAX.into())),
        Some("uint32") => Some((0, u32::MAX.into())),
        Some("int" | "uint" | "int64" | "uint64" | "int128" | "uint128" | "float" | "double") => None,
        _ => return,
    };
    object.remove("format");
    if let Some((least, most)) = bounds {
        object.entry("minimum").or_insert_with(|| least.into());
        object.entry("maximum").or_insert_with(|| most.into());
    }
}
