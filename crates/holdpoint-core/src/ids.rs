//! Names of things: newtypes, never bare strings or integers.

use std::fmt;
use std::sync::Arc;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

text_id! {
    /// One run: stable over all its turns, pauses and resumes. Made outside the core, never guessable.
    RunId
}
text_id! {
    /// The id of a call as people, messages and records show it: unique within its turn.
    CallId
}
text_id! {
    /// The name that the model wrote. For display and look-up only.
    RequestedName
}
text_id! {
    /// The name of a registered tool: what policy, executors, limits and audit see. Made by the registry when it
    /// resolves a requested name, and by the codec when it reads back what was resolved.
    ToolName
}
text_id! {
    /// Equal over attempts, crashes, workers and imports of one call. Made by the codec from run, turn, index and digest.
    IdempotencyKey
}

text_id! {
    /// The name of a grant: nobody else has it.
    GrantId
}

impl GrantId {
    /// A grant by the run in which it was given and its number there.
    pub fn of(run: &RunId, number: u32) -> Self {
        Self::new(format!("{run}.g{number}"))
    }

    /// The run in which it was given.
    pub fn run(&self) -> Option<RunId> {
        split_id(self.as_str(), ".g").map(|(run, _)| run)
    }
}

number_id! {
    /// A turn of a run, counted from 1 over all resumes. 0 before the first.
    Turn(u32)
}
number_id! {
    /// The place of a call within its turn, from 0.
    CallIndex(u32)
}
number_id! {
    /// How often a call was started, from 1.
    Attempt(u32)
}
number_id! {
    /// The number of a lease of a task: each lease of it has a higher one. It decides whose result counts, not the clock.
    ///
    /// A store never uses a fence twice for one call, also when the task is closed and opened again: a result that comes
    /// late from the first opening matches nothing.
    Fence(u64)
}
number_id! {
    /// How many events of a run are durable; also the sequence number of the last one.
    Revision(u64)
}
number_id! {
    /// Counts the processes that owned a run: a takeover starts a new epoch.
    Epoch(u32)
}
number_id! {
    /// Counts the pauses of a run, from 1.
    PauseNumber(u32)
}

impl Turn {
    /// The turn after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl CallIndex {
    /// As an index into the calls of a turn.
    pub fn as_usize(self) -> usize {
        self.0 as usize
    }

    /// From an index into the calls of a turn. The number of calls per turn is limited far below `u32::MAX`.
    pub fn from_usize(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

impl Attempt {
    /// The attempt after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Our key of a call: the provider's id may be blank or repeat, this cannot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The run.
    pub run: RunId,
    /// The turn.
    pub turn: Turn,
    /// The place within the turn.
    pub index: CallIndex,
}

/// All partial resumes of one turn share its batch: work and results are keyed by (run, batch, call).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BatchId {
    /// The run.
    pub run: RunId,
    /// The turn.
    pub turn: Turn,
}

/// One pause of one run. Works once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContinuationId {
    /// The run.
    pub run: RunId,
    /// Which pause of it.
    pub pause: PauseNumber,
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.b{}", self.run, self.turn)
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.b{}.c{}", self.run, self.turn, self.index)
    }
}

impl fmt::Display for ContinuationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.p{}", self.run, self.pause)
    }
}

fn split_id(text: &str, mark: &str) -> Option<(RunId, u32)> {
    let (run, number) = text.rsplit_once(mark)?;
    let canonical = !run.is_empty() && (number == "0" || !number.starts_with('0'));
    let digits = number.bytes().all(|b| b.is_ascii_digit());
    if !canonical || !digits {
        return None;
    }
    Some((RunId::new(run), number.parse().ok()?))
}

impl BatchId {
    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (run, turn) = split_id(text, ".b")?;
        Some(Self { run, turn: Turn(turn) })
    }
}

impl CallKey {
    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (batch, index) = split_id(text, ".c")?;
        let BatchId { run, turn } = BatchId::parse(batch.as_str())?;
        Some(Self { run, turn, index: CallIndex(index) })
    }
}

impl ContinuationId {
    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (run, pause) = split_id(text, ".p")?;
        Some(Self { run, pause: PauseNumber(pause) })
    }
}

/// A moment, in microseconds since 1970. The core never reads a clock: every moment comes in with an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment, later by so many milliseconds.
    pub fn plus_ms(self, ms: u64) -> Self {
        let us = i64::try_from(ms.saturating_mul(1000)).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(us))
    }

    /// Milliseconds from `earlier` to this moment, 0 if it is later.
    pub fn ms_since(self, earlier: Timestamp) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0) / 1000
    }
}

/// SHA-256 over a registered name and canonical arguments: what an answer is bound to. The core compares it and never
/// makes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Digest {
    /// Reads 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 64 || !bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut out = [0; 32];
        for (slot, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
            let text = std::str::from_utf8(pair).ok()?;
            *slot = u8::from_str_radix(text, 16).ok()?;
        }
        Some(Self(out))
    }
}
