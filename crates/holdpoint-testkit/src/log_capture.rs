//! Keeps everything that is logged or traced while a scenario runs.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// What was logged or traced: targets, names, messages and all fields. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogCapture {
    text: Arc<Mutex<String>>,
}

impl LogCapture {
    /// A dispatcher that brings everything here, at every level.
    pub(crate) fn dispatch(&self) -> Dispatch {
        Dispatch::new(tracing_subscriber::registry().with(CaptureLayer { capture: self.clone() }))
    }

    /// Adds a line.
    pub(crate) fn line(&self, line: fmt::Arguments<'_>) {
        let mut text = self.locked();
        // Writing to a `String` cannot fail.
        let _ = text.write_fmt(line);
        text.push('\n');
    }

    /// Everything so far.
    pub(crate) fn text(&self) -> String {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct CaptureLayer {
    capture: LogCapture,
}

impl CaptureLayer {
    fn keep(&self, kind: &str, metadata: &Metadata<'_>, fields: &str) {
        let (level, target, name) = (metadata.level(), metadata.target(), metadata.name());
        self.capture.line(format_args!("{kind} {level} {target} {name}{fields}"));
    }
}

impl<S: Subscriber> Layer<S> for CaptureLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        self.keep("span", attributes.metadata(), &fields.0);
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.capture.line(format_args!("record{}", fields.0));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.keep("event", event.metadata(), &fields.0);
    }
}

/// Fields as ` name=value`. Texts are kept as they are, so that a substring is found whatever is in it.
#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, " {}={value}", field.name());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let _ = write!(self.0, " {}={value} {value:?}", field.name());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fields_and_spans_are_kept() {
        let capture = LogCapture::default();
        tracing::dispatcher::with_default(&capture.dispatch(), || {
            let span = tracing::trace_span!("work", a = "span field", late = tracing::field::Empty);
            span.record("late", "recorded later");
            let _entered = span.enter();
            tracing::warn!(tool = "nuke", n = 7, "a message with \"quotes\"");
        });
        let text = capture.text();
        for part in ["work", "span field", "recorded later", "tool=nuke", "n=7", "a message with \"quotes\""] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }
}
