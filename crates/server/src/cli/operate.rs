//! `jeton reset`, `block`, `unblock` and `override`: what an operator does to a running process.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::args::operate::{Block, Override, Reset, Settings, Target, Unblock};
use super::call::Server;
use super::failure::Failure;

/// `jeton reset`.
pub(super) fn reset(flags: &Reset) -> Result<ExitCode, Failure> {
    let of = Of::read(&flags.place, flags.everywhere)?;
    let answer = of.post(&flags.target, "/v1/reset", Map::new())?;
    tell(&flags.target, &answer, |out| {
        let decisions = answer["decisions"].as_array();
        let mut rules: Vec<&str> = decisions.into_iter().flatten().filter_map(rule).collect();
        rules.dedup();
        writeln!(out, "forgot {} in {}", of.key.join(" "), rules.join(", "))
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
        .map(text)
        .map(|lasting| ("for".to_owned(), lasting.into()));
    let answer = of.post(&flags.target, "/v1/block", lasting.into_iter().collect())?;
    tell(&flags.target, &answer, |out| {
        let rules = joined(&answer["rules"]);
        writeln!(
            out,
            "blocked {} in {rules} {}",
            of.key.join(" "),
            ending(&answer)
        )
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
            of.shown()
        )));
    }
    tell(&flags.target, &answer, |out| {
        writeln!(out, "unblocked {} in {rules}", of.key.join(" "))
    })
}

/// `jeton override`.
pub(super) fn alter(flags: &Override) -> Result<ExitCode, Failure> {
    let target = &flags.target;
    if flags.list {
        return list(target, "/v1/overrides", "overrides", settings);
    }
    let of = Of::read(&flags.place, false)?;
    let path = of.path()?;
    let server = server(target)?;
    if flags.lift {
        server.call(&Method::DELETE, &path, None)?;
        let lifted = json!({ "lifted": true });
        return tell(target, &lifted, |out| {
            writeln!(out, "{} is under the rule's own settings again", of.shown())
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
            let what = format!(
                "{} has no override; give it one: --rate, --limit …",
                of.shown()
            );
            return Err(Failure::new(what));
        }
        if !seen.status.is_success() {
            return Err(server.refused(&seen));
        }
        seen.body
    } else {
        if let Some(lasting) = flags.lasting {
            body.insert("for".to_owned(), text(lasting).into());
        }
        server.call(&Method::PUT, &path, Some(&body.into()))?
    };
    tell(target, &answer, |out| {
        let settings = settings(&answer);
        writeln!(out, "{}: {settings} {}", of.shown(), ending(&answer))
    })
}

/// Whose counters are meant.
struct Of<'a> {
    rule: Option<&'a str>,
    key: &'a [String],
}

impl<'a> Of<'a> {
    fn read(place: &'a [String], everywhere: bool) -> Result<Self, Failure> {
        if everywhere {
            return Ok(Self {
                rule: None,
                key: place,
            });
        }
        match place {
            [rule, key @ ..] if !key.is_empty() => Ok(Self {
                rule: Some(rule),
                key,
            }),
            _ => Err(Failure::Usage(
                "a rule and a key are needed, such as: user alice; or --everywhere and a key"
                    .to_owned(),
            )),
        }
    }

    fn key(&self) -> Value {
        match self.key {
            [one] => one.as_str().into(),
            several => several.into(),
        }
    }

    /// As messages call it.
    fn shown(&self) -> String {
        let key = self.key.join(" ");
        match self.rule {
            Some(rule) => format!("{key} in {rule}"),
            None => key,
        }
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
        body.insert("key".to_owned(), self.key());
        server(to)?.call(&Method::POST, path, Some(&body.into()))
    }

    /// Where the override of this key is.
    fn path(&self) -> Result<String, Failure> {
        let key = match self.key {
            [one] => one.clone(),
            several => serde_json::to_string(several).map_err(Failure::new)?,
        };
        let segment = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let rule = self.rule.unwrap_or_default();
        Ok(format!("/v1/overrides/{}/{}", segment(rule), segment(&key)))
    }
}

fn server(target: &Target) -> Result<Server, Failure> {
    Server::new(&target.api, target.token_file.as_deref())
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

/// The settings of an override, as flags name them.
fn settings(of: &Value) -> String {
    let names = ["limit", "window", "rate", "burst", "lease"];
    let shown = names.iter().filter_map(|name| match &of[*name] {
        Value::Null => None,
        Value::String(text) => Some(format!("{name} {text}")),
        other => Some(format!("{name} {other}")),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// When it is over.
fn ending(of: &Value) -> String {
    match of["expires_after_ms"].as_u64() {
        Some(ms) => format!("for {}", text(Duration::from_millis(ms))),
        None => "until it is lifted".to_owned(),
    }
}

/// A duration as policies write it.
fn text(duration: Duration) -> String {
    const UNITS: [(&str, u128); 5] = [
        ("d", 86_400_000_000),
        ("h", 3_600_000_000),
        ("m", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1_000),
    ];
    let us = duration.as_micros();
    let whole = UNITS
        .iter()
        .find(|(_, unit)| us >= *unit && us.is_multiple_of(*unit));
    whole.map_or_else(
        || format!("{us}us"),
        |(word, unit)| format!("{}{word}", us / unit),
    )
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
            let key = joined(&one["key"]);
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
