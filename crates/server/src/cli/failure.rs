//! Why a command failed, told once, at the end.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use jeton::policy::Report;

use super::paint::{self, Paint};

/// The status that the parser of the command line exits with, too.
const WRONG_COMMAND_LINE: u8 = 2;

/// Why a command failed.
pub(super) enum Failure {
    /// In one message that says what to do.
    Message(String),
    /// The command line is wrong, in one message that says what to write.
    Usage(String),
    /// The policy has mistakes.
    Policy(Report),
    /// The flags that stand for a policy have mistakes.
    Flags(Report),
    /// Whoever read the output has left: nothing is left to say.
    NobodyReads,
}

impl Failure {
    pub(super) fn new(message: impl Display) -> Self {
        Self::Message(message.to_string())
    }

    /// Tells it on standard error; gives the status to exit with.
    pub(super) fn report(self) -> ExitCode {
        let paint = Paint::for_stderr();
        let status = match self {
            Self::Flags(_) | Self::Usage(_) => ExitCode::from(WRONG_COMMAND_LINE),
            _ => ExitCode::FAILURE,
        };
        let text = match self {
            Self::Message(message) | Self::Usage(message) => format!("error: {message}"),
            Self::Policy(report) | Self::Flags(report) => report.to_string(),
            Self::NobodyReads => return ExitCode::SUCCESS,
        };
        // If standard error is gone too, the status still tells.
        drop(writeln!(io::stderr(), "{}", paint::findings(&text, paint)));
        status
    }
}

/// Output that cannot be written: to a pipe that was closed on purpose (`| head`) it is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Message(format!("the output cannot be written: {error}")),
        }
    }
}
