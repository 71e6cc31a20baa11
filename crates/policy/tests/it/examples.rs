//! The policies under `examples/policies`: they load, warn of nothing but what they say they do,
//! and read as `examples.expected` has it (`JETON_BLESS=1` writes it anew).
//!
//! Their traces are run by the tests of the command.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use jeton_policy::PolicyTable;

use crate::common::try_load;
use crate::schema::mistakes;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies")
}

/// Every example by its name, in order.
fn examples() -> Vec<(String, String)> {
    let paths = fs::read_dir(folder()).unwrap();
    let paths = paths.map(|entry| entry.unwrap().path());
    let mut examples: Vec<(String, String)> = paths
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    examples.sort();
    assert!(examples.len() >= 7);
    examples
}

#[test]
fn they_read_as_promised() {
    let mut said = String::new();
    for (name, text) in examples() {
        let loaded = try_load(&text).unwrap_or_else(|report| panic!("{name}: {report}"));
        writeln!(said, "{}", PolicyTable::new(&name, &loaded.policy)).unwrap();
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/examples.expected");
    if std::env::var_os("JETON_BLESS").is_some() {
        fs::write(&golden, &said).unwrap();
    }
    assert_eq!(said, fs::read_to_string(golden).unwrap());
}

#[test]
fn they_warn_of_nothing_but_their_edges() {
    for (name, text) in examples() {
        let report = try_load(&text).unwrap().report;
        let codes: Vec<&str> = report.iter().map(|found| found.code.id()).collect();
        let intended: &[&str] = match name.as_str() {
            "github.toml" => &["W104", "W104"],
            "cluster.toml" => &["W104"],
            _ => &[],
        };
        assert_eq!(codes, intended, "{name}: {report}");
        assert!(mistakes(&text).is_empty(), "{name} does not fit the schema");
    }
}

#[test]
fn the_page_names_each_of_them() {
    let page = fs::read_to_string(folder().join("README.md")).unwrap();
    for (name, text) in examples() {
        assert!(page.contains(&format!("[{name}]({name})")), "{name}");
        assert!(text.starts_with("# "), "{name} says nothing about itself");
    }
}
