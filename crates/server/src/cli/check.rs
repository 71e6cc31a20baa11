//! `jeton check`: every mistake at once, or every rule in words with its worst case.

use std::io::{self, Write};
use std::process::ExitCode;

use jeton::policy::{Diagnostic, DoorWords, Loaded, PolicyTable, Report, StoreWords, schema};
use serde::Serialize;

use super::args::Check;
use super::config;
use super::failure::Failure;
use super::paint::{self, Paint};
use crate::api::RuleEntry;

pub(super) fn run(flags: &Check) -> Result<ExitCode, Failure> {
    if flags.schema {
        return print_schema();
    }
    let name = flags.config.display().to_string();
    let text = match config::read(&flags.config) {
        Err(Failure::Message(message)) if flags.json => {
            let unreadable = Document {
                error: Some(message),
                errors: 1,
                ..Document::new(&name)
            };
            return unreadable.print();
        }
        text => text?,
    };
    match config::parse(&flags.config, text) {
        loaded if flags.json => Document::of(&name, &loaded).print(),
        Ok(loaded) => print_table(&name, &loaded),
        Err(report) => print_mistakes(&report),
    }
}

fn print_schema() -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &schema()).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(ExitCode::SUCCESS)
}

fn print_table(name: &str, loaded: &Loaded) -> Result<ExitCode, Failure> {
    let paint = Paint::for_stdout();
    let mut out = io::stdout().lock();
    write!(out, "{}", PolicyTable::new(name, &loaded.policy))?;
    for warning in &loaded.report {
        writeln!(
            out,
            "{}",
            paint::findings(&warning.short().to_string(), paint)
        )?;
    }
    writeln!(out, "{}", loaded.report.totals())?;
    Ok(ExitCode::SUCCESS)
}

fn print_mistakes(report: &Report) -> Result<ExitCode, Failure> {
    let text = paint::findings(&report.to_string(), Paint::for_stdout());
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{text}\nnothing was loaded; a policy that is in force stays"
    )?;
    Ok(ExitCode::FAILURE)
}

/// What `--json` prints: one document, whatever the outcome.
#[derive(Serialize)]
struct Document<'a> {
    file: &'a str,
    /// Whether the policy can be loaded.
    ok: bool,
    errors: usize,
    warnings: usize,
    /// What its store brings with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreWords>,
    /// Where it is served, and to whom.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doors: Vec<DoorWords>,
    rules: Vec<RuleEntry<'a>>,
    diagnostics: Vec<&'a Diagnostic>,
    /// Why there is nothing to check.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> Document<'a> {
    fn new(file: &'a str) -> Self {
        let (rules, diagnostics) = (Vec::new(), Vec::new());
        Self {
            file,
            ok: false,
            errors: 0,
            warnings: 0,
            store: None,
            doors: Vec::new(),
            rules,
            diagnostics,
            error: None,
        }
    }

    fn of(file: &'a str, loaded: &'a Result<Loaded, Report>) -> Self {
        let (rules, report) = match loaded {
            Ok(loaded) => (loaded.policy.told_rules(), &loaded.report),
            Err(report) => (&[][..], report),
        };
        Self {
            ok: loaded.is_ok(),
            errors: report.errors(),
            warnings: report.warnings(),
            store: loaded
                .as_ref()
                .ok()
                .map(|loaded| StoreWords::of(&loaded.policy)),
            doors: loaded
                .as_ref()
                .map(|loaded| DoorWords::all(&loaded.policy))
                .unwrap_or_default(),
            rules: rules.iter().map(RuleEntry::of).collect(),
            diagnostics: report.iter().collect(),
            ..Self::new(file)
        }
    }

    fn print(&self) -> Result<ExitCode, Failure> {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, self).map_err(io::Error::from)?;
        writeln!(out)?;
        Ok(if self.ok {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}
