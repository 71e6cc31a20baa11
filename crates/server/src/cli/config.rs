//! Policy files from disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use jeton::policy::{Loaded, MAX_REFERENCE_BYTES, Policy, Report, Resolve, Source, Unresolved};

use super::failure::Failure;

/// A larger file is not a policy that somebody wrote.
const LONGEST: usize = 4 << 20;

/// Reads and checks a policy file.
pub(super) fn load(path: &Path) -> Result<Loaded, Failure> {
    parse(path, read(path)?).map_err(Failure::Policy)
}

/// The text of a policy file.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let bytes = read_at_most(path, LONGEST).map_err(|error| {
        Failure::new(match error.kind() {
            io::ErrorKind::NotFound => format!(
                "there is no file {shown}; name one with --config FILE, or start without one: \
                 jeton proxy --upstream http://127.0.0.1:3000 --limit 100/min"
            ),
            io::ErrorKind::IsADirectory => format!("{shown} is a folder; name the file in it"),
            _ => format!("{shown} cannot be read: {error}"),
        })
    })?;
    let bytes = bytes.ok_or_else(|| {
        Failure::new(format!(
            "{shown} is larger than 4 MiB, so it is no policy; name the policy with --config FILE"
        ))
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let (before, _) = error.as_bytes().split_at(valid);
        let (line, column) = place(&String::from_utf8_lossy(before));
        Failure::new(format!(
            "{shown}:{line}:{column}: this is not text in UTF-8; save the file as UTF-8"
        ))
    })
}

/// Line and column of what follows a text, both from 1.
fn place(before: &str) -> (usize, usize) {
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, last.chars().count() + 1)
}

/// The content of a file; none if there is more of it.
fn read_at_most(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let most_and_one = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?
        .take(most_and_one)
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most).then_some(bytes))
}

/// Checks the text of a policy file.
pub(super) fn parse(path: &Path, text: String) -> Result<Loaded, Report> {
    let name = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new(""));
    Policy::load(&Source::new(name, text), &Machine { folder })
}

/// The environment and the files of this machine; relative paths begin beside the policy.
struct Machine<'a> {
    folder: &'a Path,
}

impl Resolve for Machine<'_> {
    fn env(&self, name: &str) -> Result<String, Unresolved> {
        std::env::var(name).map_err(|error| match error {
            std::env::VarError::NotPresent => Unresolved::Absent,
            std::env::VarError::NotUnicode(_) => Unresolved::NotText,
        })
    }

    fn file(&self, path: &str) -> Result<String, Unresolved> {
        let path = self.folder.join(path);
        // Opening a pipe waits for a writer, so this comes first.
        if !fs::metadata(&path).map_err(unresolved)?.is_file() {
            return Err(Unresolved::NotAFile);
        }
        // A line end at the end is not part of the value.
        let bytes = read_at_most(&path, MAX_REFERENCE_BYTES + 2).map_err(unresolved)?;
        String::from_utf8(bytes.ok_or(Unresolved::TooLong)?).map_err(|_| Unresolved::NotText)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unresolved(error: io::Error) -> Unresolved {
    match error.kind() {
        io::ErrorKind::NotFound => Unresolved::Absent,
        kind => Unresolved::Other(kind.to_string()),
    }
}
