//! What `jeton help CODE` prints, held to what it says: the bad policy of a page gets its code with
//! just the words that stand there, and the good one gets nothing.
//!
//! After a message was changed on purpose, `JETON_BLESS=1 cargo test -p jeton-policy` writes the
//! words anew: read the difference.

use std::path::Path;

use jeton_policy::{CODES, Code, Policy, Report, RuntimeWarning, Source};

use crate::common::References;

const SAID_BY_CHECK: &str = "`jeton check` says:";
const SAID_BY_SERVE: &str = "`jeton serve` logs, once:";

fn report(text: &str) -> Report {
    match Policy::load(&Source::new("jeton.toml", text), &References::sample()) {
        Ok(loaded) => loaded.report,
        Err(report) => report,
    }
}

/// The indented block after a line.
fn block(code: Code, after: &str) -> String {
    let (_, rest) = code
        .page()
        .split_once(&format!("\n{after}\n\n"))
        .unwrap_or_else(|| panic!("{code} has no line {after:?}"));
    let indented = |line: &&str| line.is_empty() || line.starts_with("    ");
    let lines = rest.lines().take_while(indented);
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    lines.join("\n").trim_end().to_owned() + "\n"
}

/// What is to stand on the page of a code about its bad policy.
fn said(code: Code) -> (&'static str, String) {
    let of_run_time = RuntimeWarning::ALL
        .iter()
        .find(|warning| warning.code() == code);
    if let Some(warning) = of_run_time {
        return (SAID_BY_SERVE, format!("{warning}\n"));
    }
    let report = report(&block(code, "Bad:"));
    let found: Vec<String> = report.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 1, "{code}: {report}");
    assert_eq!(report.iter().next().unwrap().code, code);
    (SAID_BY_CHECK, found.concat())
}

#[test]
fn every_code_has_a_page_that_tells_the_truth() {
    let mut wrong = Vec::new();
    for code in CODES {
        let (heading, said) = said(*code);
        let told = block(*code, heading);
        if std::env::var_os("JETON_BLESS").is_some() {
            let indent = |text: &str| -> String {
                let line = |line| format!("    {line}");
                text.trim_end()
                    .lines()
                    .map(line)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            let file = format!("src/diagnostic/pages/{code}.md");
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            let was = format!("{heading}\n\n{}", indent(&told));
            let is = format!("{heading}\n\n{}", indent(&said));
            std::fs::write(file, code.page().replace(&was, &is)).unwrap();
        } else if told != said {
            wrong.push(format!("{code}\n--- page\n{told}--- said\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_a_page_recommends_is_told_nothing() {
    for code in CODES {
        let report = report(&block(*code, "Good:"));
        assert!(report.is_empty(), "{code}: {report}");
        assert_ne!(block(*code, "Good:"), block(*code, "Bad:"));
    }
}

#[test]
fn what_no_file_shows_is_told_of_a_file_that_loads() {
    for code in CODES.iter().filter(|code| code.is_of_run_time()) {
        assert_eq!(report(&block(*code, "Bad:")).errors(), 0, "{code}");
    }
    assert!(
        RuntimeWarning::ALL
            .iter()
            .all(|warning| warning.code().is_of_run_time())
    );
    let of_run_time = CODES.iter().filter(|code| code.is_of_run_time());
    assert_eq!(of_run_time.count(), RuntimeWarning::ALL.len());
}

#[test]
fn a_page_reads_well_on_a_terminal() {
    for code in CODES {
        let page = code.page();
        assert!(
            page.starts_with(&format!("# {code}: {}\n", code.meaning())),
            "{page}"
        );
        assert!(page.ends_with('\n') && !page.contains("\n\n\n"), "{code}");
        // What is said of a policy is as wide as that policy is.
        let prose = page.split("\nBad:\n").next().unwrap();
        assert!(
            prose.lines().all(|line| line.chars().count() <= 80),
            "{prose}"
        );
    }
}

#[test]
fn codes_are_found_by_name() {
    for code in CODES {
        assert_eq!(Code::named(code.id()), Some(*code));
        assert_eq!(Code::named(&code.id().to_lowercase()), Some(*code));
    }
    for other in ["", "E", "E01", "E0122", "012", "rate"] {
        assert_eq!(Code::named(other), None);
    }
}
