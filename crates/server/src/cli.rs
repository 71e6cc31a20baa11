//! The commands: flags in, output and an exit status out.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done; for `serve` and `proxy`: stopped as told, with everything in flight answered |
//! | 1 | it failed: a policy that does not load, a bad line of a trace, an address that is taken |
//! | 2 | the command line itself is wrong |

mod args;
mod call;
mod check;
mod config;
mod demo;
mod explain;
mod failure;
mod help;
mod number;
mod operate;
mod paint;
mod proxy;
mod serve;
mod shell;
mod simulate;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;
pub(crate) use number::grouped;

/// Runs the command that the arguments of this process ask for.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refusal) => {
            // Help and version come this way too, with status 0.
            drop(refusal.print());
            return u8::try_from(refusal.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let done = match &cli.command {
        Command::Demo(flags) => demo::run(flags),
        Command::Proxy(flags) => proxy::run(flags),
        Command::Serve(flags) => serve::run(flags),
        Command::Check(flags) => check::run(flags),
        Command::Explain(flags) => explain::run(flags),
        Command::Simulate(flags) => simulate::run(flags),
        Command::Reset(flags) => operate::reset(flags),
        Command::Block(flags) => operate::block(flags),
        Command::Unblock(flags) => operate::unblock(flags),
        Command::Override(flags) => operate::alter(flags),
        Command::Help(flags) => help::run(flags),
        Command::Completions(flags) => shell::completions(flags),
        Command::Man(flags) => shell::man(flags),
    };
    done.unwrap_or_else(Failure::report)
}
