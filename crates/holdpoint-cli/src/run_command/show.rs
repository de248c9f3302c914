//! What a run shows in the terminal while it goes on.

use std::io::{self, Write};

use holdpoint::{RunResult, StreamEvent};
use holdpoint_codec::view::{CallRef, EventKind};
use holdpoint_config::printable;
use holdpoint_core::Status;

use crate::print;

/// Standard output has what the agent says, or all events as JSON; standard error has the rest.
pub(super) struct Screen {
    json: bool,
    /// Whether a line of the agent's text is open.
    speaking: bool,
    /// What of the last message was shown piece by piece.
    shown: String,
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        Self { json, speaking: false, shown: String::new() }
    }

    pub(super) fn take(&mut self, event: &StreamEvent) {
        if self.json {
            return match event {
                StreamEvent::Durable(durable) => print::json(&**durable.view()),
                transient => print::json(&transient.to_json()),
            };
        }
        match event {
            StreamEvent::TextDelta(text) => self.speak(text),
            StreamEvent::ToolProgress { call, text } => {
                self.note(&format!("tool:  {} says: {}", printable::line(call.as_str()), printable::line(text)));
            }
            StreamEvent::Durable(durable) => self.durable(&durable.view().event),
            _ => {}
        }
    }

    fn durable(&mut self, event: &EventKind) {
        let tool = |call: &CallRef| printable::line(call.tool.as_deref().unwrap_or("a tool"));
        match event {
            EventKind::ToolStarted(started) => self.note(&format!("tool:  {} starts", tool(&started.call))),
            EventKind::ToolEnded(ended) => {
                self.note(&format!("tool:  {} {}", tool(&ended.call), ended.outcome.0.as_str()));
            }
            EventKind::MessageCompleted(_) => self.stop_speaking(),
            _ => {}
        }
    }

    fn speak(&mut self, text: &str) {
        if !self.speaking {
            self.shown.clear();
        }
        self.speaking = true;
        self.shown.push_str(text);
        let mut out = io::stdout();
        let _ = write!(out, "{}", printable::lines(text));
        let _ = out.flush();
    }

    fn stop_speaking(&mut self) {
        if std::mem::take(&mut self.speaking) {
            print::line("");
        }
    }

    fn note(&mut self, line: &str) {
        self.stop_speaking();
        eprintln!("{line}");
    }

    /// The end, or what the run waits for.
    pub(super) fn end(&mut self, result: &RunResult) {
        self.stop_speaking();
        let text = result.text().unwrap_or_default();
        if !self.json && !text.is_empty() && text != self.shown {
            print::line(printable::lines(&text));
        }
        if result.status() == Status::AwaitingToolResults {
            let tools: Vec<_> = result.pending().iter().map(|waiting| waiting.tool.to_string()).collect();
            eprintln!("\nThe run waits for workers: {}.", printable::line(&tools.join(", ")));
            eprintln!("`holdpoint worker` does such calls, and `holdpoint runs tail {}` follows.", result.run_id());
        }
        eprintln!(
            "\n{} turns, {} model calls, {} tool executions, {} tokens; stopped with `{}`.",
            result.turns(),
            result.model_calls(),
            result.tool_executions(),
            result.usage().total(),
            result.stop_reason().map_or_else(|| "nothing".to_owned(), |stop| stop.to_string())
        );
    }
}
