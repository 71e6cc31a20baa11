//! Bad policies, one mistake per file, each with the message that names it beside it.
//!
//! `tests/bad/NAME.toml` is read as `jeton.toml`; what is said must equal `NAME.expected`. After a
//! message was changed on purpose, `JETON_BLESS=1 cargo test -p jeton-policy` writes them anew:
//! read the difference.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jeton_policy::{CODES, Diagnostic, Policy, Report, Severity, Source};

use crate::common::References;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

/// Every bad policy, by name.
pub(crate) fn policies() -> Vec<(String, String)> {
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths()
        .into_iter()
        .map(|path| (name(&path), fs::read_to_string(&path).unwrap()))
        .collect()
}

fn paths() -> Vec<PathBuf> {
    let files = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_mistake_is_refused_with_its_place_and_its_fix() {
    let mut wrong = Vec::new();
    for path in paths() {
        let source = Source::new("jeton.toml", fs::read_to_string(&path).unwrap());
        let said = match Policy::load(&source, &References::sample()) {
            Ok(loaded) => format!("{}\n", loaded.report),
            Err(report) => format!("{report}\n"),
        };
        let beside = path.with_extension("expected");
        if std::env::var_os("JETON_BLESS").is_some() {
            fs::write(&beside, &said).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if said != expected {
            wrong.push(format!(
                "{}\n--- expected\n{expected}--- said\n{said}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_mistake_is_one_error() {
    for path in paths() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let source = Source::new("jeton.toml", fs::read_to_string(&path).unwrap());
        let report = match Policy::load(&source, &References::sample()) {
            Ok(loaded) => loaded.report,
            Err(report) => report,
        };
        let wanted = usize::from(!name.starts_with("warn-"));
        assert_eq!(report.errors(), wanted, "{name}\n{report}");
        if wanted == 0 {
            assert_eq!(report.warnings(), 1, "{name}\n{report}");
        }
        let first = report
            .iter()
            .find(|found| found.severity == Severity::Error);
        if let Some(found) = first {
            assert!(
                !found.what.is_empty() && !found.excerpt.is_empty(),
                "{name}"
            );
            assert!(!found.fix.is_empty(), "{name} names no fix");
        }
    }
}

/// The file with a fix in place, if the fix is a setting or a value as it stands.
fn fixed(text: &str, found: &Diagnostic) -> Option<String> {
    let setting = |line: &str| line.parse::<toml::Table>().ok().filter(|of| of.len() == 1);
    // Placeholders, and sections, are for people to fill.
    if found.fix.contains(['…', '[']) || found.fix.contains("HOST") {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let line = *lines.get(found.line - 1)?;
    let new = if let (Some(new), Some(old)) = (setting(&found.fix), setting(line)) {
        new.keys().eq(old.keys()).then(|| found.fix.clone())?
    } else {
        setting(&format!("x = {}", found.fix))?;
        let marked = |at: usize| (found.column - 1..found.column - 1 + found.length).contains(&at);
        let of = |keep: &dyn Fn(usize) -> bool| -> String {
            let all = line.chars().enumerate();
            all.filter(|(at, _)| keep(*at))
                .map(|(_, letter)| letter)
                .collect()
        };
        let old = of(&marked);
        setting(&format!("x = {old}"))?;
        line.replacen(&old, &found.fix, 1)
    };
    let mut lines = lines;
    lines[found.line - 1] = &new;
    Some(lines.join("\n") + "\n")
}

#[test]
fn a_fix_that_can_be_put_in_place_fixes() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for (name, text) in policies() {
        let load =
            |text: &str| Policy::load(&Source::new("jeton.toml", text), &References::sample());
        let Err(report) = load(&text) else { continue };
        let errors = report
            .iter()
            .filter(|found| found.severity == Severity::Error);
        for found in errors {
            let Some(text) = fixed(&text, found) else {
                continue;
            };
            tried += 1;
            // Whose header is believed nobody can say in advance: it is asked for next.
            let asks_on = |report: &Report| report.iter().all(|found| found.code.id() == "E026");
            if let Err(report) = load(&text)
                && !asks_on(&report)
            {
                wrong.push(format!("{name}: {}\n{report}", found.fix));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried >= 40, "only {tried} fixes could be tried");
}

#[test]
fn every_code_has_a_bad_file() {
    let mut shown = BTreeSet::new();
    for path in paths() {
        let source = Source::new("jeton.toml", fs::read_to_string(&path).unwrap());
        let report = match Policy::load(&source, &References::sample()) {
            Ok(loaded) => loaded.report,
            Err(report) => report,
        };
        shown.extend(report.iter().map(|found| found.code.id()));
    }
    let missing: Vec<&str> = CODES
        .iter()
        .filter(|code| !code.is_of_run_time())
        .map(|code| code.id())
        .filter(|id| !shown.contains(id))
        .collect();
    assert!(missing.is_empty(), "no file in tests/bad shows {missing:?}");
}
