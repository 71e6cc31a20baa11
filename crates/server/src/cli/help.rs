//! `jeton help`: the page of a code, a list of codes, or the help of a command.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use jeton::policy::{CODES, Code};

use super::args::{Cli, Help};
use super::failure::Failure;

/// What somebody wants to know about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Code(Code),
    /// Every code that begins so; all of them if it is empty.
    Codes(String),
    Command(String),
}

impl Topic {
    /// Reads a topic: codes in any case and with or without leading zeros.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        if let Some(code) = Code::named(text).or_else(|| padded(text)) {
            return Ok(Self::Code(code));
        }
        if text == "codes" {
            return Ok(Self::Codes(String::new()));
        }
        if let Some(command) = Cli::command().find_subcommand(text) {
            return Ok(Self::Command(command.get_name().to_owned()));
        }
        let start = text.to_ascii_uppercase();
        if !start.is_empty() && CODES.iter().any(|code| code.id().starts_with(&start)) {
            return Ok(Self::Codes(start));
        }
        Err("no code and no command has that name; `jeton help codes` lists the codes".to_owned())
    }
}

/// `e12` is `E012`.
fn padded(text: &str) -> Option<Code> {
    let digits = text.get(1..)?;
    let number: u16 = digits.parse().ok()?;
    Code::named(&format!("{}{number:03}", text.get(..1)?))
}

pub(super) fn run(flags: &Help) -> Result<ExitCode, Failure> {
    let text = match &flags.topic {
        None => usual(&["jeton", "--help"]),
        Some(Topic::Code(code)) => code.page().to_owned(),
        Some(Topic::Codes(start)) => list(start),
        Some(Topic::Command(name)) => usual(&["jeton", name, "--help"]),
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn list(start: &str) -> String {
    let codes = CODES.iter().filter(|code| code.id().starts_with(start));
    codes.fold(String::new(), |text, code| {
        text + &format!("{code}  {}\n", code.meaning())
    })
}

/// The help that these arguments ask for.
fn usual(arguments: &[&str]) -> String {
    let asked = Cli::try_parse_from(arguments);
    asked.map_or_else(|help| help.render().to_string(), |_| String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_a_code_a_family_or_a_command() {
        let code = |id| Topic::Code(Code::named(id).expect("a code"));
        assert_eq!(Topic::of("E012"), Ok(code("E012")));
        assert_eq!(Topic::of("e12"), Ok(code("E012")));
        assert_eq!(Topic::of("w104"), Ok(code("W104")));
        assert_eq!(Topic::of("w1"), Ok(Topic::Codes("W1".to_owned())));
        assert_eq!(Topic::of("codes"), Ok(Topic::Codes(String::new())));
        assert_eq!(Topic::of("check"), Ok(Topic::Command("check".to_owned())));
        for other in ["", "E999", "E0123", "é12", "rate", "X"] {
            assert!(Topic::of(other).is_err(), "{other}");
        }
    }
}
