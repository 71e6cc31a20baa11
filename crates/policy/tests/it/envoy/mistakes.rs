//! What is refused, and what is said of it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::{RLS, refused, try_load};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/envoy");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ext| ext == "yaml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_mistake_is_refused_with_file_and_line() {
    let mut wrong = Vec::new();
    assert!(fixtures().len() > 25);
    for path in fixtures() {
        let text = fs::read_to_string(&path).unwrap();
        let said = refused(RLS, &[("a.yaml", &text)]) + "\n";
        assert!(said.contains(" --> ratelimit/a.yaml:"), "{said}");
        assert!(
            said.ends_with("\n1 error, 0 warnings\n"),
            "{}: {said}",
            path.display()
        );
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
fn mistakes_of_all_files_are_told_at_once() {
    let said = refused(
        &format!("{RLS}x = 1\n"),
        &[
            (
                "a.yaml",
                "domain: a\ndescriptors: [{ key: k, values: 1 }, { value: v }]\n",
            ),
            ("b.yaml", "domain: ''\n"),
        ],
    );
    for place in ["jeton.toml:4:1", "a.yaml:2:25", "a.yaml:2:38", "b.yaml:1:1"] {
        assert!(said.contains(place), "{place}: {said}");
    }
    assert!(said.ends_with("4 errors, 0 warnings"), "{said}");
}

#[test]
fn a_key_that_stands_twice_hides_no_other_mistake() {
    let yaml = "domain: d\ndescriptors:\n  - key: a\n    key: b\n    values: 1\n  - { value: c, value: d }\n";
    let said = refused(RLS, &[("a.yaml", yaml)]);
    for place in ["a.yaml:4:10", "a.yaml:5:5", "a.yaml:6:24", "a.yaml:6:5"] {
        assert!(said.contains(place), "{place}: {said}");
    }
    assert!(said.ends_with("4 errors, 0 warnings"), "{said}");
}

#[test]
fn a_domain_has_one_file_unless_they_are_merged() {
    let one = "domain: shop\ndescriptors: [{ key: a }]\n";
    let two = "domain: shop\ndescriptors: [{ key: b }]\n";
    let said = refused(RLS, &[("1.yaml", one), ("2.yaml", two)]);
    assert!(
        said.contains("2.yaml:1:1") && said.contains("it is ratelimit/1.yaml"),
        "{said}"
    );
    let merging = format!("{RLS}merge_domains = true\n");
    assert!(try_load(&merging, &[("1.yaml", one), ("2.yaml", two)]).is_ok());
    let said = refused(&merging, &[("1.yaml", one), ("2.yaml", one)]);
    assert!(
        said.contains("2.yaml:2:17") && said.contains("also in ratelimit/1.yaml"),
        "{said}"
    );
}

#[test]
fn a_folder_that_is_not_there_is_named_where_it_stands() {
    let policy = RLS.replace("\"ratelimit\"", "\"limits\"");
    let said = refused(&policy, &[]);
    assert!(
        said.contains("jeton.toml:3:16") && said.contains("\"limits\" does not exist"),
        "{said}"
    );
}

#[test]
fn small_files_do_not_become_large_trees() {
    let mut bomb = String::from("domain: a\ndescriptors:\n");
    bomb += "  - { key: k0, metadata: &m0 { a: x } }\n";
    for level in 1..30 {
        let below = level - 1;
        let twice = format!("{{ a: *m{below}, b: *m{below} }}");
        writeln!(bomb, "  - {{ key: k{level}, metadata: &m{level} {twice} }}").unwrap();
    }
    let said = refused(RLS, &[("a.yaml", &bomb)]);
    assert!(said.contains("with its aliases carried out"), "{said}");
    let deep = format!("domain: {}{}\n", "[".repeat(100), "]".repeat(100));
    let said = refused(RLS, &[("a.yaml", &deep)]);
    assert!(said.contains("deeper than 64 levels"), "{said:.300}");
    let deeper = format!("domain: {}\n", "[".repeat(100_000));
    assert!(refused(RLS, &[("a.yaml", &deeper)]).contains("not YAML"));
    let round = "domain: a\ndescriptors: &all [{ key: k, descriptors: *all }]\n";
    assert!(refused(RLS, &[("a.yaml", round)]).contains("stands within what it names"));
}

fn each(most: usize, written: impl Fn(usize) -> String) -> String {
    (0..most).map(written).collect::<Vec<_>>().concat()
}

/// What the largest files could be made of: anchors in anchors, maps of any number of keys, mistakes on one
/// line. Each would take gigabytes or minutes if nothing bounded it.
#[test]
fn large_files_take_bounded_time_and_memory() {
    let anchors = each(60, |level| format!("&a{level} ["));
    let nested = format!(
        "domain: a\nmetadata: {anchors}{}{}\n",
        "x,".repeat(1 << 15),
        "]".repeat(60)
    );
    let said = refused(RLS, &[("a.yaml", &nested)]);
    assert!(said.contains("becomes too large"), "{said:.300}");
    let keys = each(2_000, |key| format!("k{key}: 1\n"));
    let said = refused(RLS, &[("a.yaml", &keys)]);
    assert!(said.contains("map has more than 1024 keys"), "{said:.300}");
    let merged = each(900, |key| format!("k{key}: 1, "));
    let merging = format!(
        "a: &a {{ {merged} }}\nb: {{ <<: [{}] }}\n",
        "*a, ".repeat(10)
    );
    let said = refused(RLS, &[("a.yaml", &merging)]);
    assert!(said.contains("has no key \"a\""), "{said:.300}");
    // Many mistakes, all of them on one line.
    let line = format!("domain: a\ndescriptors: [{}]\n", "1,".repeat(1 << 14));
    let said = refused(RLS, &[("a.yaml", &line)]);
    assert!(said.ends_with("1000 errors, 0 warnings"), "{said:.300}");
    assert!(said.len() < 1 << 20, "{}", said.len());
    let wild = each(1_000, |at| format!("  - {{ key: a, value: 'x*{at}' }}\n"));
    assert!(
        try_load(
            RLS,
            &[("a.yaml", &format!("domain: a\ndescriptors:\n{wild}"))]
        )
        .is_ok()
    );
}
