//! `jeton check`: every mistake at once, or every rule in words.

use serde_json::Value;

use crate::support::Folder;
use crate::support::binary::{jeton, jeton_in, stderr, stdout};

const GOOD: &str = r#"
[[rule]]
name = "everyone"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "20/s"
burst = 100

[[rule]]
name = "export"
key = ["header:x-api-key"]
match = { path = "/reports/{id}/export" }
algorithm = "fixed-window"
limit = 100
window = "1m"
mode = "shadow"

[[rule]]
name = "staff"
match = { path = "/staff/{x..}" }
limit = "unlimited"
"#;

const BAD: &str = r#"
[[rule]]
name = "everyone"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "20"

[[rule]]
name = "more"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 0
window = "1m"
colour = "blue"
"#;

fn check(policy: &str, flags: &[&str]) -> std::process::Output {
    let folder = Folder::new();
    folder.file("jeton.toml", policy.as_bytes());
    jeton_in(folder.path(), &[&["check"], flags].concat(), "")
}

#[test]
fn a_good_policy_is_told_in_words_with_its_worst_cases() {
    let output = check(GOOD, &[]);
    let text = stdout(&output);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
    assert!(
        text.starts_with("jeton.toml: 3 rules, memory store, at most 1 000 000 keys\n"),
        "{text}"
    );
    for words in [
        "at most, per key",
        "any 1 s  any 1 min",
        "20/s per address, bursts to 100",
        "120      1 300",
        "100 per clock minute per x-api-key header",
        "requests without it: one counter together",
        "shadow",
        "unlimited",
        "warning[W104]",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(text.lines().last(), Some("0 errors, 1 warning"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour outside of a terminal");
}

#[test]
fn a_bad_policy_shows_every_mistake_with_its_place_and_its_fix() {
    let output = check(BAD, &[]);
    let text = stdout(&output);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(1), "")
    );
    for words in [
        "error[E012]",
        "--> jeton.toml:6:8",
        "6 | rate = \"20\"",
        "^^^^",
        "= fix:",
        "--> jeton.toml:12:9",
        "unlimited",
        "deny",
        "--> jeton.toml:14:1",
        "3 errors, 0 warnings",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        text.ends_with("nothing was loaded; a policy that is in force stays\n"),
        "{text}"
    );
}

#[test]
fn json_is_one_document_whatever_the_outcome() {
    let document = |output: &std::process::Output| -> Value {
        assert_eq!(stderr(output), "");
        serde_json::from_slice(&output.stdout).expect("one document")
    };
    let output = check(GOOD, &["--json"]);
    let good = document(&output);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        (&good["ok"], &good["errors"], &good["warnings"]),
        (&true.into(), &0.into(), &1.into())
    );
    let everyone = &good["rules"][0];
    assert_eq!(everyone["name"], "everyone");
    assert_eq!(
        (&everyone["burst"], &everyone["rate_per_us"]),
        (&100.into(), &1_000_000.into())
    );
    assert_eq!(everyone["worst_case"]["any_minute"], 1_300);
    assert_eq!(
        (&good["rules"][1]["mode"], &good["rules"][2]["limit"]),
        (&"shadow".into(), &"unlimited".into())
    );
    assert_eq!(
        (&everyone["algorithm"], &everyone["missing"]),
        (&"token-bucket".into(), &"".into())
    );
    assert_eq!(
        good["rules"][1]["missing"],
        "requests without it: one counter together"
    );
    assert_eq!(good["diagnostics"][0]["code"], "W104");
    let gcra = check(&GOOD.replace("token-bucket", "gcra"), &["--json"]);
    assert_eq!(document(&gcra)["rules"][0]["algorithm"], "gcra");

    let output = check(BAD, &["--json"]);
    let bad = document(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((&bad["ok"], &bad["errors"]), (&false.into(), &3.into()));
    assert_eq!(bad["diagnostics"][0]["line"], 6);
    assert!(
        bad["diagnostics"]
            .as_array()
            .is_some_and(|all| all.iter().all(|one| one["what"].is_string()))
    );

    let output = jeton(&["check", "--json", "--config", "/nowhere/jeton.toml"]);
    let none = document(&output);
    assert_eq!(
        (output.status.code(), &none["ok"]),
        (Some(1), &false.into())
    );
    assert!(
        none["error"]
            .as_str()
            .is_some_and(|it| it.contains("/nowhere/jeton.toml"))
    );
}

#[test]
fn f10_the_worst_case_of_a_bucket_is_stated_and_the_strict_choice_holds_it() {
    let rule = |quota| format!("[[rule]]\nname = \"a\"\nkey = \"client-ip\"\n{quota}\n");
    let bucket = check(
        &rule("algorithm = \"gcra\"\nrate = \"17/30s\"\nburst = 17"),
        &[],
    );
    assert!(
        stdout(&bucket).contains("at most 34 in any 30 s"),
        "{}",
        stdout(&bucket)
    );
    let log = check(
        &rule("algorithm = \"sliding-log\"\nlimit = 17\nwindow = \"30s\""),
        &[],
    );
    assert!(
        stdout(&log).contains("at most 17 in any 30 s"),
        "{}",
        stdout(&log)
    );
}

#[test]
fn f20_zero_is_refused_and_the_two_words_are_offered() {
    for quota in [
        "algorithm = \"token-bucket\"\nrate = \"0/s\"",
        "algorithm = \"token-bucket\"\nrate = \"1/s\"\nburst = 0",
        "algorithm = \"fixed-window\"\nlimit = 0\nwindow = \"1s\"",
    ] {
        let output = check(
            &format!("[[rule]]\nname = \"a\"\nkey = \"client-ip\"\n{quota}\n"),
            &[],
        );
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{quota}");
        assert!(
            text.contains("unlimited") && text.contains("deny"),
            "{quota}: {text}"
        );
    }
}

#[test]
fn f50_a_burst_of_one_is_warned_about() {
    let rule = |burst| {
        format!(
            "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"6000/min\"\n{burst}\n"
        )
    };
    let one = check(&rule("burst = 1"), &[]);
    assert_eq!(one.status.code(), Some(0));
    assert!(stdout(&one).contains("warning[W102]"), "{}", stdout(&one));
    let unset = check(&rule(""), &[]);
    assert!(
        stdout(&unset).contains("bursts to 6 000"),
        "{}",
        stdout(&unset)
    );
    assert!(
        stdout(&unset).ends_with("0 errors, 0 warnings\n"),
        "{}",
        stdout(&unset)
    );
}

#[test]
fn secrets_are_read_and_never_shown() {
    let folder = Folder::new();
    let policy = "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = { file = \"upstream\" }\n";
    folder.file("jeton.toml", policy.as_bytes());
    folder.file("upstream", b"http://hunter2.internal:x\n");
    for flags in [&["check"][..], &["check", "--json"], &["serve"]] {
        let output = jeton_in(folder.path(), flags, "");
        assert_eq!(output.status.code(), Some(1));
        let all = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!all.contains("hunter2"), "{all}");
    }
}

#[test]
fn references_are_read_within_bounds_and_from_regular_files_only() {
    let folder = Folder::new();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    folder.file("long", &vec![b'x'; 64 * 1024 + 3]);
    folder.file("blob", b"http://\xff\n");
    for (path, what, fix) in [
        (
            "/dev/zero",
            "is a folder, a pipe or a device",
            "the path of a regular file",
        ),
        (
            "pipe",
            "is a folder, a pipe or a device",
            "the path of a regular file",
        ),
        (
            ".",
            "is a folder, a pipe or a device",
            "the path of a regular file",
        ),
        (
            "long",
            "is longer than 64 KiB",
            "a value that somebody typed",
        ),
        ("blob", "is not text in UTF-8", "a value in UTF-8"),
        ("/nope", "does not exist", "create it"),
    ] {
        let policy =
            format!("[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = {{ file = \"{path}\" }}\n");
        folder.file("jeton.toml", policy.as_bytes());
        let output = jeton_in(folder.path(), &["check"], "");
        assert_eq!(output.status.code(), Some(1), "{path}");
        let text = stdout(&output);
        let said = format!("error[E008]: the file \"{path}\" {what}\n --> jeton.toml:3:12");
        assert!(text.contains(&said), "{path}: {text}");
        assert!(text.contains(&format!("= fix:  {fix}")), "{path}: {text}");
    }
}

#[test]
fn a_file_that_is_no_policy_is_refused_with_its_place_and_its_fix() {
    let folder = Folder::new();
    folder.file("latin", b"[lists]\nblock = []\n# caf\xe9\n");
    folder.file("long", &vec![b'#'; (4 << 20) + 1]);
    for (path, said) in [
        (
            "latin",
            "latin:3:6: this is not text in UTF-8; save the file as UTF-8",
        ),
        (
            "long",
            "long is larger than 4 MiB, so it is no policy; name the policy with --config FILE",
        ),
        ("/dev/zero", "/dev/zero is larger than 4 MiB"),
        (".", ". is a folder; name the file in it"),
    ] {
        let output = jeton_in(folder.path(), &["check", "--config", path], "");
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert!(
            stderr(&output).contains(said),
            "{path}: {}",
            stderr(&output)
        );
    }
}
