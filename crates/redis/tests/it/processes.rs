//! One limit over many processes.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use jeton_core::{Act, Anchor, Answers, Cost, Op, Plan, Quota, Rate, RuleId, Span, When};
use jeton_redis::{RedisStore, Settings};
use jeton_testkit::laws::full_size;
use jeton_testkit::redis_server::{Server, Version};
use redis::Commands as _;

use crate::mirror::store;
use crate::server::{RUNTIME, submit};

const PROCESSES: usize = 4;
const TAKES: usize = 500;
const LIMIT: u64 = 100;
const HOUR: u64 = 3_600_000_000;
/// Where a process of its own finds the server: its socket and its prefix.
const TOLD: &str = "JETON_TEST_SHARED_LIMIT";

fn quotas() -> [Quota; 6] {
    // None of them gives a unit back within the test, and no window ends.
    let window = Span::from_micros(100_000 * HOUR).unwrap();
    [
        Quota::bucket(
            Rate::new(1, Span::from_micros(HOUR).unwrap()).unwrap(),
            LIMIT,
        ),
        Quota::fixed_window(LIMIT, window, Anchor::Epoch),
        Quota::fixed_window(LIMIT, window, Anchor::FirstRequest),
        Quota::sliding_counter(LIMIT, window),
        Quota::sliding_log(LIMIT, window),
        Quota::concurrency(LIMIT, window),
    ]
    .map(Result::unwrap)
}

fn rounds() -> u64 {
    if full_size() { 50 } else { 3 }
}

/// How many of many takes at once pass, in each round of each algorithm.
fn take_all(store: &RedisStore) -> Vec<usize> {
    let mut passed = Vec::new();
    for quota in &quotas() {
        for round in 0..rounds() {
            let name = round.to_be_bytes();
            let cost = Cost::ONE;
            let act = if quota.kind().is_held() {
                Act::Hold { cost }
            } else {
                Act::Take { cost }
            };
            let op = Op::new(RuleId::new(21), &name, quota, act);
            let answers: Answers = submit(store, &[Plan::one(&op); TAKES], When::StoreClock);
            let allowed = |i: &usize| answers.plan(*i).0.unwrap().allowed;
            passed.push((0..TAKES).filter(allowed).count());
        }
    }
    passed
}

/// A process of its own, for the test below; by itself it is all the processes there are.
#[test]
fn one_of_several_processes() {
    let Ok(told) = std::env::var(TOLD) else {
        let passed = take_all(&store(Version::V7_0.shared()));
        assert!(
            passed.iter().all(|passed| *passed as u64 == LIMIT),
            "{passed:?}"
        );
        return;
    };
    let (url, prefix) = told.split_once(' ').unwrap();
    let mut settings = Settings::new(url);
    settings.prefix = prefix.to_owned();
    settings.timeout = std::time::Duration::from_secs(20);
    let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
    RUNTIME.block_on(store.ready()).unwrap();
    let mut client = redis::Client::open(url).unwrap().get_connection().unwrap();
    let () = client.incr("ready", 1).unwrap();
    while client.get::<_, usize>("ready").unwrap() < PROCESSES {
        std::thread::yield_now();
    }
    let passed = take_all(&store)
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    println!("passed: {passed}.");
}

fn start(server: &Server, prefix: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "processes::one_of_several_processes",
            "--nocapture",
        ])
        .env(TOLD, format!("{} {prefix}", server.url()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn passed(mut process: Child) -> Vec<usize> {
    let mut said = String::new();
    process
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(process.wait().unwrap().success(), "{said}");
    let (_, passed) = said.split_once("passed: ").unwrap();
    let (passed, _) = passed.split_once('.').unwrap();
    passed
        .split(' ')
        .map(|count| count.parse().unwrap())
        .collect()
}

/// F21: four processes with five hundred takes at once each: exactly the limit passes.
#[test]
fn f21_processes_together_admit_exactly_the_limit() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let processes: Vec<Child> = (0..PROCESSES).map(|_| start(&server, "f21:")).collect();
        let passed: Vec<Vec<usize>> = processes.into_iter().map(passed).collect();
        let total = |round: usize| passed.iter().map(|process| process[round]).sum::<usize>();
        let totals: Vec<usize> = (0..passed[0].len()).map(total).collect();
        assert!(
            totals.iter().all(|total| *total as u64 == LIMIT),
            "{version:?}: {totals:?}"
        );
        let alone = passed
            .iter()
            .any(|process| process.iter().all(|p| *p as u64 == LIMIT));
        assert!(!alone, "the processes never met");
    }
}
