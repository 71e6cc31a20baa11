//! The flags of commands that talk to a running process.

use std::path::PathBuf;

use clap::Args;
use jeton::Span;

use super::span;

/// The process to talk to.
#[derive(Debug, Args)]
pub(in crate::cli) struct Target {
    /// The API of the process: `http://host:port`, or `unix:/path`; else that of the environment,
    /// `JETON_API`; else <http://127.0.0.1:7070>.
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) api: Option<String>,
    /// A file with the admin token; else that of the environment, `JETON_ADMIN_TOKEN`.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) token_file: Option<PathBuf>,
    /// One JSON document on standard output instead of text.
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// A key of a rule.
#[derive(Debug, Args)]
pub(in crate::cli) struct Counter {
    /// The rule, and the key: one text for each of its parts, or - for a line of standard input.
    /// With --everywhere the key alone.
    #[arg(value_name = "RULE KEY", required_unless_present = "list", num_args = 1..)]
    pub(in crate::cli) place: Vec<String>,
    /// In every rule whose key has that many parts.
    #[arg(long)]
    pub(in crate::cli) everywhere: bool,
}

/// `jeton reset`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton reset user alice
  jeton reset login 203.0.113.9 /login    a key of two parts
  jeton reset --everywhere alice          in every rule with keys of one part

The state is forgotten: the next request finds nothing used. What was reserved
stays settled or open as it is. A block is lifted by: jeton unblock.")]
pub(in crate::cli) struct Reset {
    /// The rule, and the key: one text for each of its parts, or - for a line of standard input.
    /// With --everywhere the key alone.
    #[arg(value_name = "RULE KEY", required = true, num_args = 1..)]
    pub(in crate::cli) place: Vec<String>,
    /// In every rule whose key has that many parts.
    #[arg(long)]
    pub(in crate::cli) everywhere: bool,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}

/// `jeton block`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton block user mallory --for 10m
  jeton block --everywhere 203.0.113.9    until: jeton unblock --everywhere …
  jeton block key - < credential.txt      where nobody sees what is typed
  jeton block --list

Blocked requests are answered 429, with Retry-After where the end is known.
What is set lives in the store of the policy. With a Redis server it holds on
every node within a second, and over restarts of jeton; over restarts of the
server as far as that keeps its data (appendonly yes): else it is gone, on every
node, without a word. In memory it ends with the process.")]
pub(in crate::cli) struct Block {
    #[command(flatten)]
    pub(in crate::cli) counter: Counter,
    /// For how long, for example 10m or 1h; if absent, until it is lifted.
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    pub(in crate::cli) lasting: Option<Span>,
    /// Show what is blocked.
    #[arg(long, conflicts_with_all = ["place", "everywhere", "lasting"])]
    pub(in crate::cli) list: bool,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}

/// `jeton unblock`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton unblock user mallory
  jeton unblock --everywhere 203.0.113.9

Exit status: 0 if a block was lifted, 1 if there was none.")]
pub(in crate::cli) struct Unblock {
    /// The rule, and the key: one text for each of its parts, or - for a line of standard input.
    /// With --everywhere the key alone.
    #[arg(value_name = "RULE KEY", required = true, num_args = 1..)]
    pub(in crate::cli) place: Vec<String>,
    /// In every rule whose key has that many parts.
    #[arg(long)]
    pub(in crate::cli) everywhere: bool,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}

/// `jeton override`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton override user alice --rate 50/s --burst 200 --for 1h
  jeton override user mallory --limit deny
  jeton override user alice             show it
  jeton override user alice --lift
  jeton override --list

The settings are those of the rule's algorithm. What is left out stays as the
rule has it, but the burst of a new --rate, which is the units of one of its
periods. The counter stays too: what has been used counts under the new
settings. An override lives in the store of the policy. With a Redis server it
holds on every node within a second, and over restarts of jeton; over restarts
of the server as far as that keeps its data (appendonly yes): else it is gone,
on every node, without a word. In memory it ends with the process.")]
pub(in crate::cli) struct Override {
    /// The rule, and the key: one text for each of its parts, or - for a line of standard input.
    #[arg(value_name = "RULE KEY", required_unless_present = "list", num_args = 2..)]
    pub(in crate::cli) place: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) settings: Settings,
    /// For how long, for example 10m or 1h; if absent, until it is lifted.
    #[arg(long = "for", value_name = "DURATION", value_parser = span)]
    pub(in crate::cli) lasting: Option<Span>,
    /// Put the key back under the rule's own settings.
    #[arg(long, conflicts_with_all = ["limit", "rate", "burst", "window", "lease", "lasting"])]
    pub(in crate::cli) lift: bool,
    /// Show every override.
    #[arg(long, conflicts_with_all = ["place", "limit", "rate", "burst", "window", "lease", "lasting", "lift"])]
    pub(in crate::cli) list: bool,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}

/// The settings of an override.
#[derive(Debug, Args)]
pub(in crate::cli) struct Settings {
    /// Units, or "unlimited", or "deny".
    #[arg(long, value_name = "N")]
    pub(in crate::cli) limit: Option<String>,
    /// What comes back to a bucket: N/unit (50/s) or N/duration.
    #[arg(long, value_name = "RATE")]
    pub(in crate::cli) rate: Option<String>,
    /// Units at once from a full bucket.
    #[arg(long, value_name = "N")]
    pub(in crate::cli) burst: Option<u64>,
    /// The length of a window, for example 1m.
    #[arg(long, value_name = "DURATION")]
    pub(in crate::cli) window: Option<String>,
    /// How long a holder may stay silent, for example 30s.
    #[arg(long, value_name = "DURATION")]
    pub(in crate::cli) lease: Option<String>,
}
