//! The files of a folder that a policy names.

use std::fs;
use std::path::Path;

use jeton::policy::{MAX_FILES, Unresolved};

use super::unresolved;

/// Deeper folders than this hold no policy.
const DEEPEST: usize = 8;

/// The files of `folder`, which the policy calls `name`, in the order of their names; those below it
/// among them, and not those whose names begin with a dot.
pub(super) fn files_of(folder: &Path, name: &str) -> Result<Vec<String>, Unresolved> {
    if !fs::metadata(folder).map_err(unresolved)?.is_dir() {
        return Err(Unresolved::NotAFile);
    }
    let mut files = Vec::new();
    collect(folder, name.trim_end_matches('/'), DEEPEST, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(
    folder: &Path,
    name: &str,
    depth: usize,
    files: &mut Vec<String>,
) -> Result<(), Unresolved> {
    for entry in fs::read_dir(folder).map_err(unresolved)? {
        let entry = entry.map_err(unresolved)?;
        let own = entry.file_name();
        let own = own.to_str().ok_or(Unresolved::NotText)?;
        if own.starts_with('.') {
            continue;
        }
        let name = format!("{name}/{own}");
        // A link stands for what is behind it; Kubernetes mounts files as such. Whoever reads one that
        // leads nowhere says which it is.
        let is_folder = fs::metadata(entry.path()).is_ok_and(|found| found.is_dir());
        match (is_folder, depth) {
            (false, _) if files.len() >= MAX_FILES => return Err(Unresolved::TooLong),
            (false, _) => files.push(name),
            (true, 0) => return Err(Unresolved::TooLong),
            (true, _) => collect(&entry.path(), &name, depth - 1, files)?,
        }
    }
    Ok(())
}
