//! `jeton reset`, `block`, `unblock` and `override`: what an operator does to a running process.

use std::io::{self, Write};
use std::process::ExitCode;

use http::{Method, StatusCode};
use jeton::policy::print_duration;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::args::operate::{Block, Override, Reset, Settings, Target, Unblock};
use super::call::{Server, api_of_environment};
use super::failure::Failure;

/// Where an API listens unless somebody has a reason for another place.
const LOCAL: &str = "http://127.0.0.1:7070";

/// `jeton reset`.
pub(super) fn reset(flags: &Reset) -> Result<ExitCode, Failure> {
    let of = Of::read(&flags.place, flags.everywhere)?;
    let answer = of.post(&flags.target, "/v1/reset", Map::new())?;
    tell(&flags.target, &answer, |out| {
        let decisions = answer["decisions"].as_array();
        let mut rules: Vec<&str> = decisions.into_iter().flatten().filter_map(rule).collect();
        rules.dedup();
        writeln!(out, "the key is forgotten in {}", rules.join(", "))
    })
}

/// `jeton block`.
pub(super) fn block(flags: &Block) -> Result<ExitCode, Failure> {
    if flags.list {
        return list(&flags.target, "/v1/blocks", "blocks", |_| String::new());
    }
    let of = Of::read(&flags.counter.place, flags.counter.everywhere)?;
    let lasting = flags
        .lasting
        .map(|lasting| ("for".to_owned(), print_duration(lasting).into()));
    let answer = of.post(&flags.target, "/v1/block", lasting.into_iter().collect())?;
    tell(&flags.target, &answer, |out| {
        let (key, rules) = (key(&answer), joined(&answer["rules"]));
        writeln!(out, "blocked {key} in {rules} {}", ending(&answer))
    })
}

/// `jeton unblock`.
pub(super) fn unblock(flags: &Unblock) -> Result<ExitCode, Failure> {
    let of = Of::read(&flags.place, flags.everywhere)?;
    let answer = of.post(&flags.target, "/v1/unblock", Map::new())?;
    let rules = joined(&answer["rules"]);
    if rules.is_empty() {
        return Err(Failure::new(format!(
            "{} was not blocked; what is: jeton block --list",
            key(&answer)
        )));
    }
    tell(&flags.target, &answer, |out| {
        writeln!(out, "unblocked {} in {rules}", key(&answer))
    })
}

/// `jeton override`.
pub(super) fn alter(flags: &Override) -> Result<ExitCode, Failure> {
    let target = &flags.target;
    if flags.list {
        return list(target, "/v1/overrides", "overrides", allows);
    }
    let of = Of::read(&flags.place, false)?;
    let (rule, path) = (of.rule.unwrap_or_default(), of.path()?);
    let server = server(target)?;
    if flags.lift {
        server.call(&Method::DELETE, &path, None)?;
        let lifted = json!({ "lifted": true });
        return tell(target, &lifted, |out| {
            writeln!(out, "the key is under the settings of {rule} again")
        });
    }
    let mut body = written(&flags.settings);
    if body.is_empty() && flags.lasting.is_some() {
        let what = "--for goes with what is overridden; add --rate, --burst, --limit or --window";
        return Err(Failure::Usage(what.to_owned()));
    }
    let answer = if body.is_empty() {
        let seen = server.ask(&Method::GET, &path, None)?;
        if seen.status == StatusCode::NOT_FOUND && seen.body["field"].is_null() {
            let what = format!("no override in {rule}; give the key one: --rate, --limit …");
            return Err(Failure::new(what));
        }
        if !seen.status.is_success() {
            return Err(server.refused(&seen));
        }
        seen.body
    } else {
        if let Some(lasting) = flags.lasting {
            body.insert("for".to_owned(), print_duration(lasting).into());
        }
        server.call(&Method::PUT, &path, Some(&body.into()))?
    };
    tell(target, &answer, |out| {
        let (key, ending) = (key(&answer), ending(&answer));
        writeln!(out, "{key} in {rule}: {} {ending}", allows(&answer))
    })
}

/// Whose counters are meant.
struct Of<'a> {
    rule: Option<&'a str>,
    key: Vec<String>,
}

impl<'a> Of<'a> {
    fn read(place: &'a [String], everywhere: bool) -> Result<Self, Failure> {
        let (rule, key) = match place {
            key if everywhere => (None, key),
            [rule, key @ ..] if !key.is_empty() => (Some(rule.as_str()), key),
            _ => {
                let what =
                    "a rule and a key are needed, such as: user alice; or --everywhere and a key";
                return Err(Failure::Usage(what.to_owned()));
            }
        };
        let key = key.iter().map(|part| part_of(part));
        let key = key.collect::<Result<_, _>>()?;
        Ok(Self { rule, key })
    }

    fn post(
        &self,
        to: &Target,
        path: &str,
        mut body: Map<String, Value>,
    ) -> Result<Value, Failure> {
        if let Some(rule) = self.rule {
            body.insert("rule".to_owned(), rule.into());
        }
        body.insert("key".to_owned(), self.key.as_slice().into());
        server(to)?.call(&Method::POST, path, Some(&body.into()))
    }

    /// Where the override of this key is.
    fn path(&self) -> Result<String, Failure> {
        let key = serde_json::to_string(&self.key).map_err(Failure::new)?;
        let segment = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let rule = self.rule.unwrap_or_default();
        Ok(format!("/v1/overrides/{}/{}", segment(rule), segment(&key)))
    }
}

/// A part of a key as it was written, or the next line of standard input where that is `-`: what
/// stands on a command line, everybody on the machine can read.
fn part_of(written: &str) -> Result<String, Failure> {
    if written != "-" {
        return Ok(written.to_owned());
    }
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        let what = "standard input ends before the part of the key that - stands for";
        return Err(Failure::Usage(what.to_owned()));
    }
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

fn server(target: &Target) -> Result<Server, Failure> {
    let named = target.api.clone().or_else(api_of_environment);
    let url = named.as_deref().unwrap_or(LOCAL);
    Server::new(url, target.token_file.as_deref())
}

/// The settings that the flags name.
fn written(flags: &Settings) -> Map<String, Value> {
    let number_or_word = |text: &String| match text.parse::<u64>() {
        Ok(units) => Value::from(units),
        Err(_) => text.as_str().into(),
    };
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    let settings = [
        ("limit", flags.limit.as_ref().map(number_or_word)),
        ("window", text(&flags.window)),
        ("rate", text(&flags.rate)),
        ("burst", flags.burst.map(Value::from)),
        ("lease", text(&flags.lease)),
    ];
    let named = settings
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    named.collect()
}

/// What an override comes to; its settings, if the policy in force cannot follow them.
fn allows(of: &Value) -> String {
    if let Some(words) = of["allows"].as_str() {
        return words.to_owned();
    }
    let names = ["limit", "window", "rate", "burst", "lease"];
    let shown = names.iter().filter_map(|name| match &of[*name] {
        Value::Null => None,
        Value::String(text) => Some(format!("{name} {text}")),
        other => Some(format!("{name} {other}")),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A key as the process shows it.
fn key(of: &Value) -> String {
    let parts = of["key"].as_array().into_iter().flatten();
    let parts = parts.filter_map(Value::as_str);
    parts.collect::<Vec<_>>().join(" ")
}

/// When it is over.
fn ending(of: &Value) -> String {
    match of["expires_after_ms"].as_u64() {
        Some(ms) => format!("for {}", about(ms)),
        None => "until it is lifted".to_owned(),
    }
}

/// A time as people say it, rounded up: to two units, and to whole seconds from one second on.
fn about(ms: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    if ms < 1_000 {
        return format!("{ms}ms");
    }
    let seconds = ms.div_ceil(1_000);
    let first = UNITS.iter().position(|(_, unit)| seconds >= *unit);
    let finest = UNITS[(first.unwrap_or_default() + 1).min(UNITS.len() - 1)].1;
    let mut rest = seconds.div_ceil(finest) * finest;
    let counted = UNITS.map(|(word, unit)| {
        let count = rest / unit;
        rest %= unit;
        (count, word)
    });
    let said = counted.iter().filter(|(count, _)| *count > 0);
    let said = said.map(|(count, word)| format!("{count}{word}"));
    said.collect::<Vec<_>>().join(" ")
}

fn rule(decision: &Value) -> Option<&str> {
    decision["rule"].as_str()
}

fn joined(names: &Value) -> String {
    let names = names.as_array().into_iter().flatten();
    names
        .filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Everything of one kind that is in force.
fn list(
    target: &Target,
    path: &str,
    kind: &str,
    more: impl Fn(&Value) -> String,
) -> Result<ExitCode, Failure> {
    let answer = server(target)?.call(&Method::GET, path, None)?;
    tell(target, &answer, |out| {
        let all = answer[kind].as_array().map_or(&[][..], Vec::as_slice);
        if all.is_empty() {
            return writeln!(out, "no {kind} in force");
        }
        for one in all {
            let rule = rule(one).unwrap_or_default();
            let key = key(one);
            let idle = one["idle"].as_str().map(|why| format!("  (idle: {why})"));
            let (more, idle) = (more(one), idle.unwrap_or_default());
            let more = if more.is_empty() {
                more
            } else {
                format!("{more}  ")
            };
            writeln!(out, "{rule}  {key}  {more}{}{idle}", ending(one))?;
        }
        Ok(())
    })
}

/// Prints an answer: for people, or as it came.
fn tell(
    target: &Target,
    answer: &Value,
    words: impl FnOnce(&mut io::StdoutLock<'_>) -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    if target.json {
        writeln!(out, "{answer}")?;
    } else {
        words(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_in_two_units_at_most_and_never_too_short() {
        for (ms, said) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_001, "2s"),
            (60_000, "1min"),
            (90_000, "1min 30s"),
            (7_199_938, "2h"),
            (7_139_001, "1h 59min"),
            (7_140_001, "2h"),
            (86_399_000, "1d"),
            (90_000_000, "1d 1h"),
            (3_024_000_000, "35d"),
        ] {
            assert_eq!(about(ms), said, "{ms}");
        }
    }
}
