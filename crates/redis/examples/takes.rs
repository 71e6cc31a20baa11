//! What a take costs: `cargo run --release -p jeton-redis --example takes -- unix:///tmp/redis.sock`.
//!
//! So many callers, each waiting for its answer before it asks again, on random keys.

#![allow(clippy::print_stdout)] // the figures are what it is for

use std::sync::Arc;
use std::time::{Duration, Instant};

use jeton_core::{Answers, Cost, Op, Plan, Quota, Rate, RuleId, Span, Store as _, Submitted, When};
use jeton_redis::{RedisStore, Settings};
use tokio::runtime::{Builder, Runtime};

const RUN: Duration = Duration::from_secs(3);
const KEYS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "redis://127.0.0.1".to_owned());
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let settings = Settings {
        timeout: Duration::from_secs(5),
        ..Settings::new(url)
    };
    let store = Arc::new(RedisStore::open(&settings, runtime.handle())?);
    runtime.block_on(store.ready())?;
    let second = Span::SECOND;
    let window = Span::from_micros(60_000_000)?;
    let quotas = [
        ("bucket", vec![Quota::bucket(Rate::new(10, second)?, 20)?]),
        ("log", vec![Quota::sliding_log(20, window)?]),
        ("counter", vec![Quota::sliding_counter(20, window)?]),
        (
            "two rules",
            vec![
                Quota::bucket(Rate::new(10, second)?, 20)?,
                Quota::sliding_counter(20, window)?,
            ],
        ),
    ];
    println!("| quota | callers | takes/s | median, us | worst, us |");
    println!("|---|---|---|---|---|");
    for (name, quotas) in quotas {
        for callers in [1, 50, 200] {
            let mut took = run(&runtime, &store, &quotas, callers);
            took.sort_unstable();
            let rate = took.len() as u64 / RUN.as_secs();
            let median = took
                .get(took.len() / 2)
                .copied()
                .unwrap_or_default()
                .as_micros();
            let worst = took.last().copied().unwrap_or_default().as_micros();
            println!("| {name} | {callers} | {rate} | {median} | {worst} |");
        }
    }
    Ok(())
}

/// How long each take took.
fn run(
    runtime: &Runtime,
    store: &Arc<RedisStore>,
    quotas: &[Quota],
    callers: u64,
) -> Vec<Duration> {
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (store, quotas) = (Arc::clone(store), quotas.to_vec());
            runtime.spawn(async move {
                let (start, mut key, mut took) = (Instant::now(), caller, Vec::new());
                while start.elapsed() < RUN {
                    key = key
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(caller * 2 + 1);
                    let name = (key >> 33).rem_euclid(KEYS).to_be_bytes();
                    let asked = Instant::now();
                    let later = {
                        let op = |quota| Op::take(RuleId::new(1), &name, quota, Cost::ONE);
                        let ops: Vec<Op<'_>> = quotas.iter().map(op).collect();
                        let Ok(plan) = Plan::new(&ops) else {
                            return took;
                        };
                        store.submit(&[plan], When::StoreClock, &mut Answers::new())
                    };
                    if let Submitted::Later(answers) = later {
                        drop(answers.await);
                    }
                    took.push(asked.elapsed());
                }
                took
            })
        })
        .collect();
    tasks
        .into_iter()
        .flat_map(|task| runtime.block_on(task).unwrap_or_default())
        .collect()
}
