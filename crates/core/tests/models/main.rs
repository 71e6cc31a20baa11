//! The engine against the slow exact models of `jeton-testkit`, on awkward random traffic:
//! decision, remaining, reset, next and retry of every act, over backward clocks, changed quotas,
//! refunds, settles and debt.
//!
//! By default 10 000 traces; with `JETON_FULL=1` at least 1 000 000 steps of each algorithm.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod engine;
mod found;

use engine::Engine;
use jeton_testkit::trace::{Family, compare};

fn engine_equals_its_model(family: Family) {
    let full = std::env::var_os("JETON_FULL").is_some_and(|value| value == "1");
    // Half of the traces keep every state, half forget it at the first instant they may.
    let (traces, steps) = if full { (2500, 200) } else { (1000, 60) };
    for forgetful in [false, true] {
        let seeds = if forgetful {
            1_000_000..1_000_000 + traces
        } else {
            0..traces
        };
        match compare(family, seeds, steps, || Engine::new(forgetful)) {
            Ok(figures) => println!("{family:?}, forgetful {forgetful}: {figures}"),
            Err(difference) => panic!("forgetful {forgetful}: {difference}"),
        }
    }
}

#[test]
fn bucket_equals_its_model() {
    engine_equals_its_model(Family::Bucket);
}

#[test]
fn epoch_window_equals_its_model() {
    engine_equals_its_model(Family::EpochWindow);
}

#[test]
fn first_request_window_equals_its_model() {
    engine_equals_its_model(Family::FirstRequestWindow);
}

#[test]
fn sliding_counter_equals_its_model() {
    engine_equals_its_model(Family::SlidingCounter);
}

#[test]
fn sliding_log_equals_its_model() {
    engine_equals_its_model(Family::SlidingLog);
}

#[test]
fn concurrency_equals_its_model() {
    engine_equals_its_model(Family::Concurrency);
}

#[test]
fn ticket_equals_its_model() {
    engine_equals_its_model(Family::Ticket);
}
