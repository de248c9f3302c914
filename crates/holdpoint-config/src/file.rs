//! Small files.

use std::io::Read;
use std::path::Path;

/// Reads a file of at most `max_bytes` bytes. The error continues a sentence that begins with the file.
pub fn read_text(path: &Path, max_bytes: u64) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {}", error.kind());
    let file = std::fs::File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > max_bytes {
        return Err(format!("has more than {max_bytes} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
}
