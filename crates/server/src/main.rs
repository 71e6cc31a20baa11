//! The `jeton` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    jeton_server::cli::main()
}
