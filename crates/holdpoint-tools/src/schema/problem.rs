//! What is wrong with arguments, in words that never hold a value of them.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

const NAME_CHARS_MAX: usize = 64;
const NAMES_MAX: usize = 8;
const PATH_CHARS_MAX: usize = 200;
const OPTIONS_CHARS_MAX: usize = 200;

/// One problem of some arguments. Holds names of properties and words of the schema, never a value of the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaProblem {
    /// JSON pointer to the place; empty for the arguments as a whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl SchemaProblem {
    pub(super) fn of(error: &ValidationError<'_>, arguments: &Value) -> Self {
        let place = error.instance_path().as_str();
        // A schema that allows no property at all is told as one that allows nothing.
        let forbidden = match error.kind() {
            Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
                arguments.pointer(place).and_then(Value::as_object)
            }
            _ => None,
        };
        let message = match forbidden {
            Some(object) => not_allowed(&object.keys().cloned().collect::<Vec<_>>()),
            None => message(error.kind()),
        };
        Self { path: cut(place, PATH_CHARS_MAX), message }
    }

    pub(crate) fn unreadable() -> Self {
        Self { path: String::new(), message: "cannot be read as JSON".to_owned() }
    }
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

/// No wildcard: a new kind of error must choose words that hold no value.
fn message(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind } => format!("is not of type {}", types(kind)),
        Kind::Required { property } => format!("required property {} is missing", word(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            not_allowed(unexpected)
        }
        Kind::Enum { options } => format!("is not one of {}", cut(&options.to_string(), OPTIONS_CHARS_MAX)),
        Kind::Constant { expected_value } => {
            format!("is not {}", cut(&expected_value.to_string(), OPTIONS_CHARS_MAX))
        }
        Kind::Minimum { limit } => format!("is less than {limit}"),
        Kind::Maximum { limit } => format!("is greater than {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("is not greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("is not less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("is not a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("is shorter than {limit} characters"),
        Kind::MaxLength { limit } => format!("is longer than {limit} characters"),
        Kind::MinItems { limit } => format!("has fewer than {limit} items"),
        Kind::MaxItems { limit } => format!("has more than {limit} items"),
        Kind::AdditionalItems { limit } => format!("has more than {limit} items"),
        Kind::UnevaluatedItems { .. } => "has items that are not allowed".to_owned(),
        Kind::MinProperties { limit } => format!("has fewer than {limit} properties"),
        Kind::MaxProperties { limit } => format!("has more than {limit} properties"),
        Kind::UniqueItems => "has items that are equal".to_owned(),
        Kind::Contains => "has no item of the required form".to_owned(),
        Kind::Pattern { pattern } => format!("does not match the pattern `{}`", cut(pattern, OPTIONS_CHARS_MAX)),
        Kind::Format { format } => format!("is not in the format `{}`", cut(format, NAME_CHARS_MAX)),
        Kind::PropertyNames { .. } => "has a property whose name is not allowed".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "does not fit any of the allowed forms".to_owned(),
        Kind::OneOfMultipleValid { .. } => "fits more than one of the forms that exclude each other".to_owned(),
        Kind::Not { .. } => "has a form that is not allowed".to_owned(),
        Kind::FalseSchema => "is not allowed here".to_owned(),
        Kind::ContentEncoding { content_encoding } => format!("is not encoded as `{content_encoding}`"),
        Kind::ContentMediaType { content_media_type } => format!("is not of media type `{content_media_type}`"),
        Kind::FromUtf8 { .. } => "does not hold text".to_owned(),
        Kind::Custom { keyword, .. } => format!("does not fit `{}`", cut(keyword, NAME_CHARS_MAX)),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } | Kind::Referencing(_) => {
            "cannot be checked".to_owned()
        }
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => format!("`{kind}`"),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            kinds.join(" or ")
        }
    }
}

fn word(property: &Value) -> String {
    format!("`{}`", cut(property.as_str().unwrap_or_default(), NAME_CHARS_MAX))
}

fn not_allowed(names: &[String]) -> String {
    let listed = names.iter().take(NAMES_MAX).map(|name| format!("`{}`", cut(name, NAME_CHARS_MAX)));
    let listed = listed.collect::<Vec<_>>().join(", ");
    match names.len() {
        1 => format!("additional property {listed} is not allowed"),
        few if few <= NAMES_MAX => format!("additional properties {listed} are not allowed"),
        many => format!("additional properties {listed} and {} more are not allowed", many - NAMES_MAX),
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
