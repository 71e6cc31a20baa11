//! What can go wrong between a client and a server.

use std::time::Duration;

use super::resp::Call;

/// What becomes of calls and of their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is wrong.
    None,
    /// Nobody is there: lines are cut, and new ones too.
    Gone,
    /// Calls do not arrive, and nobody says so. Lines stay dead when this is over; new ones are not.
    Hang,
    /// Answers come so much later.
    Slow(Duration),
    /// Scripts with keys arrive and are carried out; their answers are lost, and the line is dead.
    Swallow,
    /// Scripts with keys arrive and are carried out; then the line is cut.
    Cut,
    /// Calls do not arrive, and this is the answer.
    Refuse(Refusal),
    /// The same on lines that were there before; new ones are well.
    RefuseOnOldLines(Refusal),
}

/// What a server says when it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has become a replica: scripts with keys are refused.
    ReadOnly,
    /// It has lost all scripts: none by its hash.
    NoScript,
    /// Every tenth script called by its hash is lost.
    NoScriptEveryTenth,
    /// It has no memory left: scripts with keys are refused.
    OutOfMemory,
    /// Another kind of value stands at the key: scripts with keys are refused.
    WrongType,
    /// It is still reading its data: everything is refused.
    Loading,
    /// It wants a password: everything is refused.
    NoAuth,
    /// The user may run no scripts with keys.
    NoPerm,
    /// It cannot keep what it would write: scripts with keys are refused.
    Misconf,
}

impl Refusal {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::ReadOnly => "READONLY You can't write against a read only replica.",
            Self::NoScript | Self::NoScriptEveryTenth => {
                "NOSCRIPT No matching script. Please use EVAL."
            }
            Self::OutOfMemory => "OOM command not allowed when used memory > 'maxmemory'.",
            Self::WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value",
            Self::Loading => "LOADING Redis is loading the dataset in memory",
            Self::NoAuth => "NOAUTH Authentication required.",
            Self::NoPerm => "NOPERM User limiter has no permissions to run the 'evalsha' command",
            Self::Misconf => "MISCONF Errors writing to the AOF file: No space left on device",
        }
    }

    /// Whether a call is refused: the `number`th by a script's hash, if it is one.
    pub(super) const fn refuses(self, call: Call, number: u64) -> bool {
        match self {
            Self::NoScript => matches!(call, Call::ByHash(_)),
            Self::NoScriptEveryTenth => {
                matches!(call, Call::ByHash(_)) && number.is_multiple_of(10)
            }
            Self::Loading | Self::NoAuth => true,
            Self::ReadOnly | Self::OutOfMemory | Self::WrongType | Self::NoPerm | Self::Misconf => {
                call.has_keys()
            }
        }
    }
}
