//! `jeton help`, `completions`, `man` and `check --schema`: what tells how to use the rest.

use std::process::{Command, Stdio};

use jeton::policy::{CODES, schema};

use crate::support::binary::{jeton, stderr, stdout};

const COMMANDS: [&str; 13] = [
    "demo",
    "proxy",
    "serve",
    "check",
    "explain",
    "simulate",
    "reset",
    "block",
    "unblock",
    "override",
    "help",
    "completions",
    "man",
];

fn said(arguments: &[&str]) -> String {
    let output = jeton(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

#[test]
fn every_code_is_explained_with_a_bad_and_a_good_policy() {
    for code in CODES {
        let page = said(&["help", code.id()]);
        assert_eq!(page, code.page());
        assert!(
            page.contains("\nBad:\n") && page.contains("\nGood:\n"),
            "{page}"
        );
    }
    assert_eq!(said(&["help", "e12"]), said(&["help", "E012"]));
}

#[test]
fn what_a_store_has_to_do_with_a_command_is_told() {
    for command in ["block", "override"] {
        assert!(said(&[command, "--help"]).contains("appendonly yes"));
    }
    let simulate = said(&["simulate", "--help"]);
    assert!(simulate.contains("+scan +unlink"), "{simulate}");
}

#[test]
fn codes_are_listed_by_family() {
    let all = said(&["help", "codes"]);
    assert_eq!(all.lines().count(), CODES.len());
    assert_eq!(all, said(&["help", "E"]) + &said(&["help", "W"]));
    assert!(
        said(&["help", "w2"])
            .lines()
            .all(|line| line.starts_with("W2"))
    );
}

#[test]
fn help_of_a_command_is_its_help() {
    assert_eq!(said(&["help"]), said(&["--help"]));
    for command in COMMANDS {
        assert_eq!(
            said(&["help", command]),
            said(&[command, "--help"]),
            "{command}"
        );
    }
    let unknown = jeton(&["help", "E999"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        stderr(&unknown).contains("jeton help codes"),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn the_short_help_fits_a_screen() {
    let help = said(&["-h"]);
    assert!(help.lines().count() <= 24, "{help}");
    for command in COMMANDS {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command}: {help}"
        );
    }
}

#[test]
fn help_fits_eighty_columns() {
    for command in [""].iter().chain(&COMMANDS) {
        let help = said(&["help", command][..if command.is_empty() { 1 } else { 2 }]);
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}

#[test]
fn serve_and_override_say_what_they_do() {
    let serve = said(&["serve", "--help"]);
    for words in [
        "SIGHUP: reads the policy file",
        "what takes a restart: [proxy], [store], and of [api], [rls] and [resp] where\n",
        "jeton_config_ok",
    ] {
        assert!(serve.contains(words), "{serve}");
    }
    assert!(said(&["override", "--help"]).contains("but the burst of a new --rate"));
}

#[test]
fn the_schema_is_printed_without_a_file() {
    let printed = said(&["check", "--schema"]);
    let printed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(printed, schema());
    for other in ["--json", "--config=jeton.toml"] {
        assert_eq!(jeton(&["check", "--schema", other]).status.code(), Some(2));
    }
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = said(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(
            script.contains("upstream") && script.contains("schema"),
            "{shell}"
        );
    }
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .expect("bash runs");
    let script = said(&["completions", "bash"]);
    let mut stdin = bash.stdin.take().expect("its input");
    std::io::Write::write_all(&mut stdin, script.as_bytes()).expect("written");
    drop(stdin);
    assert!(
        bash.wait().expect("its end").success(),
        "bash cannot read it"
    );
    assert_eq!(jeton(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let own = said(&["man"]);
    assert!(own.contains(".TH jeton 1"), "{own}");
    for command in COMMANDS {
        assert!(
            own.contains(&format!("jeton\\-{command}(1)")),
            "{command}: {own}"
        );
        let page = said(&["man", command]);
        assert!(page.contains(&format!(".TH jeton-{command} 1")), "{page}");
        assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{command}");
    }
    assert!(
        said(&["man", "simulate"]).contains("printf '%s\\en'"),
        "{own}"
    );
    assert_eq!(jeton(&["man", "nope"]).status.code(), Some(2));
}

#[test]
fn what_is_said_of_a_policy_names_its_page() {
    let folder = crate::support::Folder::new();
    let rule = "[[rule]]\nname = \"a\"\nkey = [\"client-ip\"]\nalgorithm = \"gcra\"\n";
    let bad = folder.file("bad.toml", format!("{rule}rate = \"20\"\n").as_bytes());
    let warned = folder.file("warned.toml", format!("{rule}rate = \"1/s\"\n").as_bytes());
    for (path, code) in [(bad, "E012"), (warned, "W102")] {
        let output = jeton(&["check", "--config", path.to_str().expect("a path")]);
        let more = format!("more: jeton help {code}");
        assert!(stdout(&output).contains(&more), "{}", stdout(&output));
    }
}
