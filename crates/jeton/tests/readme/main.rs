//! The README's Rust is compiled and run as it stands, its policy file loads.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::doc_markdown)]

mod library;

const README: &str = include_str!("../../../../README.md");

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let rest = README.split(fence.as_str()).skip(1);
    rest.filter_map(|block| block.split("```").next()).collect()
}

/// What the block holds, less the comments behind lines and the indentation of the test.
fn statements(text: &str) -> Vec<&str> {
    let code = text
        .lines()
        .map(|line| line.split(" // ").next().unwrap_or(line).trim());
    code.filter(|line| !line.is_empty()).collect()
}

#[test]
fn the_rust_of_the_readme_is_the_rust_that_runs_here() {
    let run = statements(include_str!("library.rs"));
    let blocks = blocks("rust");
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        for line in statements(block) {
            assert!(run.contains(&line), "not run: {line}");
        }
    }
    library::five_lines().unwrap();
    library::layer().unwrap();
}

#[test]
fn the_policies_of_the_readme_load_without_a_word() {
    use jeton::policy::{NoReferences, Policy, Source};
    let mut rules = Vec::new();
    for text in blocks("toml") {
        let loaded = Policy::load(&Source::new("jeton.toml", text), &NoReferences).unwrap();
        assert_eq!(loaded.report.to_string(), "0 errors, 0 warnings");
        rules.push(loaded.policy.rules().len());
    }
    // The policy of the first screen, and where counters are kept.
    assert_eq!(rules, [2, 0]);
}
