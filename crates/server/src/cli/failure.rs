//! Why a command failed, told once, at the end.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use jeton::policy::Report;

use super::paint::{self, Paint};

/// Why a command failed.
pub(super) enum Failure {
    /// In one message that says what to do.
    Message(String),
    /// The policy has mistakes.
    Policy(Report),
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
        let text = match self {
            Self::Message(message) => format!("error: {message}"),
            Self::Policy(report) => report.to_string(),
            Self::NobodyReads => return ExitCode::SUCCESS,
        };
        // If standard error is gone too, the status still tells.
        drop(writeln!(io::stderr(), "{}", paint::findings(&text, paint)));
        ExitCode::FAILURE
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
