//! How the scalars of public forms describe themselves in an OpenAPI document.

use std::borrow::Cow;

use holdpoint_core::Named;
use utoipa::openapi::schema::{AdditionalProperties, Schema, SchemaType};
use utoipa::openapi::{KnownFormat, Object, ObjectBuilder, RefOr, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use super::{DigestText, Json, Members, Moment, Name, Text};

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

impl PartialSchema for Text {
    fn schema() -> RefOr<Schema> {
        text().into()
    }
}

impl ToSchema for Text {}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).into()
    }
}

impl ToSchema for Moment {}

impl PartialSchema for DigestText {
    fn schema() -> RefOr<Schema> {
        text().pattern(Some("^[0-9a-f]{64}$")).into()
    }
}

impl ToSchema for DigestText {
    fn name() -> Cow<'static, str> {
        "Digest".into()
    }
}

impl PartialSchema for Json {
    fn schema() -> RefOr<Schema> {
        Object::with_type(SchemaType::AnyValue).into()
    }
}

impl ToSchema for Json {
    fn name() -> Cow<'static, str> {
        "Json".into()
    }
}

impl PartialSchema for Members {
    fn schema() -> RefOr<Schema> {
        let any = AdditionalProperties::FreeForm(true);
        ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(any)).into()
    }
}

impl ToSchema for Members {}

/// The names are listed where the enum is closed.
impl<T: Named> PartialSchema for Name<T> {
    fn schema() -> RefOr<Schema> {
        let names = (!T::NAMES.is_empty()).then(|| T::NAMES.iter().copied());
        text().enum_values(names).into()
    }
}

impl<T: Named> ToSchema for Name<T> {
    fn name() -> Cow<'static, str> {
        let path = std::any::type_name::<T>();
        let name = path.rsplit("::").next().unwrap_or(path);
        // Outside of Rust no module says whose status it is.
        match name {
            "Status" => "RunStatus".into(),
            "QuestionStatus" => "ApprovalStatus".into(),
            name => name.to_owned().into(),
        }
    }
}
