//! What is fuzzed. A target gets any bytes; it must not panic, must answer with a code of its own family, and what it
//! accepts must survive being written and read again.

mod arguments;
mod continuation;
mod event;
mod grant;
mod queue;
mod result;
mod sample;
mod scenario;
mod tasks;

/// Something that reads what comes from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Arguments of a call, as a model writes them.
    Arguments,
    /// Portable continuations.
    Continuation,
    /// Task payloads.
    Tasks,
    /// Results that are delivered from outside.
    Result,
    /// Events as the store keeps them.
    Event,
    /// Tasks, deliveries and audit documents as the store keeps them.
    Queue,
    /// Grants as the store keeps them and as they are asked for.
    Grant,
    /// Scenario files.
    Scenario,
}

impl Target {
    /// Every target.
    pub const ALL: [Target; 8] = [
        Target::Arguments,
        Target::Continuation,
        Target::Tasks,
        Target::Result,
        Target::Event,
        Target::Queue,
        Target::Grant,
        Target::Scenario,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::Arguments => "arguments",
            Target::Continuation => "continuation",
            Target::Tasks => "tasks",
            Target::Result => "result",
            Target::Event => "event",
            Target::Queue => "queue",
            Target::Grant => "grant",
            Target::Scenario => "scenario",
        }
    }

    /// Good files to start from.
    pub fn corpus(self) -> Vec<Vec<u8>> {
        match self {
            Target::Arguments => arguments::corpus(),
            Target::Continuation => continuation::corpus(),
            Target::Tasks => tasks::corpus(),
            Target::Result => result::corpus(),
            Target::Event => event::corpus(),
            Target::Queue => queue::corpus(),
            Target::Grant => grant::corpus(),
            Target::Scenario => scenario::corpus(),
        }
    }

    /// Runs the target.
    ///
    /// # Errors
    /// What was wrong, if it did not panic but did wrong.
    pub fn check(self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Target::Arguments => arguments::check(bytes),
            Target::Continuation => continuation::check(bytes),
            Target::Tasks => tasks::check(bytes),
            Target::Result => result::check(bytes),
            Target::Event => event::check(bytes),
            Target::Queue => queue::check(bytes),
            Target::Grant => grant::check(bytes),
            Target::Scenario => scenario::check(bytes),
        }
    }
}

/// Fails with a sentence unless something holds.
fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
