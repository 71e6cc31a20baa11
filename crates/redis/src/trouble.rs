//! What is wrong with a server, in words, and as the engine's kinds of errors.

use std::fmt;

use jeton_core::{StoreError, StoreErrorKind, Written};
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Another node of a cluster has the slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirection {
    /// `host:port`.
    pub(crate) node: String,
    /// Only for this one call: the slot is moving.
    pub(crate) asking: bool,
}

/// Why a server does not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What kind.
    pub kind: TroubleKind,
    /// The server's or the system's own words.
    pub text: String,
}

/// How Redis 7.0 and 8 tell what may not be done where they have no code for it: by a script, or by
/// anybody, since the command was taken away.
const FORBIDDEN: [&str; 5] = [
    "no permissions to run the", // in a handshake, which drops the code
    "The user executing the script can't",
    "ACL failure in script",
    "unknown command",
    "Unknown Redis command called from script",
];

/// So much is told of what a server says: it may be anything that speaks.
const MOST_CHARS: usize = 300;

/// What kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TroubleKind {
    /// No connection, or one that was cut.
    Unreachable,
    /// No answer within the time allowed.
    Hangs,
    /// It is still reading its data (`LOADING`), or busy with another script (`BUSY`).
    NotReady,
    /// It is out of memory (`OOM`): see `maxmemory`.
    OutOfMemory,
    /// The password or the user is wrong or missing (`NOAUTH`, `WRONGPASS`).
    Unauthenticated,
    /// The user may not run the commands or touch the keys (`NOPERM`).
    Forbidden,
    /// It is a replica (`READONLY`), or cut off from its cluster.
    NotPrimary,
    /// The value at a key is of another type (`WRONGTYPE`).
    WrongType,
    /// The server does not have the script (`NOSCRIPT`).
    NoScript,
    /// It cannot write to its disk (`MISCONF`), or wants replicas (`NOREPLICAS`).
    CannotPersist,
    /// What is there is not what the URL names: another deployment, no Redis, no such database.
    Misnamed,
    /// Anything else.
    Other,
}

impl TroubleKind {
    /// A word for metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Hangs => "timeout",
            Self::NotReady => "not_ready",
            Self::OutOfMemory => "out_of_memory",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotPrimary => "not_primary",
            Self::WrongType => "wrong_type",
            Self::NoScript => "no_script",
            Self::CannotPersist => "cannot_persist",
            Self::Misnamed => "misnamed",
            Self::Other => "other",
        }
    }

    fn of_code(code: &str) -> Self {
        match code {
            "LOADING" | "BUSY" => Self::NotReady,
            "OOM" => Self::OutOfMemory,
            "NOAUTH" | "WRONGPASS" => Self::Unauthenticated,
            "NOPERM" => Self::Forbidden,
            "MOVED" | "ASK" | "READONLY" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" => {
                Self::NotPrimary
            }
            "WRONGTYPE" => Self::WrongType,
            "NOSCRIPT" => Self::NoScript,
            "MISCONF" | "NOREPLICAS" => Self::CannotPersist,
            _ => Self::Other,
        }
    }
}

impl From<TroubleKind> for StoreErrorKind {
    fn from(kind: TroubleKind) -> Self {
        use TroubleKind as Is;
        match kind {
            Is::Unreachable => Self::Unavailable,
            Is::Hangs => Self::Timeout,
            Is::NotReady => Self::NotReady,
            Is::OutOfMemory => Self::OutOfMemory,
            Is::Unauthenticated => Self::Unauthenticated,
            Is::Forbidden => Self::Forbidden,
            Is::NotPrimary => Self::NotPrimary,
            Is::WrongType => Self::BadState,
            Is::CannotPersist => Self::CannotPersist,
            Is::NoScript | Is::Misnamed | Is::Other => Self::Refused,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            TroubleKind::Unreachable => "the server cannot be reached",
            TroubleKind::Hangs => "the server does not answer in time",
            TroubleKind::NotReady => "the server is not ready yet",
            TroubleKind::OutOfMemory => "the server is out of memory; raise maxmemory",
            TroubleKind::Unauthenticated => {
                "the server wants another user or password; write redis://user:password@host:port"
            }
            TroubleKind::Forbidden => "the server does not let this user do what is needed",
            TroubleKind::NotPrimary => "the server does not take writes",
            TroubleKind::WrongType => "the value at a key is not a limiter's",
            TroubleKind::NoScript => "the server forgot the script",
            TroubleKind::CannotPersist => "the server refuses writes that it cannot keep",
            TroubleKind::Misnamed => "the server is not what the url names",
            TroubleKind::Other => "the server reports an error",
        };
        write!(f, "{what} ({})", self.text)
    }
}

impl std::error::Error for Trouble {}

impl Trouble {
    pub(crate) fn hangs() -> Self {
        Self {
            kind: TroubleKind::Hangs,
            text: "timeout".to_owned(),
        }
    }

    pub(crate) fn misnamed(text: String) -> Self {
        let kind = TroubleKind::Misnamed;
        Self { kind, text }
    }

    /// The same, with what is to be done or whose words these are before it.
    pub(crate) fn after(self, words: &str) -> Self {
        Self {
            text: format!("{words}: {}", self.text),
            ..self
        }
    }

    /// Which one to tell of several servers that were asked for the same: what one of them has answered
    /// is an answer, whether or not others are away.
    pub(crate) fn or(self, told: Option<Self>) -> Self {
        told.filter(Self::lasts).unwrap_or(self)
    }

    /// What it means for the plans of a call that was sent.
    pub(crate) fn error(&self) -> StoreError {
        use TroubleKind as Is;
        let written = match self.kind {
            Is::Hangs | Is::Unreachable | Is::Misnamed | Is::Other => Written::Unknown,
            // The script ends at its first write that is refused, and reads everything before it writes.
            _ => Written::No,
        };
        let kind = self.kind.into();
        StoreError { kind, written }
    }

    /// Whether it stays like this until somebody changes the server or the settings.
    pub fn lasts(&self) -> bool {
        use TroubleKind as Is;
        matches!(
            self.kind,
            Is::Unauthenticated | Is::Forbidden | Is::Misnamed
        )
    }

    pub(crate) fn is_unknown_command(&self) -> bool {
        self.text.contains("unknown command")
    }

    /// Whether another connection may fare better.
    pub(crate) fn needs_new_line(&self) -> bool {
        use TroubleKind as Is;
        matches!(
            self.kind,
            Is::Hangs
                | Is::Unreachable
                | Is::NotReady
                | Is::NotPrimary
                | Is::Unauthenticated
                | Is::Misnamed
        )
    }
}

impl Redirection {
    pub(crate) fn of(error: &RedisError) -> Option<Self> {
        let asking = error.kind() == ErrorKind::Server(ServerErrorKind::Ask);
        error.redirect_node().map(|(node, _)| Self {
            node: node.to_owned(),
            asking,
        })
    }
}

fn is_forbidden(said: &str) -> bool {
    FORBIDDEN.iter().any(|words| said.contains(words))
}

/// What no waiting helps against, and the fix.
fn misfit(error: &RedisError, said: &str) -> Option<&'static str> {
    if error.kind() == ErrorKind::Parse {
        Some("what answers there is no Redis server, look at host and port")
    } else if said.contains("DB index is out of range") {
        Some("it has no database of that number, write /0 or raise its `databases`")
    } else if said.contains("not allowed in cluster mode") {
        Some("a cluster has no databases, leave the /number out")
    } else if said.contains("corrupt message") {
        Some("it speaks no TLS, write redis in the place of rediss")
    } else {
        None
    }
}

/// On one line, and not without an end.
fn shortened(said: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = said.trim().chars().map(shown).take(MOST_CHARS).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl From<&RedisError> for Trouble {
    fn from(error: &RedisError) -> Self {
        let detail = error.detail().unwrap_or_default();
        let text = shortened(&error.to_string());
        if let Some(fix) = misfit(error, &text) {
            return Self::misnamed(text).after(fix);
        }
        let kind = match error.kind() {
            _ if error.is_timeout() => TroubleKind::Hangs,
            ErrorKind::Io => TroubleKind::Unreachable,
            ErrorKind::AuthenticationFailed => TroubleKind::Unauthenticated,
            ErrorKind::Server(ServerErrorKind::NoScript) => TroubleKind::NoScript,
            _ if is_forbidden(detail) => TroubleKind::Forbidden,
            _ => TroubleKind::of_code(error.code().unwrap_or_default()),
        };
        Self { kind, text }
    }
}

impl From<RedisError> for Trouble {
    fn from(error: RedisError) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_one_short_line() {
        let said = format!("HTTP/1.1 400\r\n\u{1b}[2J  <html>{}", "x".repeat(900));
        let line = shortened(&said);
        assert!(line.starts_with("HTTP/1.1 400 [2J <html>xx"), "{line}");
        assert!(line.chars().count() <= MOST_CHARS && !line.contains(char::is_control));
    }

    #[test]
    fn of_several_servers_the_one_that_answered_is_told() {
        let away = Trouble::hangs();
        let answered = Trouble::misnamed("no".to_owned());
        assert_eq!(away.clone().or(Some(answered.clone())), answered);
        assert_eq!(answered.clone().or(Some(away)), answered);
    }
}
