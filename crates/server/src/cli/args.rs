//! The command line: names, flags, help with examples.

pub(super) mod operate;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use jeton::Span;
use jeton::policy::parse_duration;

use super::help::Topic;

/// Exact rate limiting in front of any HTTP service.
#[derive(Debug, Parser)]
#[command(
    name = "jeton",
    version,
    disable_help_subcommand = true,
    max_term_width = 80
)]
#[command(
    after_help = "Begin with: jeton demo. More: jeton --help. What a code means: jeton help E012."
)]
#[command(after_long_help = "Start here:
  jeton demo                         see it work, nothing needed beside it
  jeton proxy --upstream http://127.0.0.1:3000 --limit 100/min
  jeton check --config jeton.toml    every mistake at once, each rule in words
  jeton serve --config jeton.toml

Exit status: 0 done, 1 failed (the message says what to do),
2 wrong command line.
JETON_LOG sets what is logged: off, error, warn, info (default), debug, trace.
NO_COLOR=1 switches colour off; outside of a terminal there is none.")]
pub(super) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What `jeton` can do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// See it work: an example service, honest clients and one spammer.
    Demo(Demo),
    /// Protect a service without a file.
    Proxy(Proxy),
    /// Run everything a policy file names.
    Serve(Serve),
    /// Read a policy file: every mistake at once, each rule in words.
    Check(Check),
    /// Which rules speak of a request, and why; who would deny it.
    Explain(Explain),
    /// Run a trace through a policy on a virtual clock.
    Simulate(Simulate),
    /// Forget what a key has used, in a running process.
    Reset(operate::Reset),
    /// Refuse a key for a while, in a running process.
    Block(operate::Block),
    /// Lift a block.
    Unblock(operate::Unblock),
    /// Give a key another allowance, in a running process.
    Override(operate::Override),
    /// Explain an error or warning by its code, or a command.
    Help(Help),
    /// Print what a shell completes commands and flags by.
    Completions(Completions),
    /// Print a manual page.
    Man(Man),
}

/// `jeton demo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton demo --for 10s
  jeton demo             until Ctrl-C; meanwhile: curl -i the printed address

Exit status: 0 if no honest client was refused, 1 otherwise.")]
pub(super) struct Demo {
    /// How long the clients send, for example 10s or 1m; until Ctrl-C if absent.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(super) lasting: Option<Duration>,
}

/// `jeton proxy`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton proxy --upstream http://127.0.0.1:3000 --limit 100/min
  jeton proxy --upstream http://127.0.0.1:3000 --limit 5/s --burst 20 \\
              --listen 0.0.0.0:8080
  jeton proxy --upstream http://127.0.0.1:3000 --limit 1000/h --strict \\
              --key header:x-api-key

--limit N/P is a token bucket of N that fills at N per P: at most N at once,
2N in the first P. --strict is a sliding log: never more than N in any P; its
memory follows use.
Behind another proxy every client has that proxy's address: use a policy file
with [client_ip], and jeton serve.")]
pub(super) struct Proxy {
    /// The service to protect.
    #[arg(long, value_name = "URL")]
    pub(super) upstream: String,
    /// How much each client may do: N/unit (100/min) or N/duration (3/2s).
    #[arg(long, value_name = "RATE")]
    pub(super) limit: String,
    /// Units at once from a full state, instead of N of the limit.
    #[arg(long, value_name = "N", conflicts_with = "strict", value_parser = burst)]
    pub(super) burst: Option<u64>,
    /// Never more than N in any period, wherever it begins (sliding log).
    #[arg(long)]
    pub(super) strict: bool,
    /// Whose counter: client-ip, global, header:NAME, cookie:NAME …; repeat it for several parts.
    #[arg(long, value_name = "PART", default_value = "client-ip")]
    pub(super) key: Vec<String>,
    #[arg(
        long,
        value_name = "ADDR",
        default_value = "127.0.0.1:8080",
        help = "Where clients connect: address:port, or unix:/path"
    )]
    pub(super) listen: String,
}

/// `jeton serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton serve
  jeton serve --config /etc/jeton/jeton.toml

SIGTERM or Ctrl-C: no new connections, requests in flight are finished, exit 0.
A second one: stop at once, exit 1.
SIGHUP: reads the policy file, and the files it refers to, at once. A change is
noticed without it within a second. It is checked first and put into force as a
whole; no counter is refilled by it. A file with mistakes changes nothing: the
log, /readyz, /v1/rules and the metric jeton_config_ok say so. So it is with
what takes a restart: [proxy], [store], and of [api], [rls] and [resp] where
they listen, tls, max_connections, max_in_flight and idle_timeout.")]
pub(super) struct Serve {
    /// The policy file.
    #[arg(long, value_name = "FILE", default_value = "jeton.toml")]
    pub(super) config: PathBuf,
}

/// `jeton check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton check
  jeton check --config jeton.toml --json | jq .
  jeton check --schema > jeton.schema.json    for editors; the policy begins
                                              #:schema ./jeton.schema.json
  jeton help E012                             what a code means

Exit status: 0 if the policy can be loaded (warnings allowed), 1 if not.")]
pub(super) struct Check {
    /// The policy file.
    #[arg(long, value_name = "FILE", default_value = "jeton.toml")]
    pub(super) config: PathBuf,
    /// One JSON document on standard output instead of text.
    #[arg(long)]
    pub(super) json: bool,
    /// The JSON Schema of policy files, for editors; no file is read.
    #[arg(long, conflicts_with_all = ["config", "json"])]
    pub(super) schema: bool,
}

/// `jeton explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton explain --request \"POST /login\" --ip 192.0.2.7
  jeton explain --config jeton.toml --request \"GET /reports/7/export\" \\
                --header \"x-api-key: k1\" --host api.example --json
  jeton explain --request \"POST /login\" --ip 192.0.2.7 \\
                --api http://127.0.0.1:7070
  jeton explain --domain edge --descriptor user=anna \\
                --descriptor \"user=anna,path=/login\"

Nothing is charged, and no key is created. A file has no state, so its counters
are fresh, unless its [store] is a Redis server: that is asked, and only read.
The folder of a disk store is its process's alone: ask that, by --api.
With --api the running process is asked, by its own policy and counters, and no
file is read. JETON_API stands for --api where there is no
--config; JETON_TOKEN is the token of the process, if it asks for one.
Fields that choose a plan or name a cost are believed, as of a trusted peer.

Exit status: 0 if the request is explained, whether it would pass or not.")]
pub(super) struct Explain {
    /// The policy file; jeton.toml if there is no --api either.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Method and path, with the query if there is one: "POST /login".
    #[arg(long, value_name = "REQUEST", required_unless_present = "domain")]
    pub(super) request: Option<String>,
    /// The client's address; without it the client has none.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) ip: Option<String>,
    /// A header field, "x-plan: pro"; repeat it for several.
    #[arg(long, value_name = "NAME:VALUE")]
    pub(super) header: Vec<String>,
    /// The host that the client names.
    #[arg(long, value_name = "HOST")]
    pub(super) host: Option<String>,
    /// Instead of a request: the domain of descriptors, as Envoy sends them.
    #[arg(long, value_name = "DOMAIN", requires = "descriptor")]
    pub(super) domain: Option<String>,
    /// One descriptor, "user=anna,path=/login"; repeat it for several.
    #[arg(long, value_name = "KEY=VALUE,…", requires = "domain")]
    pub(super) descriptor: Vec<String>,
    /// Ask a running process: `http://host:port`, or `unix:/path`.
    #[arg(long, value_name = "URL")]
    pub(super) api: Option<String>,
    /// A file with the token of that API, instead of `JETON_TOKEN`.
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// One JSON document on standard output instead of text.
    #[arg(long)]
    pub(super) json: bool,
}

/// `jeton simulate`.
#[derive(Debug, Args)]
#[command(after_help = "Example, for a policy with a rule \"user\":
  printf '%s\\n' \\
    '{\"at_us\":0,\"rule\":\"user\",\"key\":\"alice\",\"cost\":4}' \\
    '{\"at_us\":1000000,\"rule\":\"user\",\"key\":\"alice\"}' |
    jeton simulate --config jeton.toml
The same through a Redis server:
  jeton simulate --trace t.jsonl --store redis://127.0.0.1

A line in is one event, and its answer is a line out, in the same order:
  \"at_us\"     microseconds since the Unix epoch, also backwards; needed
  \"op\"        take (default), check, refund, reset, reserve, extend, commit,
              cancel, block, unblock
  and one of:
  \"rule\"      with \"key\" (a text, or an array for several parts; one that is no
              address stands for itself), \"cost\" (default 1) and \"plan\"
  \"charges\"   [{\"rule\", \"key\", \"cost\"}, ...], decided together
  \"request\"   {\"method\", \"path\", \"host\", \"client_ip\", \"headers\", \"domain\",
              \"descriptors\"}, with \"cost\"
  \"handle\"    of a reserve: a name of your choice (and \"ttl_us\"), by which
              extend, commit (with \"actual\") and cancel know it
  \"for_us\"    of a block: how long it holds
A bad line stops the run with its number, exit 1. Empty lines are passed over.

States are in memory, whatever [store] says, unless --store names a server.
There they stand under a random prefix, are removed when the run ends, also by
Ctrl-C, and go by themselves if it is killed: its user needs +scan +unlink
beside what jeton serve needs. Answers are the same; but where a clock goes
back, a server still knows states that were over and memory may not.")]
pub(super) struct Simulate {
    /// The policy file.
    #[arg(long, value_name = "FILE", default_value = "jeton.toml")]
    pub(super) config: PathBuf,
    /// The trace, a JSON event per line; standard input if absent.
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// The server that decides, instead of memory: redis://…, rediss://…, unix://…,
    /// redis-cluster://…, redis-sentinel://….
    #[arg(long, value_name = "URL")]
    pub(super) store: Option<String>,
    /// What all takes came to, by rule, instead of a line per event.
    #[arg(long)]
    pub(super) summary: bool,
}

/// `jeton help`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton help
  jeton help E012             what it means, with a bad and a good policy
  jeton help W                all warnings; E: all errors; codes: all of them
  jeton help simulate")]
pub(super) struct Help {
    /// A code (E012), the beginning of some (E, W1), "codes", or a command.
    #[arg(value_name = "TOPIC", value_parser = Topic::of)]
    pub(super) topic: Option<Topic>,
}

/// `jeton completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton completions bash > /etc/bash_completion.d/jeton
  jeton completions zsh  > \"${fpath[1]}/_jeton\"
  jeton completions fish > ~/.config/fish/completions/jeton.fish")]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(super) shell: clap_complete::Shell,
}

/// `jeton man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  jeton man | man -l -
  jeton man check > /usr/share/man/man1/jeton-check.1")]
pub(super) struct Man {
    /// A command; the page of jeton itself if absent.
    #[arg(value_name = "COMMAND", value_parser = command)]
    pub(super) command: Option<String>,
}

/// The name of a command.
fn command(name: &str) -> Result<String, String> {
    let known = Cli::command();
    match known.find_subcommand(name) {
        Some(found) => Ok(found.get_name().to_owned()),
        None => Err("there is no command of that name".to_owned()),
    }
}

/// A burst as policies write it.
fn burst(text: &str) -> Result<u64, String> {
    let slip = |_| "a burst is a whole number of requests; write --burst 20".to_owned();
    text.parse().map_err(slip)
}

/// A duration as policies write it.
fn span(text: &str) -> Result<Span, String> {
    parse_duration(text).map_err(|fault| fault.to_string())
}

/// The same, for what waits here.
fn duration(text: &str) -> Result<Duration, String> {
    span(text).map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
