//! Whether a rule has a vote, and what becomes of its requests without a store.

use std::fmt;

use super::Share;

/// Whether a rule has a vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It can refuse a request.
    #[default]
    Enforce,
    /// It cannot, and no one is told: charged when it would allow and the request passes, else
    /// only counted.
    Shadow,
    /// It cannot; the service behind is told when it would have (`x-jeton-limited`).
    Mark,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Enforce, Self::Shadow, Self::Mark];

    /// Whether it can refuse a request.
    pub const fn has_vote(self) -> bool {
        matches!(self, Self::Enforce)
    }

    /// As policies write it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
            Self::Mark => "mark",
        }
    }

    /// The mode of that word.
    ///
    /// ```
    /// use jeton_policy::Mode;
    /// assert_eq!(Mode::of_word("mark"), Some(Mode::Mark));
    /// assert_eq!(Mode::of_word("off"), None);
    /// ```
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// To the engine, a rule that marks is one without a vote.
impl From<Mode> for jeton_core::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Enforce => Self::Enforce,
            Mode::Shadow | Mode::Mark => Self::Shadow,
        }
    }
}

/// What becomes of a request when the store gives no decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFailure {
    /// It passes.
    #[default]
    Allow,
    /// It is refused (503).
    Deny,
    /// Each process decides for itself, under this share of the limit.
    Local(Share),
}

/// As policies write it.
impl fmt::Display for OnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => f.write_str("allow"),
            Self::Deny => f.write_str("deny"),
            Self::Local(share) => write!(f, "{{ local = {share} }}"),
        }
    }
}
