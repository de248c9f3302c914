//! Names of servers, and the names under which their tools are registered.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use holdpoint_config::{KeyPath, Problem};
use sha2::{Digest as _, Sha256};

/// The longest name that every provider accepts.
pub const MAX_REGISTERED_NAME_BYTES: usize = 64;
/// The longest name of a server: half of a registered name stays for the tool.
pub const MAX_SERVER_NAME_BYTES: usize = 32;
/// How many hexadecimal digits of a hash tell changed names apart.
const HASH_DIGITS: usize = 12;
const SEPARATOR: &str = "__";

/// The name that a configuration gives to a server: letters, digits, `-` and single `_`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

impl ServerName {
    /// Checks a name.
    ///
    /// # Errors
    /// When tools could not be registered under it.
    pub fn new(name: &str) -> Result<Self, Problem> {
        let problem = if name.is_empty() {
            "is empty".to_owned()
        } else if name.len() > MAX_SERVER_NAME_BYTES {
            format!("is longer than {MAX_SERVER_NAME_BYTES} bytes")
        } else if !name.bytes().all(is_plain) {
            "may have letters, digits, `-` and `_` only".to_owned()
        } else if name.contains(SEPARATOR) || name.ends_with('_') {
            // The end of the server's name in a registered name would be unclear.
            "may neither have `__` nor end in `_`".to_owned()
        } else {
            return Ok(Self(name.into()));
        };
        Err(Problem::at_key(KeyPath::default(), format_args!("cannot name an MCP server: it {problem}")))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What tools of it have as their source.
    pub(crate) fn source(&self) -> Arc<str> {
        format!("mcp:{}", self.0).into()
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name under which a tool of a server is registered: `server__tool`. What models do not accept is replaced, and what
/// is too long is cut; then a hash of the true name is at the end, so that the name is the same after every start and
/// whatever other tools there are.
pub fn registered_name(server: &ServerName, tool: &str) -> String {
    let plain: String = tool.chars().map(|letter| if is_plain_char(letter) { letter } else { '_' }).collect();
    let whole = format!("{server}{SEPARATOR}{plain}");
    // A name that looks as if it had a hash gets one too: nobody can take the name of another tool by choosing it.
    if plain == tool && !tool.is_empty() && whole.len() <= MAX_REGISTERED_NAME_BYTES && !looks_hashed(&plain) {
        return whole;
    }
    let kept = &whole[..whole.len().min(MAX_REGISTERED_NAME_BYTES - HASH_DIGITS - 1)];
    format!("{kept}_{}", hash(server, tool))
}

fn hash(server: &ServerName, tool: &str) -> String {
    let digest = Sha256::new().chain_update(server.as_str()).chain_update([0]).chain_update(tool).finalize();
    digest.iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

fn looks_hashed(name: &str) -> bool {
    let bytes = name.as_bytes();
    let Some(start) = bytes.len().checked_sub(HASH_DIGITS + 1) else { return false };
    bytes[start] == b'_' && bytes[start + 1..].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_plain_char(letter: char) -> bool {
    u8::try_from(letter).is_ok_and(is_plain)
}
