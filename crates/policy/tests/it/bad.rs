//! Bad policies, one mistake per file, each with the message that names it beside it.
//!
//! `tests/bad/NAME.toml` is read as `jeton.toml`; what is said must equal `NAME.expected`. After a
//! message was changed on purpose, `JETON_BLESS=1 cargo test -p jeton-policy` writes them anew:
//! read the difference.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jeton_policy::{CODES, Policy, Severity, Source};

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
