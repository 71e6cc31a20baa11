//! Keyed takes in this process: Jeton against governor, in turn, on the same random keys.
//!
//! Prints medians of several rounds in nanoseconds per take and thread, and the ratios. Shared
//! machines are noisy: read the ratios.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use governor::{Quota as GovernorQuota, RateLimiter};
use jeton::{Clock, Limiter, Overflow, Quota, Rate, Settings, Span};

const ROUNDS: usize = 5;

struct Case {
    keys: u64,
    threads: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quick = std::env::var_os("JETON_FULL").is_none();
    let takes: u64 = if quick { 2_000_000 } else { 10_000_000 };
    println!(
        "| keys | threads | governor ns | jeton (default clock) ns | ratio | jeton (TSC) ns | ratio |"
    );
    println!("|---|---|---|---|---|---|---|");
    for case in [
        Case {
            keys: 100,
            threads: 1,
        },
        Case {
            keys: 10_000,
            threads: 1,
        },
        Case {
            keys: 1_000_000,
            threads: 1,
        },
        Case {
            keys: 1_000_000,
            threads: 2,
        },
    ] {
        let per_thread = NonZeroU32::new(1_000).ok_or("rate")?;
        let governor = RateLimiter::keyed(GovernorQuota::per_second(per_thread));
        let safe = limiter(Clock::system(), case.keys)?;
        let fast = limiter(Clock::tsc(), case.keys)?;
        let (mut g, mut s, mut f) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=ROUNDS {
            g.push(ns(&case, takes, |key| governor.check_key(&key).is_ok()));
            s.push(ns(&case, takes, |key| safe.take(&key).fit.passes()));
            f.push(ns(&case, takes, |key| fast.take(&key).fit.passes()));
        }
        // The first round fills the tables.
        let (g, s, f) = (median(&mut g), median(&mut s), median(&mut f));
        println!(
            "| {} | {} | {g:.0} | {s:.0} | {:.2}x | {f:.0} | {:.2}x |",
            case.keys,
            case.threads,
            g / s,
            g / f,
        );
    }
    Ok(())
}

fn limiter(clock: Clock, keys: u64) -> Result<Limiter, Box<dyn std::error::Error>> {
    let quota = Quota::bucket(Rate::new(1_000, Span::SECOND)?, 1_000)?;
    let settings = Settings {
        max_keys: 2 * keys + 1_000,
        max_memory_bytes: 1 << 30,
        overflow: Overflow::Share,
        seed: None,
    };
    Ok(Limiter::with(quota, &settings, clock)?)
}

/// Nanoseconds per take and thread.
fn ns(case: &Case, takes: u64, take: impl Fn(u64) -> bool + Sync) -> f64 {
    let barrier = Barrier::new(usize::try_from(case.threads).unwrap_or(1));
    let each = takes / case.threads;
    let total: u128 = thread::scope(|scope| {
        let run = |thread: u64| {
            let (barrier, take) = (&barrier, &take);
            scope.spawn(move || {
                let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread + 1);
                barrier.wait();
                let start = Instant::now();
                for _ in 0..each {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    black_box(take(random % case.keys));
                }
                start.elapsed().as_nanos()
            })
        };
        let threads: Vec<_> = (0..case.threads).map(run).collect();
        threads
            .into_iter()
            .map(|t| t.join().unwrap_or_default())
            .sum()
    });
    total as f64 / (each * case.threads) as f64
}

fn median(rounds: &mut Vec<f64>) -> f64 {
    rounds.remove(0);
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}
