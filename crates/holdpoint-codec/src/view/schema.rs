//! How events describe themselves in an OpenAPI document: one object per kind, told apart by `event`.
//!
//! A derived schema of a tagged enum is a list of unnamed compositions, which generators of clients leave out. Here each kind
//! has a name, and a discriminator leads to it.

use std::borrow::Cow;

use utoipa::openapi::schema::{AllOfBuilder, Discriminator, OneOfBuilder, Schema};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Type};
use utoipa::{PartialSchema, ToSchema};

use super::EventView;
use super::event::EventKind;

type Schemas = Vec<(String, RefOr<Schema>)>;

/// What every event has. Only its schema is used.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes fields of EventView")]
struct EventHead {
    /// Counts the events of the run, from 1.
    seq: u64,
    /// The run.
    run_id: String,
    /// When it happened.
    at: super::Moment,
}

/// A kind of event: its name in the log, its name in the document, and its own fields.
pub(super) struct Kind {
    pub(super) event: &'static str,
    pub(super) name: &'static str,
    pub(super) form: Cow<'static, str>,
    pub(super) schema: RefOr<Schema>,
    pub(super) more: Schemas,
}

impl Kind {
    pub(super) fn of<T: ToSchema>(event: &'static str, name: &'static str) -> Self {
        let mut more = Vec::new();
        T::schemas(&mut more);
        Self { event, name, form: T::name(), schema: T::schema(), more }
    }

    fn component(&self) -> String {
        format!("{}Event", self.name)
    }

    fn composed(&self) -> RefOr<Schema> {
        let tag = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([self.event]));
        AllOfBuilder::new()
            .item(Ref::from_schema_name(EventHead::name()))
            .item(Ref::from_schema_name(self.form.clone()))
            .item(ObjectBuilder::new().schema_type(Type::Object).property("event", tag).required("event"))
            .into()
    }
}

impl PartialSchema for EventView {
    fn schema() -> RefOr<Schema> {
        let kinds = EventKind::kinds();
        let address = |kind: &Kind| format!("#/components/schemas/{}", kind.component());
        let mapping = kinds.iter().map(|kind| (kind.event.to_owned(), address(kind)));
        let discriminator = Discriminator::with_mapping("event", mapping.collect::<Vec<_>>());
        let one_of = OneOfBuilder::new().description(Some("An event of a run.")).discriminator(Some(discriminator));
        kinds.iter().fold(one_of, |one_of, kind| one_of.item(Ref::from_schema_name(kind.component()))).into()
    }
}

impl ToSchema for EventView {
    fn schemas(schemas: &mut Schemas) {
        EventHead::schemas(schemas);
        schemas.push((EventHead::name().into(), EventHead::schema()));
        for kind in EventKind::kinds() {
            schemas.push((kind.component(), kind.composed()));
            schemas.push((kind.form.into(), kind.schema));
            schemas.extend(kind.more);
        }
    }
}
