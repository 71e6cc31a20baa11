//! The shape of the workspace, held by a test: which crate may depend on which, what the engine
//! must not know, and how large a file may grow.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crate folder → the crates of ours it may depend on. DESIGN: core ← {policy, memory, redis} ← jeton ←
/// server, wire beside core, testkit for tests only.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("wire", &[]),
    ("memory", &["jeton-core"]),
    ("policy", &["jeton-core", "jeton-wire"]),
    ("disk", &["jeton-core", "jeton-memory"]),
    ("redis", &["jeton-core"]),
    ("testkit", &["jeton-core"]),
    (
        "jeton",
        &[
            "jeton-core",
            "jeton-disk",
            "jeton-memory",
            "jeton-policy",
            "jeton-redis",
            "jeton-wire",
        ],
    ),
    (
        "server",
        &[
            "jeton",
            "jeton-core",
            "jeton-memory",
            "jeton-policy",
            "jeton-wire",
        ],
    ),
];

/// What the pure engine must not know: clocks, IO, threads, async runtimes, floats, config text.
const UNKNOWN_TO_CORE: &[&str] = &[
    "std::",
    "SystemTime",
    "Instant",
    "f64",
    "f32",
    "async fn",
    ".await",
    "tokio",
    "serde",
    "toml",
    "println!",
    "HashMap",
    "unsafe",
];

/// Longer than this and a file holds more than one idea (tests at its end not counted).
const MAX_CODE_LINES: usize = 400;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifests() -> BTreeMap<String, toml::Table> {
    let folders = fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let read = |folder: PathBuf| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        Some((
            folder.file_name()?.to_str()?.to_owned(),
            text.parse().unwrap(),
        ))
    };
    folders.filter_map(read).collect()
}

/// Names of our own crates in a section of a manifest, in all targets.
fn ours(manifest: &toml::Table, section: &str) -> Vec<String> {
    let mut tables = vec![manifest.get(section)];
    if let Some(targets) = manifest.get("target").and_then(|t| t.as_table()) {
        tables.extend(targets.values().map(|target| target.get(section)));
    }
    let names = tables.into_iter().flatten().filter_map(|t| t.as_table());
    names
        .flat_map(|t| t.keys().cloned())
        .filter(|name| name.starts_with("jeton"))
        .collect()
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// The file without its inline tests.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn dependencies_run_one_way() {
    let manifests = manifests();
    let known: Vec<_> = MAY_DEPEND_ON.iter().map(|(name, _)| *name).collect();
    for (name, manifest) in &manifests {
        assert!(
            known.contains(&name.as_str()),
            "say in this test what {name} may depend on"
        );
        let allowed = MAY_DEPEND_ON.iter().find(|(n, _)| n == name).unwrap().1;
        for dependency in ours(manifest, "dependencies") {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} must not know {dependency}"
            );
        }
    }
    assert_eq!(manifests.len(), known.len(), "a crate named here is gone");
}

#[test]
fn core_depends_on_nothing_at_all() {
    let manifests = manifests();
    let core = manifests.get("core").unwrap();
    let dependencies = core.get("dependencies").and_then(|d| d.as_table());
    assert!(dependencies.is_none_or(toml::Table::is_empty));
    let root = fs::read_to_string(crates().join("core/src/lib.rs")).unwrap();
    assert!(
        root.contains("#![no_std]"),
        "the compiler proves the absence of clocks and IO"
    );
}

#[test]
fn core_does_not_know_clocks_io_runtimes_floats_or_text_formats() {
    let mut files = Vec::new();
    sources(&crates().join("core/src"), &mut files);
    assert!(files.len() > 10, "the engine's sources were not found");
    for file in files {
        let code = code_of(&file);
        let code = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for (number, line) in code.enumerate() {
            for word in UNKNOWN_TO_CORE {
                let place = || format!("{}: about line {}", file.display(), number + 1);
                assert!(
                    !line.contains(word),
                    "{}: core must not know `{word}`",
                    place()
                );
            }
        }
    }
}

#[test]
fn a_file_holds_one_idea() {
    let mut files = Vec::new();
    for (name, _) in MAY_DEPEND_ON {
        sources(&crates().join(name).join("src"), &mut files);
    }
    for file in files {
        let lines = code_of(&file).lines().count();
        assert!(
            lines <= MAX_CODE_LINES,
            "{} has {lines} lines of code",
            file.display()
        );
    }
}
