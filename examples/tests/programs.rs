//! Each program is started as its page says, and does what the page says.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A server that listens, until it is dropped.
struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    fn start(program: &str) -> Self {
        let mut child = Command::new(program)
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .expect(&line)
            .to_owned();
        Self { child, url }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .expect(program);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn curl(arguments: &[&str]) -> String {
    run(
        "curl",
        &[&["-s", "-i", "--max-time", "10"], arguments].concat(),
    )
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

#[test]
fn axum_limits_everybody_by_address_and_reports_by_key() {
    let server = Listening::start(env!("CARGO_BIN_EXE_axum"));
    let report = format!("{}/report", server.url);
    let by = |key: &str| curl(&["-H", &format!("x-api-key: {key}"), &report]);
    let first = by("alice");
    assert_eq!(status(&first), "200", "{first}");
    assert!(
        first.contains("\r\nratelimit-policy: \"reports\";q=1;w=60\r\n"),
        "{first}"
    );
    assert!(
        first.contains("\r\nratelimit-policy: \"everyone\";q=5;w=5\r\n"),
        "{first}"
    );
    let second = by("alice");
    assert_eq!(status(&second), "429", "{second}");
    let wait = second.split("\r\nretry-after: ").nth(1).unwrap();
    let wait: u32 = wait.split("\r\n").next().unwrap().parse().unwrap();
    assert!((50..=60).contains(&wait), "{second}");
    assert!(
        second.contains("\"violated-policies\":[\"reports\"]"),
        "{second}"
    );
    assert_eq!(status(&curl(&[&report])), "403", "without a key");

    // The address has used three of five; one comes back each second.
    let rest: Vec<String> = (0..20).map(|_| curl(&[&server.url])).collect();
    let passed = rest
        .iter()
        .take_while(|answer| status(answer) == "200")
        .count();
    assert!((2..20).contains(&passed), "{passed} more passed");
    assert_eq!(status(&rest[passed]), "429");
    assert!(
        rest[passed].contains("\r\nretry-after: 1\r\n"),
        "{}",
        rest[passed]
    );
}

#[test]
fn tonic_refuses_the_third_call_and_its_client_knows_the_wait() {
    let server = Listening::start(env!("CARGO_BIN_EXE_tonic"));
    let call = |user| run(env!("CARGO_BIN_EXE_tonic"), &["call", &server.url, user]);
    // One comes back each second, however slowly the calls are made.
    let answers: Vec<String> = (0..20).map(|_| call("alice")).collect();
    let passed = answers
        .iter()
        .take_while(|answer| *answer == "hello alice\n")
        .count();
    assert!((2..20).contains(&passed), "{answers:?}");
    let refused = &answers[passed];
    let start = "ResourceExhausted: limit \"default\" has no room now; try again in ";
    assert!(refused.starts_with(start), "{refused}");
    let wait_ms = refused
        .split("(retry after ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert!(
        (1..=1000).contains(&wait_ms.parse::<u32>().unwrap()),
        "{refused}"
    );
    assert_eq!(
        call("bob"),
        "hello bob\n",
        "others have limits of their own"
    );
}

#[test]
fn threads_share_a_budget_exactly_and_pace_themselves_by_the_stated_waits() {
    let output = run(env!("CARGO_BIN_EXE_threads"), &[]);
    let (shared, paced) = output.split_once('\n').unwrap();
    assert_eq!(shared, "8 threads asked for 800 units and got 50");
    let numbers: Vec<u32> = paced
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let [calls, tries, took_ms] = numbers[..] else {
        panic!("{paced}");
    };
    assert_eq!(calls, 11);
    assert!(
        (11..=21).contains(&tries),
        "waiting for the stated time suffices: {paced}"
    );
    assert!(took_ms >= 200, "{paced}");
}
