//! `jeton simulate --store` where a key changes its plan: windows of several lengths on one state.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::Stdio;

use jeton_testkit::random::Random;
use jeton_testkit::redis_server::{Server, Version};

use crate::support::binary::{command, jeton_in, stderr, stdout};
use crate::support::{Folder, is_full};

const PLANS: &str = r#"plan = "header:x-plan"
plans = { short = { window = "500ms" }, long = { window = "9s" }, slow = { limit = 3 }, banned = "deny" }
"#;

const RULES: [(&str, &str); 5] = [
    (
        "bucket",
        "algorithm = \"token-bucket\"\nrate = \"7/2s\"\nburst = 9\non_deny = \"charge\"\n",
    ),
    ("log", "algorithm = \"sliding-log\"\nlimit = 7\n"),
    (
        "counter",
        "algorithm = \"sliding-counter\"\nlimit = 9\nmode = \"shadow\"\n",
    ),
    (
        "window",
        "algorithm = \"fixed-window\"\nlimit = 8\ntrial = { limit = 5 }\n",
    ),
    (
        "first",
        "algorithm = \"fixed-window\"\nlimit = 8\nanchor = \"first-request\"\n",
    ),
];

const FLIGHT: &str = r#"
[[rule]]
name = "flight"
key = ["header:x-user"]
algorithm = "concurrency"
limit = 2
lease = "10s"
match = { path = "/slow" }
"#;

fn policy() -> String {
    let mut policy = String::new();
    for (name, words) in RULES {
        writeln!(policy, "[[rule]]\nname = \"{name}\"").expect("text");
        writeln!(policy, "key = [\"header:x-user\"]\n{words}").expect("text");
        if name == "bucket" {
            let plans = "short = { rate = \"20/1s\" }, long = { rate = \"1/1s\" }";
            let more = "slow = { burst = 3 }, banned = \"deny\"";
            writeln!(
                policy,
                "plan = \"header:x-plan\"\nplans = {{ {plans}, {more} }}"
            )
            .expect("text");
        } else {
            writeln!(policy, "window = \"2s\"\n{PLANS}").expect("text");
        }
    }
    policy + FLIGHT
}

/// Every op on every rule by two users who change their plans all the time.
fn trace(seed: u64, lines: u64, goes_back: bool) -> String {
    let mut random = Random::new(seed);
    let (mut at, mut out) = (1_900_000_000_000_000_u64, String::new());
    let mut handles = Vec::new();
    for number in 0..lines {
        at += match random.below(20) {
            0 => random.below(4_000_000),
            1..6 => random.below(300_000),
            6..10 => 0,
            _ => random.below(50_000),
        };
        if goes_back && random.below(25) == 0 {
            at -= random.below(5_000_000);
        }
        let user = random.pick(&["u0", "u1"]);
        let (rule, _) = random.pick(&RULES);
        let (other, _) = random.pick(&RULES);
        let named = format!("\"rule\":\"{rule}\",\"key\":\"{user}\"");
        let plan = *random.pick(&["short", "long", "slow", "slow", "banned", ""]);
        let planned = match plan {
            "" => named.clone(),
            plan => format!("{named},\"plan\":\"{plan}\""),
        };
        let cost = random.pick(&[1, 1, 1, 2, 5, 12, 0]);
        let path = random.pick(&["", "", "slow"]);
        let request = format!(
            "\"request\":{{\"method\":\"GET\",\"path\":\"/{path}\",\"client_ip\":\"192.0.2.1\",\
             \"headers\":{{\"x-user\":\"{user}\",\"x-plan\":\"{plan}\"}}}}"
        );
        let rest = match random.below(16) {
            0..5 => format!("{planned},\"cost\":{cost}"),
            5 => format!("\"op\":\"check\",{planned},\"cost\":{cost}"),
            6 => format!("\"op\":\"refund\",{named},\"cost\":{}", random.below(4)),
            7 if random.below(3) == 0 => format!("\"op\":\"reset\",{named}"),
            8 if random.below(9) == 0 => format!("\"op\":\"block\",{named}"),
            8 if random.below(3) == 0 => format!("\"op\":\"block\",{named},\"for_us\":300000"),
            9 => format!("\"op\":\"unblock\",{named}"),
            // Where records of reservations, which have random names, find their places, memory lets
            // go of what is over by then.
            10 | 11 if !goes_back => {
                handles.push(number);
                format!("\"op\":\"reserve\",\"handle\":\"h{number}\",{planned},\"cost\":2")
            }
            12 if !handles.is_empty() => {
                let number = handles.swap_remove(random.index(handles.len()));
                let settle =
                    random.pick(&["commit\",\"actual\":1", "commit\",\"actual\":6", "cancel\""]);
                format!("\"op\":\"{settle},\"handle\":\"h{number}\"")
            }
            13 if rule != other => {
                format!("\"charges\":[{{{named}}},{{\"rule\":\"{other}\",\"key\":\"{user}\"}}]")
            }
            // What limits how much is in flight is not just taken.
            _ if *path == "slow" => format!("\"op\":\"check\",{request}"),
            _ => request,
        };
        writeln!(out, "{{\"at_us\":{at},{rest}}}").expect("text");
    }
    out
}

/// Whatever a longer window would still count, a state that is over is over on both.
#[test]
fn lines_are_those_of_memory_whatever_the_plans() {
    let folder = Folder::new();
    folder.file("jeton.toml", policy().as_bytes());
    let redis = Version::V7_0.shared();
    let (seeds, events) = if is_full() { (20, 2000) } else { (2, 400) };
    // Memory also lets go of what is over where it tidies up now and then, which in a long trace shows
    // once a clock goes back far enough to count it again.
    let forward = (0..seeds).map(|seed| (seed, events, false));
    for (seed, events, goes_back) in forward.chain([(0, 400, true), (1, 400, true)]) {
        let trace = trace(seed, events, goes_back);
        let in_memory = jeton_in(folder.path(), &["simulate"], &trace);
        assert!(in_memory.status.success(), "{}", stderr(&in_memory));
        let flags = ["simulate", "--store", &redis.url()];
        let on_redis = jeton_in(folder.path(), &flags, &trace);
        assert!(on_redis.status.success(), "{}", stderr(&on_redis));
        let (lines, found) = (stdout(&in_memory), stdout(&on_redis));
        assert!(lines.matches("\"allowed\":false").count() > 50);
        for (number, (found, expected)) in (1..).zip(found.lines().zip(lines.lines())) {
            assert_eq!(found, expected, "line {number}, {seed}, {goes_back}");
        }
        assert_eq!(found.len(), lines.len());
    }
}

/// What a run that was killed leaves behind goes within a day, a block without an end as well.
#[test]
fn what_a_killed_run_leaves_vanishes() {
    let redis = Server::start(Version::V7_0, &[]);
    let folder = Folder::new();
    folder.file("jeton.toml", policy().as_bytes());
    let mut command = command(&["simulate", "--store", &redis.url()]);
    command.current_dir(folder.path()).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    for op in ["block", "take"] {
        let line = format!("{{\"at_us\":0,\"op\":\"{op}\",\"rule\":\"log\",\"key\":\"{op}\"}}\n");
        input.write_all(line.as_bytes()).expect("it reads");
        output.read_line(&mut String::new()).expect("it answers");
    }
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    let keys: Vec<String> = redis.ask(&["KEYS", "*"]);
    assert!(keys.iter().any(|key| key.ends_with("{notes}")), "{keys:?}");
    assert!(keys.len() >= 2, "{keys:?}");
    for key in keys {
        let left_ms: i64 = redis.ask(&["PTTL", &key]);
        // What was tried out at the start may be gone by now; nothing has no end.
        assert!(
            left_ms != -1 && left_ms <= 86_400_000,
            "{key}: {left_ms} ms"
        );
    }
}
