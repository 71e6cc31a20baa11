//! A value that no output shows.

use std::fmt;

/// A value that no output shows.
///
/// ```
/// use jeton_policy::Secret;
/// let secret = Secret::new("hunter2".to_owned());
/// assert_eq!(format!("{secret} {secret:?}"), "(secret) (secret)");
/// assert_eq!(secret.expose(), "hunter2");
/// ```
///
/// Comparing two of them takes as long as they are alike: fine between two policies, wrong for
/// what a caller sends.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a value.
    pub const fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
