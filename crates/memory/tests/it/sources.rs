//! What the sources promise: one module with `unsafe` in it, and one lock through which all states are reached.

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// The files of this crate whose code holds one of these words.
fn with(words: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&root, &mut found);
    assert!(found.len() > 15, "the sources were not found");
    let holds = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let mut code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        code.any(|line| words.iter().any(|word| line.contains(word)))
    };
    let name = |path: PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
    let mut names: Vec<String> = found.into_iter().filter(holds).map(name).collect();
    names.sort();
    names
}

#[test]
fn unsafe_stands_in_one_module() {
    assert_eq!(with(&["unsafe"]), ["raw/lock.rs", "raw/prefetch.rs"]);
}

/// Every state is reached under its region's lock, which alone publishes memory. The other atomics there
/// are: two counters of a budget, of which each value stands for itself; whose turn it is to be tidied up;
/// and where slots are guessed to stand. They are relaxed, and there is no order to explore.
#[test]
fn nothing_is_published_but_by_the_lock() {
    let atomics = with(&["Atomic"]);
    assert_eq!(
        atomics,
        [
            "budget.rs",
            "hint.rs",
            "raw/lock.rs",
            "raw/sync.rs",
            "table.rs"
        ]
    );
    let orders = with(&["Acquire", "Release", "AcqRel", "SeqCst", "fence("]);
    assert_eq!(orders, ["raw/lock.rs"]);
}
