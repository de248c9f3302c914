//! The digest of a question: what is shown with it, and what an answer must name.

use std::sync::Arc;

use holdpoint_core::{Block, Digest, Event, FourEyes, LogEntry, QuestionFacts, Run, RunId, Snapshot};
use sha2::{Digest as _, Sha256};

/// A run that nothing happened to, whose questions have digests.
pub fn new_run(id: RunId) -> Run {
    Run::new(id, question_digest)
}

/// A run as it was when it was exported.
pub fn imported_run(id: RunId, snapshot: Arc<Snapshot>) -> Run {
    let mut run = new_run(id);
    run.apply(&LogEntry { at: snapshot.created_at, event: Event::Imported(snapshot) });
    run
}

/// Covers everything that a question shows: its kind, the call, its number among the questions of that call, the attempt, the
/// tool with its whole definition, the arguments, the terms, and for input the text and schema of the request.
pub fn question_digest(facts: &QuestionFacts<'_>) -> Digest {
    let mut parts = Parts(Sha256::new());
    parts.text("holdpoint.question.1");
    parts.text(facts.kind.as_str());
    parts.text(facts.run.as_str());
    parts.number(facts.turn.0);
    parts.number(facts.index.0);
    parts.number(facts.number);
    parts.number(facts.attempt.0);
    parts.text(facts.tool.as_str());
    parts.bytes(&facts.arguments.0);
    parts.text(facts.definition.unwrap_or_default());
    parts.count(facts.terms.approvers.len());
    facts.terms.approvers.iter().for_each(|role| parts.text(role));
    parts.number(facts.terms.quorum);
    parts.number(u32::from(facts.terms.four_eyes == FourEyes::On));
    let blocks = facts.asks.map(|asks| &asks.blocks[..]).unwrap_or_default();
    parts.count(blocks.len());
    for block in blocks {
        match block {
            Block::Text(text) => parts.text(text),
            Block::Json(json) => parts.text(json.expose()),
            Block::Image(blob) | Block::File(blob) => parts.bytes(&blob.bytes),
        }
    }
    Digest(parts.0.finalize().into())
}

/// Each part with its length first, so that no two questions are one text.
struct Parts(Sha256);

impl Parts {
    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn number(&mut self, number: u32) {
        self.0.update(number.to_be_bytes());
    }

    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_be_bytes());
    }
}
