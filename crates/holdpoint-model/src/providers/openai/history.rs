//! Remembers what conversations look like on the wire.
//!
//! A message never changes, so it is written once: the text of a conversation grows with it, and a request copies it in
//! one piece. Messages are known by their address, which cannot be given to another while the one that is remembered is
//! kept alive here.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_core::{Message, Role};

/// Shorter conversations are written again each time: remembering them would not be quicker.
pub(super) const MESSAGES_MIN: usize = 16;
/// How many conversations are remembered, the latest ones.
pub(super) const CONVERSATIONS_MAX: usize = 64;
/// How many bytes of text are remembered in all. A longer conversation is not remembered.
pub(super) const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Writes one message as elements of a JSON array.
pub(crate) trait Write {
    /// Appends the message's elements, with commas between them.
    fn write(&self, message: &Message, out: &mut Vec<u8>);

    /// What belongs to a tool's result but cannot stand in it: it comes after the last result of the turn.
    fn write_after(&self, message: &Message) -> Option<Vec<u8>> {
        let _ = message;
        None
    }
}

/// The text of a conversation, as far as it was written.
#[derive(Default)]
pub(super) struct Written {
    messages: Vec<Arc<Message>>,
    /// Where each message ends in the text.
    ends: Vec<usize>,
    /// What waits behind each message until the results are over.
    after: Vec<Option<Vec<u8>>>,
    text: Vec<u8>,
}

impl Written {
    /// Brings the text to where the conversation is.
    fn catch_up(&mut self, messages: &[Arc<Message>], writer: &(impl Write + ?Sized)) {
        let same = self.common(messages);
        self.messages.truncate(same);
        self.after.truncate(same);
        self.ends.truncate(same);
        self.text.truncate(self.ends.last().copied().unwrap_or_default());
        for message in &messages[same..] {
            if message.role() != Role::Tool {
                self.flush();
            }
            separate(&mut self.text);
            writer.write(message, &mut self.text);
            self.ends.push(self.text.len());
            self.after.push(writer.write_after(message));
            self.messages.push(Arc::clone(message));
        }
    }

    fn common(&self, messages: &[Arc<Message>]) -> usize {
        self.messages.iter().zip(messages).take_while(|(one, other)| Arc::ptr_eq(one, other)).count()
    }

    /// What waits behind the last results.
    fn waiting(&self) -> impl Iterator<Item = &Vec<u8>> {
        let results = self.messages.iter().rev().take_while(|message| message.role() == Role::Tool).count();
        self.after[self.after.len() - results..].iter().flatten()
    }

    fn flush(&mut self) {
        let waiting: Vec<Vec<u8>> = self.waiting().cloned().collect();
        for elements in waiting {
            separate(&mut self.text);
            self.text.extend_from_slice(&elements);
        }
    }

    /// Appends all elements.
    fn copy_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text);
        for elements in self.waiting() {
            if !self.text.is_empty() {
                out.push(b',');
            }
            out.extend_from_slice(elements);
        }
    }
}

fn separate(text: &mut Vec<u8>) {
    if !text.is_empty() {
        text.push(b',');
    }
}

/// The conversations that are remembered, the latest last.
#[derive(Default)]
pub(super) struct Histories {
    kept: Mutex<Vec<Written>>,
}

impl Histories {
    /// Appends the elements of a conversation.
    pub(super) fn append(&self, messages: &[Arc<Message>], writer: &(impl Write + ?Sized), out: &mut Vec<u8>) {
        if messages.len() < MESSAGES_MIN {
            let mut written = Written::default();
            written.catch_up(messages, writer);
            written.copy_to(out);
            return;
        }
        // Nobody waits for another conversation: the text is taken out while it is worked on.
        let mut written = self.take(messages).unwrap_or_default();
        written.catch_up(messages, writer);
        out.reserve(written.text.len() + written.text.len() / 8);
        written.copy_to(out);
        self.keep(written);
    }

    /// The text that has most in common with this conversation, if it is the same one.
    fn take(&self, messages: &[Arc<Message>]) -> Option<Written> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, common) = kept
            .iter()
            .enumerate()
            .map(|(place, written)| (place, written.common(messages)))
            .max_by_key(|(_, common)| *common)?;
        (common > 0).then(|| kept.remove(place))
    }

    fn keep(&self, written: Written) {
        if written.text.len() > BYTES_MAX {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(written);
        let mut bytes: usize = kept.iter().map(|written| written.text.len()).sum();
        while kept.len() > CONVERSATIONS_MAX || bytes > BYTES_MAX {
            bytes -= kept.remove(0).text.len();
        }
    }
}
