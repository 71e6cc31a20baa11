//! Policy files from disk.

use std::fs;
use std::io;
use std::path::Path;

use jeton::policy::{Loaded, Policy, Report, Resolve, Source, Unresolved};

use super::failure::Failure;

/// A larger file is not a policy that somebody wrote.
const LONGEST: u64 = 4 << 20;

/// Reads and checks a policy file.
pub(super) fn load(path: &Path) -> Result<Loaded, Failure> {
    parse(path, read(path)?).map_err(Failure::Policy)
}

/// The text of a policy file.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let text = match fs::metadata(path) {
        Ok(found) if found.len() > LONGEST => {
            return Err(Failure::new(format!(
                "{shown} is larger than 4 MiB, so it is no policy"
            )));
        }
        _ => fs::read_to_string(path),
    };
    text.map_err(|error| {
        Failure::new(match error.kind() {
            io::ErrorKind::NotFound => format!(
                "there is no file {shown}; name one with --config FILE, or start without one: \
                 jeton proxy --upstream http://127.0.0.1:3000 --limit 100/min"
            ),
            io::ErrorKind::InvalidData => format!("{shown} is not text in UTF-8"),
            io::ErrorKind::IsADirectory => format!("{shown} is a folder; name the file in it"),
            _ => format!("{shown} cannot be read: {error}"),
        })
    })
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
        fs::read_to_string(self.folder.join(path)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unresolved::Absent,
            io::ErrorKind::InvalidData => Unresolved::NotText,
            kind => Unresolved::Other(kind.to_string()),
        })
    }
}
