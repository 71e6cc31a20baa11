//! The `jeton` command.

use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let is_version = arguments
        .next()
        .is_some_and(|it| it == "--version" || it == "-V");
    let said = if is_version && arguments.next().is_none() {
        writeln!(io::stdout(), "jeton {}", env!("CARGO_PKG_VERSION")).map(|()| ExitCode::SUCCESS)
    } else {
        writeln!(io::stderr(), "usage: jeton --version").map(|()| ExitCode::from(2))
    };
    said.unwrap_or(ExitCode::FAILURE)
}
