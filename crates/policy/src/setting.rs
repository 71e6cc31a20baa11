//! A value together with where it was read, so that a secret is never shown.

use std::fmt;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It stands in the policy file.
    Literal,
    /// `{ env = "NAME" }`.
    Env(String),
    /// `{ file = "PATH" }`.
    File(String),
}

/// A value of the policy. Shown ([`Display`](fmt::Display), [`Debug`](fmt::Debug)) it is itself if
/// it stands in the file, else the place it was read from: values from the environment and from
/// files never appear in output.
///
/// ```
/// use jeton_policy::{Origin, Setting};
/// let token = Setting::new("s3cret".to_owned(), Origin::Env("TOKEN".to_owned()));
/// assert_eq!(token.get(), "s3cret");
/// assert_eq!(format!("{token} {token:?}"), "(from env TOKEN) (from env TOKEN)");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Setting<T> {
    value: T,
    origin: Origin,
}

impl<T> Setting<T> {
    /// A value that came from `origin`.
    pub const fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// A value that may be shown.
    pub const fn literal(value: T) -> Self {
        Self::new(value, Origin::Literal)
    }

    /// The value, to be used and not to be shown.
    pub const fn get(&self) -> &T {
        &self.value
    }

    /// Where it comes from.
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The value itself, if it may appear in output.
    pub fn into_shown(self) -> Option<T> {
        match self.origin {
            Origin::Literal => Some(self.value),
            Origin::Env(_) | Origin::File(_) => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.origin.hide(f).unwrap_or_else(|| self.value.fmt(f))
    }
}

impl<T: fmt::Debug> fmt::Debug for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.origin.hide(f).unwrap_or_else(|| self.value.fmt(f))
    }
}

impl Origin {
    /// Writes where a value comes from, unless it may be shown itself.
    fn hide(&self, f: &mut fmt::Formatter<'_>) -> Option<fmt::Result> {
        match self {
            Self::Literal => None,
            Self::Env(name) => Some(write!(f, "(from env {name})")),
            Self::File(path) => Some(write!(f, "(from file {path})")),
        }
    }
}
