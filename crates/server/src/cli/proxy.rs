//! `jeton proxy`: protect a service without a file.

use std::io::{self, Write};
use std::process::ExitCode;

use jeton::policy::{Flags, Policy, Report, RuleWords};

use super::args::Proxy;
use super::failure::Failure;
use super::serve::{serve, url, warn};
use crate::run::StartError;

pub(super) fn run(flags: &Proxy) -> Result<ExitCode, Failure> {
    let (policy, report) = policy(flags, flags.strict).map_err(Failure::Flags)?;
    warn(&report);
    serve(policy, None, refused, |service, policy| {
        let mut out = io::stdout().lock();
        if let Some(address) = service.proxy_address() {
            writeln!(out, "  proxy    {}  →  {}", url(address), flags.upstream)?;
        }
        for words in policy.rules().iter().map(|rule| RuleWords::of(rule.rule())) {
            writeln!(out, "  rule     {}", words.meaning)?;
            if !words.missing.is_empty() {
                writeln!(out, "           {}", words.missing)?;
            }
            writeln!(out, "  worst    {}", worst(&words))?;
        }
        if let Some(strict) = strictly(flags) {
            writeln!(out, "  strict   --strict makes it {strict}")?;
        }
        out.flush()
    })
}

/// Why it does not start, in the words of flags.
fn refused(error: StartError) -> Failure {
    match error {
        StartError::Bind(error) if error.is_in_use() => Failure::new(format!(
            "cannot listen on {}: it is in use; stop the program that listens there, or choose \
             another with --listen",
            error.address()
        )),
        other => Failure::new(other),
    }
}

fn policy(flags: &Proxy, strict: bool) -> Result<(Policy, Report), Report> {
    let key: Vec<&str> = flags.key.iter().map(String::as_str).collect();
    let loaded = Policy::from_flags(&Flags {
        listen: &flags.listen,
        upstream: &flags.upstream,
        limit: &flags.limit,
        burst: flags.burst.filter(|_| !strict),
        strict,
        key: &key,
    })?;
    Ok((loaded.policy, loaded.report))
}

fn worst(words: &RuleWords) -> String {
    if words.interval.is_empty() {
        words.at_most.clone()
    } else {
        format!("{}; refills {}", words.at_most, words.interval)
    }
}

/// What `--strict` would promise, unless it does already.
fn strictly(flags: &Proxy) -> Option<String> {
    let (policy, _) = policy(flags, true).ok().filter(|_| !flags.strict)?;
    policy
        .rules()
        .first()
        .map(|rule| RuleWords::of(rule.rule()).at_most)
}
