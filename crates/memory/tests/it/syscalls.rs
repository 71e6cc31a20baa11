//! Decisions make no system call: a program that makes a hundred times as many makes no more of them.

use std::env;
use std::process::Command;

use jeton_core::{Answers, Cost, Micros, Op, Plan, RuleId, Store, Submitted, When};
use jeton_memory::Overflow;

use crate::{SECOND, bucket, counter, first, fixed, log, table};

/// How often the traced program decides about each of its keys.
const ROUNDS: &str = "JETON_TEST_ROUNDS";
const TRACED: &str = "syscalls::keys_in_use_are_decided_round_after_round";

/// What is traced: takes, plans and batches on keys in use, allowed and denied.
#[test]
fn keys_in_use_are_decided_round_after_round() {
    let rounds = env::var(ROUNDS).map_or(10, |text| text.parse().unwrap());
    let table = table(10_000, 16 << 20, Overflow::Share);
    let quotas = [
        bucket(1, 60 * SECOND, 1_000_000),
        fixed(1_000_000, SECOND),
        first(1_000_000, SECOND),
        counter(1_000_000, SECOND),
        log(4, 60 * SECOND),
    ];
    let keys: Vec<[u8; 4]> = (0..64_u32).map(u32::to_le_bytes).collect();
    let (rule, mut answers, mut decided) = (RuleId::new(1), Answers::new(), 0);
    for quota in &quotas {
        let ops: Vec<Op<'_>> = keys
            .iter()
            .map(|key| Op::take(rule, key, quota, Cost::ONE))
            .collect();
        let plans: Vec<Plan<'_>> = ops.chunks(2).map(|ops| Plan::new(ops).unwrap()).collect();
        for round in 0..rounds {
            let now = Micros::new(SECOND + round);
            for key in &keys {
                table.take(rule, key, quota, Cost::ONE, now);
            }
            answers.clear();
            let done = table.submit(&plans, When::At(now), &mut answers);
            assert!(matches!(done, Submitted::Done));
            decided += answers.len();
        }
    }
    assert_eq!(decided as u64, rounds * 5 * 32);
}

/// The system calls that the traced program makes from start to end.
fn traced(rounds: u64) -> u64 {
    let output = Command::new("strace")
        .args(["-f", "-c", "-S", "calls"])
        .arg(env::current_exe().unwrap())
        .args(["--exact", TRACED, "--test-threads=1"])
        .env(ROUNDS, rounds.to_string())
        .output()
        .expect("strace is needed: `make prereqs` installs it");
    let (out, counts) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("1 passed"), "{out}{counts}");
    let total = counts.lines().rfind(|line| line.ends_with(" total"));
    let columns = total.expect("a total").split_whitespace();
    columns.clone().nth(3).unwrap().parse().unwrap()
}

#[test]
fn a_hundred_times_the_decisions_make_no_more_system_calls() {
    let (few, many) = (traced(20), traced(2_000));
    assert!(few > 10, "{few}: nothing was traced");
    // A million decisions apart; the program's own may differ by a few.
    assert!(many < few + 100, "{few} system calls, then {many}");
}
