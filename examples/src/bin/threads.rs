//! Plain threads, no runtime: a budget that workers share exactly, and a worker that paces itself.
//!
//! ```text
//! cargo run -p jeton-examples --bin threads
//! ```
#![allow(clippy::print_stdout)] // its output is what it is for

use std::error::Error;
use std::thread;
use std::time::Instant;

use jeton::{Fit, Limiter};

fn main() -> Result<(), Box<dyn Error>> {
    share()?;
    pace()
}

/// Eight threads want 100 units each of a budget of 50. They get 50, not 51.
fn share() -> Result<(), Box<dyn Error>> {
    let budget = Limiter::bucket("1/day", 50)?;
    let granted: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..100).filter(|_| budget.take("all").fit.passes()).count()))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(0))
            .sum()
    });
    println!("8 threads asked for 800 units and got {granted}");
    Ok(())
}

/// Eleven calls at 50 a second: one at once, then one every 20 ms. Sleeping for exactly the stated
/// time suffices, so each call is tried twice at most.
fn pace() -> Result<(), Box<dyn Error>> {
    let limiter = Limiter::bucket("50/s", 1)?;
    let (begun, mut tries) = (Instant::now(), 0);
    for _ in 0..11 {
        loop {
            tries += 1;
            let Fit::Denied { retry_after } = limiter.take("upstream").fit else {
                break;
            };
            thread::sleep(retry_after.into());
        }
    }
    let took = begun.elapsed();
    println!("11 calls with {tries} tries in {} ms", took.as_millis());
    Ok(())
}
