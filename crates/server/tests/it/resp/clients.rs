//! Real clients, as they are: `redis-cli`, `redis-benchmark`, redis-py, ioredis.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::{DOORS, RULE, serve};
use crate::support::binary::Running;
use crate::support::tools::{folder_of, tool};
use crate::support::{Folder, run};

const TOKEN: &str = "0123456789abcdef-0123456789abcdef";

fn with_token() -> Running {
    Running::serve(&format!("{DOORS}token = \"{TOKEN}\"\n{RULE}"))
}

fn port(jeton: &Running) -> String {
    jeton.resp_address().port().to_string()
}

fn printed(output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{complaint}");
    printed
}

fn cli(jeton: &Running, words: &[&str]) -> String {
    let port = port(jeton);
    printed(&run("redis-cli", &[&["-p", &port], words].concat()))
}

#[test]
fn redis_cli_shows_answers_in_both_versions() {
    let jeton = serve("");
    assert_eq!(cli(&jeton, &["PING"]), "PONG\n");
    for version in ["-2", "-3"] {
        let key = format!("cli{version}");
        let answer = cli(
            &jeton,
            &[version, "CL.THROTTLE", &key, "15", "30", "60", "1"],
        );
        assert_eq!(answer, "0\n16\n15\n-1\n2\n");
        let answer = cli(&jeton, &[version, "JETON.TAKE", "api", &key]);
        assert!(answer.starts_with("1\n100\n99\n-1\n"), "{answer}");
        let docs = cli(&jeton, &[version, "COMMAND", "DOCS", "cl.throttle"]);
        assert!(docs.contains("redis-cell"), "{docs}");
    }
    assert!(cli(&jeton, &["INFO"]).contains("server_name:jeton"));
    assert!(cli(&jeton, &["SET", "a", "b"]).starts_with("ERR unknown command 'SET'"));
}

/// It asks for the commands there are, to complete and to hint at them.
#[test]
fn redis_cli_is_used_by_hand() {
    let jeton = serve("");
    let mut command = Command::new("redis-cli");
    command.args(["-p", &port(&jeton)]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("redis-cli starts");
    let mut stdin = child.stdin.take().expect("its input");
    stdin
        .write_all(b"THROTTLE hand 5 1 60\nTHROTTLE hand 5 1 60 9\nSELECT 0\nQUIT\n")
        .expect("typed");
    drop(stdin);
    let output = printed(&child.wait_with_output().expect("redis-cli ends"));
    assert!(output.starts_with("1\n5\n4\n60\n0\n"), "{output}");
    assert!(
        output.contains("\n0\n5\n4\n60\n-1\n") && output.contains("OK"),
        "{output}"
    );
}

#[test]
fn redis_cli_shows_its_password() {
    let jeton = with_token();
    assert!(cli(&jeton, &["JETON.TAKE", "api", "a"]).starts_with("NOAUTH"));
    let words = ["--no-auth-warning", "-a", TOKEN, "JETON.TAKE", "api", "a"];
    assert!(cli(&jeton, &words).starts_with("1\n100\n99\n"));
    let words = [
        "--no-auth-warning",
        "-3",
        "--user",
        "me",
        "--pass",
        TOKEN,
        "JETON.TAKE",
        "api",
        "a",
    ];
    assert!(cli(&jeton, &words).starts_with("1\n100\n98\n"));
}

#[test]
fn redis_benchmark_runs_as_it_is() {
    let jeton = serve("");
    let port = port(&jeton);
    for pipeline in ["1", "32"] {
        let flags = [
            "-p", &port, "-q", "-n", "6400", "-c", "50", "-r", "1000", "-P", pipeline,
        ];
        let words = ["CL.THROTTLE", "key:__rand_int__", "999", "1000", "1"];
        let told = printed(&run("redis-benchmark", &[&flags[..], &words].concat()));
        assert!(told.contains("requests per second"), "{told}");
        assert!(!told.to_lowercase().contains("error"), "{told}");
    }
    let told = printed(&run(
        "redis-benchmark",
        &["-p", &port, "-q", "-n", "1000", "-t", "ping"],
    ));
    assert!(told.contains("PING_MBULK"), "{told}");
    assert_eq!(
        jeton.metric("jeton_decisions_total{rule=\"resp\",outcome=\"allowed\"} "),
        12_800
    );
}

/// Runs a script of this folder with a program, the port and the token.
fn script(program: &mut Command, name: &str, source: &[u8], jeton: &Running) {
    let folder = Folder::new();
    let file = folder.file(name, source);
    program.arg(file).arg(port(jeton)).arg(TOKEN);
    let output = printed(&program.output().expect("it runs"));
    assert_eq!(output, "fine\n");
}

#[test]
fn redis_py_connects_and_decides() {
    let jeton = with_token();
    let mut python = Command::new(tool("python3"));
    script(
        &mut python,
        "redis_py.py",
        include_bytes!("redis_py.py"),
        &jeton,
    );
}

#[test]
fn ioredis_connects_and_decides() {
    let jeton = with_token();
    let mut node = Command::new("node");
    node.env("NODE_PATH", folder_of("node_modules/ioredis"));
    script(
        &mut node,
        "ioredis.cjs",
        include_bytes!("ioredis.cjs"),
        &jeton,
    );
}
