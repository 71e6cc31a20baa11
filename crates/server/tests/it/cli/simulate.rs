//! `jeton simulate`: traces in, answers out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::support::binary::{command, jeton_in, stderr, stdout};
use crate::support::{Folder, is_full};

const BUCKET: &str = r#"
[[rule]]
name = "api"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "1/s"
burst = 5
"#;

fn simulate(policy: &str, trace: &str) -> Output {
    simulate_with(policy, trace, &[])
}

fn simulate_with(policy: &str, trace: &str, flags: &[&str]) -> Output {
    let folder = Folder::new();
    folder.file("jeton.toml", policy.as_bytes());
    jeton_in(folder.path(), &[&["simulate"], flags].concat(), trace)
}

/// One take of `rule` at each of these instants, by the client that `key` numbers.
fn trace(asked: impl Iterator<Item = u64>, rule: &str, key: fn(u64) -> u64) -> String {
    let mut trace = String::new();
    for at in asked {
        let key = key(at);
        writeln!(
            trace,
            "{{\"at_us\":{at},\"rule\":\"{rule}\",\"key\":\"k{key}\"}}"
        )
        .expect("text");
    }
    trace
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Every folder of `tests/golden`: a policy, a trace, and what must come out, to the byte.
/// The policy of a service can be tried out where nobody knows its server.
#[test]
fn a_server_that_is_not_asked_need_not_be_known() {
    let store = "[store]\nkind = \"redis\"\nurl = { env = \"JETON_TEST_NO_SUCH_URL\" }\n\
                 key_secret = { file = \"nowhere\" }\n";
    let trace = trace(0..3, "api", |_| 1);
    let here = simulate(BUCKET, &trace);
    let named = simulate(&format!("{store}{BUCKET}"), &trace);
    assert_eq!(lines(&named).len(), 3);
    assert_eq!(stdout(&named), stdout(&here));
    // What is decided by has to be there.
    let rate = BUCKET.replace("\"1/s\"", "{ env = \"JETON_TEST_NO_SUCH_RATE\" }");
    let refused = simulate(&format!("{store}{rate}"), &trace);
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(said.contains("JETON_TEST_NO_SUCH_RATE"), "{said}");
    assert!(!said.contains("JETON_TEST_NO_SUCH_URL"), "{said}");
}

#[test]
fn golden_traces_come_out_to_the_byte() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folders = std::fs::read_dir(&golden)
        .expect("golden traces")
        .map(|it| it.expect("one").path());
    let folders: Vec<PathBuf> = folders.collect();
    assert!(folders.len() >= 6, "{folders:?}");
    for folder in folders {
        let flags = ["simulate", "--trace", "trace.jsonl"];
        let output = jeton_in(&folder, &flags, "");
        let expected =
            std::fs::read_to_string(folder.join("expected.jsonl")).expect("what is expected");
        assert_eq!(
            stdout(&output),
            expected,
            "{}\n{}",
            folder.display(),
            stderr(&output)
        );
        assert!(output.status.success());
        assert_eq!(
            jeton_in(&folder, &flags, "").stdout,
            output.stdout,
            "twice alike"
        );
    }
}

#[test]
fn the_manuals_line_is_answered_as_the_manual_says() {
    let output = simulate(
        BUCKET,
        r#"{"at_us": 1500000, "op": "take", "rule": "api", "key": "alice", "cost": 1}"#,
    );
    let expected = "{\"at_us\":1500000,\"allowed\":true,\"retry_after_us\":null,\"impossible\":false,\
        \"decisions\":[{\"rule\":\"api\",\"allowed\":true,\"limit\":5,\"remaining\":4,\
        \"reset_after_us\":1000000,\"retry_after_us\":null,\"mode\":\"enforce\"}]}\n";
    assert_eq!(stdout(&output), expected);
}

/// The console's lesson: 6 per 10 s around a window's edge.
#[test]
fn the_edge_scenario_tells_the_algorithms_apart() {
    let algorithms = [
        ("fixed-window", (18, 12, 12)),
        ("sliding-log", (13, 6, 6)),
        ("sliding-counter", (16, 6, 10)),
        ("token-bucket", (18, 6, 11)),
        ("gcra", (18, 6, 11)),
    ];
    let bursts = (0..6).map(|step| 9_000_000 + step * 100_000);
    let bursts = bursts.chain((0..6).map(|step| 10_100_000 + step * 100_000));
    let asked: Vec<u64> = bursts
        .chain((0..19).map(|step| 11_300_000 + step * 1_000_000))
        .collect();
    assert_eq!(asked.len(), 31);
    for (algorithm, expected) in algorithms {
        let quota = match algorithm {
            "token-bucket" | "gcra" => "rate = \"6/10s\"\nburst = 6",
            _ => "limit = 6\nwindow = \"10s\"",
        };
        let policy = format!(
            "[[rule]]\nname = \"a\"\nkey = \"global\"\nalgorithm = \"{algorithm}\"\n{quota}\n"
        );
        let trace = trace(asked.iter().copied(), "a", |_| 0);
        let answers = lines(&simulate(&policy, &trace));
        let passed: Vec<u64> = answers
            .iter()
            .filter(|line| line["allowed"] == true)
            .map(|line| line["at_us"].as_u64().expect("a time"))
            .collect();
        let worst = |span: u64| {
            let within = |from: &u64| {
                passed
                    .iter()
                    .filter(|at| (*from..from + span).contains(at))
                    .count()
            };
            passed.iter().map(within).max().unwrap_or(0)
        };
        assert_eq!(
            (passed.len(), worst(2_000_000), worst(10_000_000)),
            expected,
            "{algorithm}"
        );
    }
}

#[test]
fn a_bad_line_stops_with_its_number_and_what_came_before_is_told() {
    let good = r#"{"at_us":0,"rule":"api","key":"alice"}"#;
    for (bad, said) in [
        ("{", "not JSON"),
        (
            r#"{"at_us":0,"rule":"api","key":"alice","cost":-1}"#,
            "`cost`",
        ),
        (
            r#"{"at_us":0,"rule":"api","key":"alice","cost":0.5}"#,
            "`cost`",
        ),
        (
            r#"{"at_us":0,"rule":"api","key":"alice","cost":"2"}"#,
            "`cost`",
        ),
        (
            r#"{"at_us":0,"rule":"ap","key":"alice"}"#,
            "`rule`: no rule is named \"ap\"",
        ),
        (r#"{"at_us":0,"rule":"api","key":["a","b"]}"#, "`key`"),
        (r#"{"at_us":0,"rule":"api"}"#, "`key`"),
        (
            r#"{"at_us":0,"charges":[{"rule":"api","key":"a"},{"rule":"no","key":"a"}]}"#,
            "`charges[1].rule`",
        ),
        (r#"{"at_us":0,"rule":"api","key":"a","speed":1}"#, "`speed`"),
        (
            r#"{"at_us":0,"rule":"api","key":"a","request":{}}"#,
            "`request`",
        ),
        ("\u{feff}{}", "not JSON"),
    ] {
        let trace = format!("{good}\n\n{good}\n{bad}\n{good}\n");
        let output = simulate(BUCKET, &trace);
        assert_eq!(output.status.code(), Some(1), "{bad}");
        assert_eq!(stdout(&output).lines().count(), 2, "{bad}");
        let told = stderr(&output);
        assert!(
            told.starts_with("error: stdin:4: ") && told.contains(said),
            "{bad}: {told}"
        );
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[test]
fn the_name_of_a_trace_file_stands_in_the_error() {
    let folder = Folder::new();
    folder.file("jeton.toml", BUCKET.as_bytes());
    folder.file("yesterday.jsonl", b"nonsense\n");
    let output = jeton_in(
        folder.path(),
        &["simulate", "--trace", "yesterday.jsonl"],
        "",
    );
    assert!(
        stderr(&output).starts_with("error: yesterday.jsonl:1: "),
        "{}",
        stderr(&output)
    );
    let output = jeton_in(folder.path(), &["simulate", "--trace", "none.jsonl"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("none.jsonl"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn f1_a_clock_that_goes_back_costs_nobody_anything() {
    let asked = [10_000, 4_000, 4_000, 4_000, 4_000, 4_000].map(|ms| ms * 1_000);
    let trace = trace(asked.into_iter(), "api", |_| 0);
    let answers = lines(&simulate(BUCKET, &trace));
    let allowed: Vec<bool> = answers.iter().map(|line| line["allowed"] == true).collect();
    assert_eq!(allowed, [true, true, true, true, true, false]);
    assert!(answers[5]["retry_after_us"].as_u64().expect("a wait") <= 1_000_000);
}

#[test]
fn f2_an_absurd_cost_is_impossible_and_costs_nothing() {
    let policy = BUCKET
        .replace("1/s", "1/day")
        .replace("burst = 5", "burst = 1");
    let trace = r#"{"at_us":0,"rule":"api","key":"a","cost":200000000}
{"at_us":0,"rule":"api","key":"a","cost":18446744073709551615}
{"at_us":0,"rule":"api","key":"a"}
"#;
    let answers = lines(&simulate(&policy, trace));
    for absurd in &answers[..2] {
        assert_eq!(
            (&absurd["allowed"], &absurd["impossible"]),
            (&Value::Bool(false), &Value::Bool(true))
        );
        assert_eq!(absurd["retry_after_us"], Value::Null);
    }
    assert_eq!(answers[2]["allowed"], true);
}

#[test]
fn waiting_the_stated_time_suffices_and_one_microsecond_less_does_not() {
    for quota in [
        "algorithm = \"gcra\"\nrate = \"7/11ms\"\nburst = 3",
        "algorithm = \"sliding-log\"\nlimit = 3\nwindow = \"7ms\"",
        "algorithm = \"sliding-counter\"\nlimit = 3\nwindow = \"7ms\"",
        "algorithm = \"fixed-window\"\nlimit = 3\nwindow = \"7ms\"",
    ] {
        let policy = format!("[[rule]]\nname = \"a\"\nkey = \"global\"\n{quota}\n");
        let start = 1_000_003_u64;
        let ask = |at: u64| format!("{{\"at_us\":{at},\"rule\":\"a\",\"key\":\"k\",\"cost\":2}}\n");
        let first = lines(&simulate(
            &policy,
            &format!("{}{}", ask(start), ask(start + 5)),
        ));
        let wait = first[1]["retry_after_us"].as_u64().expect("a wait");
        for (at, allowed) in [(wait - 1, false), (wait, true)] {
            let trace = format!("{}{}{}", ask(start), ask(start + 5), ask(start + 5 + at));
            assert_eq!(
                lines(&simulate(&policy, &trace))[2]["allowed"],
                allowed,
                "{quota}"
            );
        }
    }
}

#[test]
fn a_summary_stands_for_all_lines() {
    let trace = trace((0..8).map(|at| at * 100_000), "api", |_| 0);
    let output = simulate_with(BUCKET, &trace, &["--summary"]);
    let text = stdout(&output);
    assert!(text.starts_with("stdin: 8 events over 0.7 s\n"), "{text}");
    let row: Vec<&str> = text
        .lines()
        .last()
        .expect("a row")
        .split_whitespace()
        .collect();
    assert_eq!(row, ["api", "8", "5", "3", "0", "0"]);
}

#[test]
fn an_answer_comes_before_the_next_question_is_needed() {
    use std::io::{BufRead, BufReader, Write};
    let folder = Folder::new();
    folder.file("jeton.toml", BUCKET.as_bytes());
    let mut command = command(&["simulate"]);
    command.current_dir(folder.path());
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("jeton starts");
    let mut input = child.stdin.take().expect("its input");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    for at in 0..3 {
        writeln!(input, "{{\"at_us\":{at},\"rule\":\"api\",\"key\":\"a\"}}").expect("asked");
        let mut line = String::new();
        output.read_line(&mut line).expect("answered");
        assert!(line.starts_with(&format!("{{\"at_us\":{at},")), "{line}");
    }
    drop(input);
    assert!(child.wait().expect("its end").success());
}

#[test]
fn long_traces_stream() {
    let events: u64 = if is_full() { 1_000_000 } else { 20_000 };
    let trace = trace((0..events).map(|at| at * 10), "api", |at| at / 10 % 1000);
    let output = simulate(BUCKET, &trace);
    let text = stdout(&output);
    assert_eq!(text.lines().count() as u64, events, "{}", stderr(&output));
    let passed = text
        .lines()
        .filter(|line| line.contains("\"allowed\":true,\"retry"))
        .count() as u64;
    let spans_s = events * 10 / 1_000_000;
    assert!((5_000..=1000 * (5 + spans_s)).contains(&passed), "{passed}");
}

#[test]
fn an_unwritable_output_is_no_crash() {
    let folder = Folder::new();
    folder.file("jeton.toml", BUCKET.as_bytes());
    let trace = trace(0..50_000, "api", |_| 0);
    folder.file("trace.jsonl", trace.as_bytes());
    let jeton = env!("CARGO_BIN_EXE_jeton");
    let pipe = format!("{jeton} simulate --trace trace.jsonl | head -n 1; echo ${{PIPESTATUS[0]}}");
    let output = std::process::Command::new("bash")
        .args(["-c", &pipe])
        .current_dir(folder.path())
        .output()
        .expect("bash runs");
    assert_eq!(
        (stdout(&output).lines().count(), stderr(&output)),
        (2, String::new())
    );
    assert!(stdout(&output).ends_with("\n0\n"), "{}", stdout(&output));
}

const RESERVING: &str = r#"
[[rule]]
name = "api"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "1/s"
burst = 10
plan = "header:x-plan"
plans = { pro = { burst = 50 }, banned = "deny" }
trial = { burst = 3 }

[[rule]]
name = "slots"
match = { path = "/slots" }
key = ["client-ip"]
algorithm = "concurrency"
limit = 1
lease = "5s"
"#;

#[test]
fn a_trace_reserves_and_settles_by_names_of_its_own() {
    let trace = r#"{"at_us":0,"op":"reserve","rule":"api","key":"a","cost":6,"handle":"job","ttl_us":60000000}
{"at_us":0,"op":"commit","handle":"job","actual":2}
{"at_us":0,"op":"commit","handle":"job","actual":2}
{"at_us":0,"op":"reserve","rule":"api","key":"a","cost":9,"handle":"big"}
{"at_us":0,"op":"cancel","handle":"big"}
{"at_us":0,"op":"reserve","rule":"slots","key":"a","handle":"slot","ttl":"10s"}
{"at_us":4000000,"op":"extend","handle":"slot"}
{"at_us":8000000,"op":"check","rule":"slots","key":"a"}
{"at_us":8000000,"op":"cancel","handle":"slot"}
{"at_us":8000000,"op":"check","rule":"slots","key":"a"}
{"at_us":99000000,"op":"cancel","handle":"slot"}
"#;
    let run = simulate(RESERVING, trace);
    let answers = lines(&run);
    let remaining = |line: usize| answers[line]["decisions"][0]["remaining"].as_u64();
    assert_eq!((remaining(0), remaining(1)), (Some(4), Some(8)));
    assert_eq!(
        (&answers[2]["allowed"], &answers[2]["repeated"]),
        (&true.into(), &true.into())
    );
    // What was refused has nothing to settle.
    assert_eq!(
        (&answers[3]["allowed"], &answers[4]["reason"]),
        (&false.into(), &"unknown-handle".into())
    );
    assert_eq!(
        (&answers[7]["allowed"], &answers[9]["allowed"]),
        (&false.into(), &true.into())
    );
    assert_eq!(answers[10]["reason"], "unknown-handle", "its time is over");
    for answer in &answers {
        assert!(
            answer.get("handle").is_none() && answer.get("expires_after_us").is_none(),
            "{answer}"
        );
    }
    assert_eq!(
        simulate(RESERVING, trace).stdout,
        run.stdout,
        "twice alike, whatever is random"
    );
}

#[test]
fn a_trace_blocks_charges_plans_and_shows_trials() {
    let trace = r#"{"at_us":0,"rule":"api","key":"a","cost":4,"plan":"pro"}
{"at_us":0,"rule":"api","key":"a","cost":4}
{"at_us":0,"rule":"api","key":"b","plan":"banned"}
{"at_us":1000000,"op":"block","key":"a","for_us":2000000}
{"at_us":2999999,"rule":"api","key":"a"}
{"at_us":3000000,"rule":"api","key":"a"}
{"at_us":3000000,"op":"block","rule":"api","key":"a"}
{"at_us":9000000,"rule":"api","key":"a"}
{"at_us":9000000,"op":"unblock","key":"a"}
{"at_us":9000000,"op":"reset","key":"a"}
"#;
    let answers = lines(&simulate(RESERVING, trace));
    let pro = &answers[0]["decisions"][0];
    assert_eq!(
        (&pro["plan"], &pro["limit"], &pro["mode"]),
        (&"pro".into(), &50.into(), &"enforce".into())
    );
    let own = answers[1]["decisions"].as_array().expect("decisions");
    assert!(own[0].get("plan").is_none());
    let modes: Vec<&Value> = own.iter().map(|decision| &decision["mode"]).collect();
    assert_eq!(modes, ["enforce", "trial"]);
    assert_eq!(
        (&answers[2]["reason"], &answers[2]["rule"]),
        (&"deny".into(), &"api".into())
    );
    assert_eq!(answers[3]["rules"], serde_json::json!(["api", "slots"]));
    let blocked = &answers[4];
    assert_eq!(
        (&blocked["allowed"], &blocked["retry_after_us"]),
        (&false.into(), &1.into())
    );
    assert_eq!(answers[5]["allowed"], true);
    assert_eq!(
        (&answers[7]["reason"], &answers[7]["retry_after_us"]),
        (&"blocked".into(), &Value::Null)
    );
    assert_eq!(answers[8]["rules"], serde_json::json!(["api"]));
    assert_eq!(answers[9]["decisions"][0]["remaining"], 10);
}

#[test]
fn what_a_trace_cannot_mean_stops_it() {
    for (line, said) in [
        (
            r#"{"at_us":0,"op":"cancel","handle":"never"}"#,
            "`handle`: no reservation before this",
        ),
        (
            r#"{"at_us":0,"rule":"slots","key":"a"}"#,
            "`rule`: slots limits how much is in flight",
        ),
        (
            r#"{"at_us":0,"request":{"path":"/slots"}}"#,
            "`request`: rule slots limits how much",
        ),
        (
            r#"{"at_us":0,"rule":"api","key":"a","plan":"gold"}"#,
            "`plan`: no plan is named",
        ),
        (
            r#"{"at_us":0,"op":"reserve","rule":"api","key":"a","handle":"twice"}"#,
            "`handle`: \"twice\"",
        ),
        (
            r#"{"at_us":0,"op":"block","key":["a","b"]}"#,
            "`key`: no rule has keys of 2 parts",
        ),
    ] {
        let first = r#"{"at_us":0,"op":"reserve","rule":"api","key":"a","handle":"twice"}"#;
        let output = simulate(RESERVING, &format!("{first}\n{line}\n"));
        assert_eq!(output.status.code(), Some(1), "{line}");
        let told = stderr(&output);
        assert!(
            told.starts_with("error: stdin:2: ") && told.contains(said),
            "{line}: {told}"
        );
    }
}
