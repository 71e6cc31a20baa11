//! Values that stand elsewhere: `{ env = "NAME" }` and `{ file = "PATH" }`.

use std::path::PathBuf;

use crate::diagnostic::{Fault, code};
use crate::setting::{Origin, Setting};

/// Why a value could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unresolved {
    /// There is no such variable or file.
    Absent,
    /// It is not text in UTF-8.
    NotText,
    /// It is a folder, a pipe or a device: reading it might never end.
    NotAFile,
    /// It is longer than [`MAX_REFERENCE_BYTES`].
    TooLong,
    /// Any other reason, in a few words that must not contain the value.
    Other(String),
}

/// Reads what a policy refers to. Passed in, so that this crate touches neither the environment
/// nor files.
///
/// A closure-like struct of the caller does; tests use a map.
///
/// ```
/// use jeton_policy::{Resolve, Unresolved};
/// struct Environment;
/// impl Resolve for Environment {
///     fn env(&self, name: &str) -> Result<String, Unresolved> {
///         std::env::var(name).map_err(|_| Unresolved::Absent)
///     }
///     fn file(&self, path: &str) -> Result<String, Unresolved> {
///         std::fs::read_to_string(path).map_err(|why| Unresolved::Other(why.kind().to_string()))
///     }
/// }
/// assert_eq!(Environment.env("no such variable"), Err(Unresolved::Absent));
/// ```
pub trait Resolve {
    /// The value of an environment variable.
    ///
    /// # Errors
    /// [`Unresolved`] if there is none or it is not text.
    fn env(&self, name: &str) -> Result<String, Unresolved>;

    /// The content of a file. One line end at its end is cut by the caller. Read no more than
    /// [`MAX_REFERENCE_BYTES`], and only what has an end.
    ///
    /// # Errors
    /// [`Unresolved`] if it cannot be read or is not text.
    fn file(&self, path: &str) -> Result<String, Unresolved>;

    /// A file that is part of the policy: its text, whole. Read no more than [`MAX_TEXT_BYTES`].
    ///
    /// # Errors
    /// [`Unresolved`] if it cannot be read or is not text.
    fn text(&self, path: &str) -> Result<String, Unresolved> {
        self.file(path)
    }

    /// The files in a folder and in the folders below it, as paths that [`Resolve::text`] takes, in the
    /// order of their names. Names that begin with a dot are passed over: such are the copies that
    /// Kubernetes keeps beside the files of a volume.
    ///
    /// # Errors
    /// [`Unresolved`] if it cannot be read; [`Unresolved::NotAFile`] if it is no folder;
    /// [`Unresolved::TooLong`] if there are more than [`MAX_FILES`].
    fn folder(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        let _ = path;
        Err(Unresolved::Absent)
    }

    /// Where a path points that stands in the policy. Without a word on it, relative ones begin where
    /// the process does.
    fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(path)
    }
}

/// Knows no variable and no file.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReferences;

impl Resolve for NoReferences {
    fn env(&self, _: &str) -> Result<String, Unresolved> {
        Err(Unresolved::Absent)
    }

    fn file(&self, _: &str) -> Result<String, Unresolved> {
        Err(Unresolved::Absent)
    }
}

/// The most bytes of a value that stands elsewhere: a longer one is not one that somebody typed.
pub const MAX_REFERENCE_BYTES: usize = 64 * 1024;

/// The most bytes of a file that is part of the policy.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// The most files that a folder of a policy has.
pub const MAX_FILES: usize = 1000;

/// The value behind a reference.
pub(super) fn resolve(resolver: &dyn Resolve, origin: Origin) -> Result<Setting<String>, Fault> {
    let (kind, name, result) = match &origin {
        Origin::Env(name) => ("environment variable", name, resolver.env(name)),
        Origin::File(path) => ("file", path, resolver.file(path)),
        Origin::Literal => ("text", &String::new(), Ok(String::new())),
    };
    let fault = |why: &str| Fault::new(code::REFERENCE, format!("the {kind} {name:?} {why}"));
    let too_long = || fault("is longer than 64 KiB").fix("a value that somebody typed");
    let is_file = matches!(origin, Origin::File(_));
    let mut text = result.map_err(|why| match why {
        Unresolved::Absent if is_file => {
            fault("does not exist").fix("create it; relative paths begin beside the policy")
        }
        Unresolved::Absent => fault("does not exist").fix("set it before starting"),
        Unresolved::NotText => fault("is not text in UTF-8").fix("a value in UTF-8"),
        Unresolved::NotAFile => {
            fault("is a folder, a pipe or a device").fix("the path of a regular file")
        }
        Unresolved::TooLong => too_long(),
        Unresolved::Other(why) => {
            fault(&format!("cannot be read: {why}")).fix("let this process read it")
        }
    })?;
    if is_file && text.ends_with('\n') {
        text.pop();
        text.truncate(text.trim_end_matches('\r').len());
    }
    match text.len() {
        0 => Err(fault("is empty").fix("give it a value")),
        len if len > MAX_REFERENCE_BYTES => Err(too_long()),
        _ => Ok(Setting::new(text, origin)),
    }
}
