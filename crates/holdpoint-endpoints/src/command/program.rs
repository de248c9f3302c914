//! Finding a program once, when the tool is made.

use std::path::{Path, PathBuf};

use crate::Surroundings;

/// The program's own path. Found at the beginning, so that neither a changed `PATH` nor a file in the working folder can
/// put another in its place. The error is a problem to be read after the key.
pub(super) fn find(name: &str, surroundings: &Surroundings) -> Result<PathBuf, String> {
    let missing = || format!("names the program `{name}`, which is not found or may not be run");
    if name.is_empty() || name.contains(['\0', '{', '}']) {
        return Err("must begin with a program, which no argument can change".to_owned());
    }
    if name.contains('/') {
        let path = surroundings.path(Path::new(name));
        return is_program(&path).then(|| absolute(path)).ok_or_else(missing);
    }
    let path = surroundings.variable("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|path| is_program(path)).ok_or_else(missing)
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
