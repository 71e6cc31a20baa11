//! What a take costs: `cargo run --release -p jeton-memory --example takes`.
//!
//! Keys of 16 bytes drawn at random from a warm table, the time counted up rather than read. The
//! figures include drawing the key; the bucket nearly always allows, the log soon denies.

#![allow(clippy::print_stdout)] // the figures are what it is for

use std::time::Instant;

use jeton_core::{Answers, Cost, Micros, Op, Plan, Quota, Rate, RuleId, Span};
use jeton_memory::{Settings, Table};

const TAKES: u64 = 40_000;
/// The best of so many runs counts, each short enough to be left alone by other programs.
const RUNS: u64 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quotas = [
        (
            "bucket",
            Quota::bucket(Rate::new(1, Span::SECOND)?, 1_000_000)?,
        ),
        (
            "log",
            Quota::sliding_log(20, Span::from_micros(60_000_000)?)?,
        ),
    ];
    println!(
        "| quota | keys | threads | take, ns | plan of one, ns | plan of two, ns | bytes per key |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, quota) in &quotas {
        for keys in [100, 10_000, 1_000_000] {
            for threads in [1, 2] {
                row(name, quota, keys, threads)?;
            }
        }
    }
    Ok(())
}

fn row(
    name: &str,
    quota: &Quota,
    keys: u64,
    threads: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let table = Table::new(&Settings {
        max_keys: keys * 2,
        max_memory_bytes: 4 << 30,
        ..Settings::default()
    })?;
    for n in 0..keys {
        table.take(RuleId::new(1), &key(n), quota, Cost::ONE, Micros::new(1));
    }
    let stats = table.stats();
    let bytes = stats.bytes / stats.keys.max(1);
    let take = time(threads, keys, |n, now| {
        table.take(RuleId::new(1), &key(n), quota, Cost::ONE, now);
    });
    let plan = |ops| {
        time(threads, keys, |n, now| {
            let keys = [key(n), key((n + 1) % keys)];
            let ops = &[0, 1].map(|i| Op::take(RuleId::new(1), &keys[i], quota, Cost::ONE))[..ops];
            ANSWERS.with_borrow_mut(|answers| {
                answers.clear();
                if let Ok(plan) = Plan::new(ops) {
                    table.decide(plan, now, &mut (), answers);
                }
            });
        })
    };
    let (one, two) = (plan(1), plan(2));
    println!("| {name} | {keys} | {threads} | {take:.0} | {one:.0} | {two:.0} | {bytes} |");
    Ok(())
}

thread_local! {
    static ANSWERS: std::cell::RefCell<Answers> = const { std::cell::RefCell::new(Answers::new()) };
}

fn key(n: u64) -> [u8; 16] {
    let mut key = *b"user:00000000000";
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

/// Nanoseconds per call and thread, in the best run.
fn time(threads: u64, keys: u64, call: impl Fn(u64, Micros) + Sync) -> f64 {
    (0..RUNS)
        .map(|seed| run(seed, threads, keys, &call))
        .fold(f64::MAX, f64::min)
}

fn run(seed: u64, threads: u64, keys: u64, call: &(impl Fn(u64, Micros) + Sync)) -> f64 {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut random = seed * threads + thread;
                for step in 0..TAKES {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    call(
                        (random >> 33) % keys,
                        Micros::new(1_000 + seed * TAKES + step),
                    );
                }
            });
        }
    });
    #[allow(clippy::cast_precision_loss)] // four digits are plenty
    let takes = TAKES as f64;
    begun.elapsed().as_secs_f64() * 1e9 / takes
}
