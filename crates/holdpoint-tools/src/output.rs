//! The limit on what one call may add to a conversation.

#[cfg(test)]
mod tests;

use holdpoint_core::{Block, ToolResult};

/// How a text that was cut ends.
pub const TRUNCATED: &str = "[truncated]";

/// Cuts a result so that all its blocks together have at most `bytes_max` bytes. Text is cut at a character and ends in
/// [`TRUNCATED`]; what cannot be cut is replaced by a sentence that says so. Kind and metadata stay.
pub fn limit_output(mut result: ToolResult, bytes_max: u64) -> ToolResult {
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let total: usize = result.blocks.iter().map(Block::len_bytes).sum();
    if total <= bytes_max {
        return result;
    }
    let mut left = bytes_max;
    let mut ahead = total;
    let mut kept = Vec::with_capacity(result.blocks.len());
    for block in result.blocks {
        let bytes = block.len_bytes();
        // Unless all that follows fits too, room stays for the marker, so that a cut can always be seen.
        let whole = ahead <= left || bytes + TRUNCATED.len() <= left;
        ahead -= bytes;
        let fitting = if whole { block } else { Block::text(shortened(&block, left, ahead)) };
        left -= fitting.len_bytes();
        if fitting.len_bytes() > 0 || kept.is_empty() {
            kept.push(fitting);
        }
    }
    result.blocks = kept;
    result
}

/// What remains of a block when `left` bytes may be used, and `ahead` bytes follow it.
fn shortened(block: &Block, left: usize, ahead: usize) -> String {
    let what = match block {
        Block::Text(text) => return cut_text(text, left),
        Block::Json(_) => "JSON value",
        Block::Image(_) => "image",
        Block::File(_) => "file",
    };
    let sentence = format!("Left out because it is too large: {what} of {} bytes.", block.len_bytes());
    let reserve = if ahead == 0 { 0 } else { TRUNCATED.len() };
    if sentence.len() + reserve <= left { sentence } else { cut_text(&sentence, left) }
}

/// At most `bytes_max` bytes; where even the marker does not fit, as much of it as does.
fn cut_text(text: &str, bytes_max: usize) -> String {
    let room = bytes_max.saturating_sub(TRUNCATED.len());
    let marker = &TRUNCATED[..bytes_max.min(TRUNCATED.len())];
    format!("{}{marker}", &text[..text.floor_char_boundary(room)])
}
