//! Reading what a program writes: all of it is taken from the pipe, and no more than the limit is kept.

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much of what a program says about its errors is kept.
pub(super) const MAX_STDERR_BYTES: usize = 16 * 1024;

const CHUNK_BYTES: usize = 16 * 1024;

/// What a program wrote.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) max_bytes: usize,
    pub(super) is_cut: bool,
}

impl Kept {
    pub(super) fn up_to(max_bytes: usize) -> Self {
        Self { bytes: Vec::new(), max_bytes, is_cut: false }
    }

    /// Reads to the end. A program that writes more than is kept is not held up by a full pipe.
    pub(super) async fn read_from(&mut self, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(read) = pipe.read(&mut chunk).await {
            if read == 0 {
                return;
            }
            let room = self.max_bytes.saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..read.min(room)]);
            self.is_cut |= read > room;
        }
    }

    /// As text; what is not UTF-8 is replaced.
    pub(super) fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        // The cut may have gone through a character.
        while self.is_cut && text.ends_with(char::REPLACEMENT_CHARACTER) {
            text.pop();
        }
        text
    }
}
