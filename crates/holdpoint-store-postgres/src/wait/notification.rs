//! What other processes are told, as the text of one notification.

use std::fmt::Write;

use holdpoint_core::Revision;
use holdpoint_store::Topics;

/// PostgreSQL takes less than 8,000 bytes.
pub(super) const PAYLOAD_BYTES_MAX: usize = 7_900;
/// How many moves are kept until the next notification. More of them become "look at everything".
const MOVES_MAX: usize = 1_000;

const TASKS: &str = "t";
const RUNS: &str = "r";
const QUESTIONS: &str = "q";
const EVERYTHING: &str = "*";

/// Moves of runs, and which topics have something new.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Notification {
    /// Runs by their numbers, and how many records they have.
    pub(super) moves: Vec<(i64, Revision)>,
    pub(super) topics: Topics,
    /// Too much to name.
    pub(super) everything: bool,
}

impl Notification {
    pub(super) fn is_empty(&self) -> bool {
        self.moves.is_empty() && self.topics == Topics::default() && !self.everything
    }

    pub(super) fn run(&mut self, run_no: i64, revision: Revision) {
        if self.moves.len() < MOVES_MAX {
            self.moves.push((run_no, revision));
        } else {
            self.everything = true;
        }
    }

    /// Words with spaces between them: topics by a letter, a run as `number:revision` in hexadecimal.
    pub(super) fn to_payload(&self) -> String {
        let mut text = String::with_capacity(16 * self.moves.len() + 4);
        let Topics { tasks, runs, questions } = self.topics;
        for (_, letter) in [(tasks, TASKS), (runs, RUNS), (questions, QUESTIONS)].into_iter().filter(|(new, _)| *new) {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(letter);
        }
        for (run_no, revision) in &self.moves {
            let space = if text.is_empty() { "" } else { " " };
            // Writing into a string cannot fail.
            let _ = write!(text, "{space}{run_no:x}:{:x}", revision.0);
        }
        if self.everything || text.len() > PAYLOAD_BYTES_MAX { EVERYTHING.to_owned() } else { text }
    }

    /// Unknown words may be of a newer version: then everything may have changed.
    pub(super) fn from_payload(payload: &str) -> Self {
        let mut notification = Self::default();
        for word in payload.split_ascii_whitespace() {
            match word {
                TASKS => notification.topics.tasks = true,
                RUNS => notification.topics.runs = true,
                QUESTIONS => notification.topics.questions = true,
                run => match parse(run) {
                    Some((run_no, revision)) => notification.moves.push((run_no, revision)),
                    None => notification.everything = true,
                },
            }
        }
        notification
    }
}

fn parse(word: &str) -> Option<(i64, Revision)> {
    let (run_no, revision) = word.split_once(':')?;
    Some((i64::from_str_radix(run_no, 16).ok()?, Revision(u64::from_str_radix(revision, 16).ok()?)))
}
