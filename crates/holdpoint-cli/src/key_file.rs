//! The file with the key that signs receipts: made on the first start, for its owner only.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use holdpoint::ReceiptKey;
use thiserror::Error;

/// What the line begins with.
const PREFIX: &str = "holdpoint-key-1 ";
const SEED_BYTES: usize = 32;
/// How many characters of the public key name it.
const ID_CHARS: usize = 12;

/// Why there is no key.
#[derive(Debug, Error)]
pub(crate) enum KeyFileError {
    /// It cannot be read or made.
    #[error("the key file `{}` cannot be {what}: {}", path.display(), cause.kind())]
    Unreachable {
        path: PathBuf,
        what: &'static str,
        #[source]
        cause: io::Error,
    },
    /// It is something else.
    #[error("the file `{}` does not hold a key\nhint: remove it, and a new key is made; receipts of the old one are not believed then", path.display())]
    NotAKey { path: PathBuf },
    /// Others can read it.
    #[error("the key file `{}` can be read by others\nhint: chmod 600 {}", path.display(), path.display())]
    Open { path: PathBuf },
    /// The system gives no random numbers.
    #[error("no key could be made: the system gives no random numbers")]
    NoRandomness,
}

/// The key and what it is made of. `Debug` shows nothing of it.
pub(crate) struct ServerKey {
    pub(crate) receipt: ReceiptKey,
    pub(crate) seed: [u8; SEED_BYTES],
    /// Whether it was made just now.
    pub(crate) made: bool,
}

/// Reads the key, or makes one where there is none.
pub(crate) fn load_or_make(path: &Path) -> Result<ServerKey, KeyFileError> {
    match load(path)? {
        Some(key) => Ok(key),
        None => make(path),
    }
}

/// Reads the key if there is one. Whoever is no server makes none.
pub(crate) fn load(path: &Path) -> Result<Option<ServerKey>, KeyFileError> {
    match std::fs::read_to_string(path) {
        Ok(text) => read(path, &text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(KeyFileError::Unreachable { path: path.to_owned(), what: "read", cause }),
    }
}

fn read(path: &Path, text: &str) -> Result<ServerKey, KeyFileError> {
    let not_a_key = || KeyFileError::NotAKey { path: path.to_owned() };
    check_mode(path)?;
    let digits = text.trim_end().strip_prefix(PREFIX).ok_or_else(not_a_key)?;
    let mut seed = [0; SEED_BYTES];
    if digits.len() != SEED_BYTES * 2 || !digits.is_ascii() {
        return Err(not_a_key());
    }
    for (byte, place) in seed.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&digits[place..place + 2], 16).map_err(|_| not_a_key())?;
    }
    of_seed(seed, false).ok_or_else(not_a_key)
}

fn of_seed(seed: [u8; SEED_BYTES], made: bool) -> Option<ServerKey> {
    // The id follows from the key, so that two servers with one file agree on it.
    let public = ReceiptKey::new("any", &seed).ok()?.public().to_text();
    let id: String = public.chars().take(ID_CHARS).collect();
    let receipt = ReceiptKey::new(&id, &seed).ok()?;
    Some(ServerKey { receipt, seed, made })
}

/// Writes a whole file beside and then gives it its name, so that of two servers that begin at once both have one key.
fn make(path: &Path) -> Result<ServerKey, KeyFileError> {
    let unreachable = |cause| KeyFileError::Unreachable { path: path.to_owned(), what: "made", cause };
    let seed = *ReceiptKey::generate("new").map_err(|_| KeyFileError::NoRandomness)?.expose_seed();
    let digits: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = write_private(&beside, &format!("{PREFIX}{digits}\n"));
    let named = written.and_then(|()| std::fs::hard_link(&beside, path));
    let _ = std::fs::remove_file(&beside);
    match named {
        Ok(()) => of_seed(seed, true).ok_or(KeyFileError::NoRandomness),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(path, &std::fs::read_to_string(path).map_err(unreachable)?)
        }
        Err(cause) => Err(unreachable(cause)),
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), KeyFileError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path)
        .map_err(|cause| KeyFileError::Unreachable { path: path.to_owned(), what: "read", cause })?
        .permissions()
        .mode();
    if mode & 0o077 == 0 { Ok(()) } else { Err(KeyFileError::Open { path: path.to_owned() }) }
}

#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<(), KeyFileError> {
    Ok(())
}

#[cfg(test)]
mod tests;
