//! Reading below a folder's handle, never through a link.

use std::io::{self, Read};
use std::time::UNIX_EPOCH;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};
use sha2::{Digest, Sha256};

use crate::SkillPath;
use crate::skill::FILE;

/// The largest file that is read.
pub const FILE_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// The most files that are listed for one skill.
pub const FILES_LISTED_MAX: usize = 200;
/// How deep the list of files goes.
pub const FOLDER_DEPTH_MAX: usize = 8;

/// The most entries of one skill's folders that are looked at.
const ENTRIES_MAX: usize = 5000;

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// It is not there, or something on the way to it is a link.
    NotThere,
    /// It is a folder, a pipe, a device, a socket.
    NotAFile,
    /// Above the limit.
    TooLarge,
    /// The system could not read it.
    Failed(io::Error),
}

/// Opens a folder below another. A link is refused.
pub(crate) fn open_folder(parent: &Dir, name: &str) -> io::Result<Dir> {
    parent.open_dir_nofollow(name)
}

/// Reads a file below a folder, at most `bytes_max` bytes of it.
pub(crate) fn read(folder: &Dir, path: &SkillPath, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
    let (folders, name) = path.split();
    let mut inner: Option<Dir> = None;
    for part in folders {
        let next = open_folder(inner.as_ref().unwrap_or(folder), part).map_err(|error| not_there(&error))?;
        inner = Some(next);
    }
    read_entry(inner.as_ref().unwrap_or(folder), name, bytes_max)
}

/// Reads an entry of a folder.
pub(crate) fn read_entry(folder: &Dir, name: &str, bytes_max: u64) -> Result<Vec<u8>, ReadError> {
    let file = open_file(folder, name)?;
    let mut bytes = Vec::new();
    // A file may grow while it is read: the limit counts what comes, not what was announced.
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(ReadError::Failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > bytes_max) { Err(ReadError::TooLarge) } else { Ok(bytes) }
}

fn open_file(folder: &Dir, name: &str) -> Result<File, ReadError> {
    // Opening a device may already do something, so it is looked at first; what was opened is looked at again.
    let entry = folder.symlink_metadata(name).map_err(|error| not_there(&error))?;
    if entry.is_symlink() {
        return Err(ReadError::NotThere);
    }
    if !entry.is_file() {
        return Err(ReadError::NotAFile);
    }
    let mut options = OpenOptions::new();
    // Without `nonblock`, a pipe that was put there meanwhile would wait for its writer.
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options).map_err(|error| not_there(&error))?;
    let opened = file.metadata().map_err(ReadError::Failed)?;
    if opened.is_file() { Ok(file) } else { Err(ReadError::NotAFile) }
}

fn not_there(_: &io::Error) -> ReadError {
    // Whether it is missing, a link, or not permitted makes no difference to whoever asks.
    ReadError::NotThere
}

/// The files below a folder, without its `SKILL.md`, and a digest that changes when one of them or that does.
pub(crate) struct Listing {
    pub(crate) files: Vec<String>,
    pub(crate) truncated: bool,
    pub(crate) digest: [u8; 32],
}

/// Lists what can be read below a folder: no links, nothing hidden, nothing special.
pub(crate) fn list(folder: &Dir) -> io::Result<Listing> {
    let mut walk = Walk { files: Vec::new(), looked_at: 0, truncated: false };
    walk.folder(folder, "", 0)?;
    walk.files.sort();
    let mut digest = Sha256::new();
    for (path, bytes, modified) in &walk.files {
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update(bytes.to_le_bytes());
        digest.update(modified.to_le_bytes());
    }
    let mut files: Vec<String> = walk.files.into_iter().map(|(path, ..)| path).filter(|path| path != FILE).collect();
    let truncated = walk.truncated || files.len() > FILES_LISTED_MAX;
    files.truncate(FILES_LISTED_MAX);
    Ok(Listing { files, truncated, digest: digest.finalize().into() })
}

struct Walk {
    files: Vec<(String, u64, u128)>,
    looked_at: usize,
    truncated: bool,
}

impl Walk {
    fn folder(&mut self, folder: &Dir, prefix: &str, depth: usize) -> io::Result<()> {
        for entry in folder.entries()? {
            let entry = entry?;
            self.looked_at += 1;
            if self.looked_at > ENTRIES_MAX {
                self.truncated = true;
                return Ok(());
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{prefix}{name}");
            // What could not be read is not listed either.
            if SkillPath::parse(&path).is_err() {
                continue;
            }
            let Ok(metadata) = folder.symlink_metadata(&name) else { continue };
            if metadata.is_file() {
                let modified = metadata.modified().ok().and_then(|at| at.into_std().duration_since(UNIX_EPOCH).ok());
                self.files.push((path, metadata.len(), modified.map_or(0, |at| at.as_nanos())));
            } else if metadata.is_dir() {
                if depth == FOLDER_DEPTH_MAX {
                    self.truncated = true;
                } else if let Ok(inner) = open_folder(folder, &name) {
                    self.folder(&inner, &format!("{path}/"), depth + 1)?;
                }
            }
        }
        Ok(())
    }
}
