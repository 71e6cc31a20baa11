//! `jeton simulate --store`: the same lines, and nothing left behind.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use jeton_testkit::random::Random;
use jeton_testkit::redis_server::{Server, Version};

use crate::support::binary::{command, jeton, jeton_in, stderr, stdout};
use crate::support::{Folder, is_full};

const POLICY: &str = r#"
[[rule]]
name = "bucket"
key = ["header:x-user"]
algorithm = "token-bucket"
rate = "7/2s"
burst = 9
on_deny = "charge"

[[rule]]
name = "log"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 6
window = "3s"
plan = "header:x-plan"
plans = { pro = { limit = 11 }, banned = "deny" }

[[rule]]
name = "counter"
key = ["client-ip"]
algorithm = "sliding-counter"
limit = 20
window = "5s"
mode = "shadow"

[[rule]]
name = "window"
key = ["client-ip"]
algorithm = "fixed-window"
limit = 15
window = "4s"
trial = { limit = 9 }

[[rule]]
name = "flight"
key = ["header:x-user"]
algorithm = "concurrency"
limit = 2
lease = "10s"
match = { path = "/slow" }
"#;

/// Everything a trace can hold: on a clock that also goes back, or with reservations. Not both: their
/// records have random names, and where one of them finds its place, memory lets go of what is over by
/// then, which a clock that goes back would have counted again.
fn trace(lines: u64, goes_back: bool) -> String {
    let mut random = Random::new(5);
    let (mut at, mut out) = (1_900_000_000_000_000_u64, String::new());
    for number in 0..lines {
        at += random.below(400_000);
        if goes_back && random.below(40) == 0 {
            at -= random.below(3_000_000);
        }
        let user = random.below(3);
        let request = format!(
            "\"request\":{{\"method\":\"GET\",\"path\":\"/{}\",\"client_ip\":\"192.0.2.{user}\",\
             \"headers\":{{\"x-user\":\"u{user}\",\"x-plan\":\"{}\"}}}}",
            random.pick(&["", "", "", "", "slow"]),
            random.pick(&["free", "free", "pro", "pro", "banned"]),
        );
        let rule = *random.pick(&["bucket", "log", "window"]);
        let key = if rule == "window" { "192.0.2.1" } else { "u1" };
        let named = format!("\"rule\":\"{rule}\",\"key\":\"{key}\"");
        let rest = match random.below(12) {
            0 => format!("\"op\":\"check\",{named},\"cost\":{}", random.below(5)),
            1 => format!("\"op\":\"refund\",{named},\"cost\":{}", random.below(3)),
            2 if random.below(4) == 0 => format!("\"op\":\"reset\",{named}"),
            3 if !goes_back => {
                format!("\"op\":\"reserve\",\"handle\":\"h{number}\",{named},\"cost\":2")
            }
            4 if random.below(3) == 0 => format!("\"op\":\"block\",{named},\"for_us\":900000"),
            5 => format!("{named},\"cost\":{}", random.below(30)),
            6 => {
                let log = "{\"rule\":\"log\",\"key\":\"u1\"}";
                let window = "{\"rule\":\"window\",\"key\":\"192.0.2.1\"}";
                format!("\"charges\":[{log},{window}]")
            }
            // What limits how much is in flight is not just taken.
            _ if request.contains("/slow") => format!("\"op\":\"check\",{request}"),
            _ => request,
        };
        writeln!(out, "{{\"at_us\":{at},{rest}}}").expect("text");
        if rest.contains("\"reserve\"") && random.below(2) == 0 {
            let settle = random.pick(&["commit\",\"actual\":1", "cancel\""]);
            writeln!(
                out,
                "{{\"at_us\":{at},\"op\":\"{settle},\"handle\":\"h{number}\"}}"
            )
            .expect("text");
        }
    }
    out
}

#[test]
fn lines_are_those_of_memory_to_the_byte() {
    let folder = Folder::new();
    folder.file("jeton.toml", POLICY.as_bytes());
    let events = if is_full() { 10_000 } else { 700 };
    for goes_back in [false, true] {
        let trace = trace(events, goes_back);
        let in_memory = jeton_in(folder.path(), &["simulate"], &trace);
        assert!(in_memory.status.success(), "{}", stderr(&in_memory));
        let lines = stdout(&in_memory);
        let count = |what: &str| lines.matches(what).count();
        assert!(count("\"allowed\":false") > 100 && count("\"allowed\":true") > 100);
        assert!(
            count("blocked") > 2 && count("trial") > 100,
            "a bit of everything"
        );
        for version in Version::ALL {
            let redis = Server::start(version, &[]);
            let flags = ["simulate", "--store", &redis.url()];
            let on_redis = jeton_in(folder.path(), &flags, &trace);
            assert!(on_redis.status.success(), "{}", stderr(&on_redis));
            let found = stdout(&on_redis);
            for (number, (found, expected)) in (1..).zip(found.lines().zip(lines.lines())) {
                assert_eq!(found, expected, "line {number}");
            }
            assert_eq!(found.len(), lines.len());
            assert_eq!(redis.ask::<u64>(&["DBSIZE"]), 0, "{version:?}");
        }
    }
}

#[test]
fn the_summary_is_that_of_memory() {
    let folder = Folder::new();
    folder.file("jeton.toml", POLICY.as_bytes());
    let redis = Version::V8_2.shared();
    let trace = trace(200, false);
    let summary = |more: &[&str]| {
        let output = jeton_in(
            folder.path(),
            &[&["simulate", "--summary"], more].concat(),
            &trace,
        );
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(summary(&["--store", &redis.url()]), summary(&[]));
}

/// A policy that lives on a server, asks seldom and takes ahead is tried out without all that.
#[test]
fn golden_traces_come_out_to_the_byte() {
    let redis = Version::V7_0.shared();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folders = std::fs::read_dir(&golden).expect("golden traces");
    let folders: Vec<PathBuf> = folders.map(|it| it.expect("one").path()).collect();
    assert!(!folders.is_empty());
    for folder in folders {
        let path = |name: &str| folder.join(name).to_str().expect("a path").to_owned();
        let text = std::fs::read_to_string(path("jeton.toml")).expect("a policy");
        let own = Folder::new();
        let store = "[store]\nkind = \"redis\"\nurl = \"redis://192.0.2.1\"\ndeny_cache = \"1s\"\nlease = 10\n";
        let config = own.file("jeton.toml", format!("{store}{text}").as_bytes());
        let config = config.to_str().expect("a path");
        let flags = [
            "simulate",
            "--config",
            config,
            "--trace",
            &path("trace.jsonl"),
        ];
        let expected = std::fs::read_to_string(path("expected.jsonl")).expect("lines");
        for more in [&[][..], &["--store", &redis.url()]] {
            let output = jeton(&[&flags[..], more].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            assert!(stdout(&output) == expected, "{} {more:?}", folder.display());
        }
    }
}

#[test]
fn nothing_is_left_by_a_bad_line_or_a_signal() {
    let redis = Server::start(Version::V7_0, &[]);
    let _: () = redis.ask(&["SET", "somebody-elses", "1"]);
    let folder = Folder::new();
    folder.file("jeton.toml", POLICY.as_bytes());
    let flags = ["simulate", "--store", &redis.url()];
    let good = "{\"at_us\":0,\"rule\":\"bucket\",\"key\":\"a\"}\n";
    let output = jeton_in(folder.path(), &flags, &format!("{good}nonsense\n"));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error: stdin:2: "),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output).lines().count(), 1);
    assert_eq!(redis.ask::<u64>(&["DBSIZE"]), 1, "somebody else's");

    for signal in ["-INT", "-TERM"] {
        let mut command = command(&flags);
        command.current_dir(folder.path()).stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("its input");
        input.write_all(good.as_bytes()).expect("it reads");
        let mut answer = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut answer)
            .expect("it answers");
        assert!(answer.contains("\"remaining\":8"), "{answer}");
        let keys: Vec<String> = redis.ask(&["KEYS", "jeton1:*"]);
        assert_eq!(keys.len(), 1);
        assert!(keys[0].starts_with("jeton1:tmp-"), "{keys:?}");
        let left_ms: i64 = redis.ask(&["PTTL", &keys[0]]);
        assert!(left_ms > 55_000, "{left_ms} ms, in real time");
        let pid = child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([signal, &pid])
            .status();
        assert!(sent.expect("kill runs").success());
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(1), "{signal}");
        assert!(
            stderr(&ended).contains(": the run was stopped"),
            "{}",
            stderr(&ended)
        );
        assert_eq!(redis.ask::<u64>(&["DBSIZE"]), 1, "{signal}");
    }
}

#[test]
fn a_store_that_gives_no_decision_stops_the_run() {
    let redis = Server::start(Version::V7_0, &[]);
    let folder = Folder::new();
    folder.file("jeton.toml", POLICY.as_bytes());
    let flags = ["simulate", "--store", &redis.url()];
    let mut command = command(&flags);
    command.current_dir(folder.path()).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    let line = b"{\"at_us\":0,\"rule\":\"bucket\",\"key\":\"a\"}\n";
    input.write_all(line).expect("it reads");
    let mut answer = String::new();
    let output = child.stdout.take().expect("its output");
    BufReader::new(output)
        .read_line(&mut answer)
        .expect("it answers");
    let _: String = redis.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    input.write_all(line).expect("it reads");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(1));
    let said = stderr(&ended);
    assert!(
        said.contains("stdin:2: the store at ") && said.contains("raise maxmemory"),
        "{said}"
    );
    assert_eq!(redis.ask::<u64>(&["DBSIZE"]), 0);

    let refused = || stderr(&jeton_in(folder.path(), &flags, ""));
    let said = refused();
    assert!(
        said.contains("--store cannot be used: the server is out of memory"),
        "{said}"
    );
    redis.kill();
    let said = refused();
    assert!(
        said.contains("--store cannot be used: the server cannot be reached"),
        "{said}"
    );
}
