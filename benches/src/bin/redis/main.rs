//! Takes on a Redis server: Jeton against a script of the usual kind, in turn, on real servers that are
//! started here.
//!
//! Prints medians of several runs, and the ratios. Shared machines are noisy: read the ratios.

mod server;
mod takes;

use std::time::Duration;

use jeton_core::{Anchor, Quota, Rate, Span};

use crate::server::Server;
use crate::takes::{Ours, Run};

pub type Failure = Box<dyn std::error::Error>;

const CALLERS: u64 = 50;

fn main() -> Result<(), Failure> {
    let is_quick = std::env::var_os("JETON_FULL").is_none();
    let (rounds, takes) = if is_quick {
        (5, 150_000)
    } else {
        (9, 1_000_000)
    };
    let lasts = Duration::from_secs(if is_quick { 2 } else { 10 });
    println!(
        "| Redis, {CALLERS} callers, 1 M keys | takes/s | ratio | p50 us | p99 us | server CPU us | decisions per call |"
    );
    println!("|---|---|---|---|---|---|---|");
    for program in server::programs() {
        let server = Server::start(&program)?;
        let ours = Ours::open(&server, 2)?;
        let rules = rules()?;
        let mut peer = Vec::new();
        let mut runs: Vec<Vec<Run>> = rules.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            peer.push(takes::peer(&server, CALLERS, takes)?);
            for ((_, quotas), runs) in rules.iter().zip(&mut runs) {
                runs.push(ours.run(&server, quotas, CALLERS, lasts)?);
            }
        }
        let peer = median(&peer);
        print(&server, "hash script, redis-benchmark", peer, peer);
        for ((name, _), runs) in rules.iter().zip(&runs) {
            print(&server, name, median(runs), peer);
        }
    }
    Ok(())
}

fn rules() -> Result<Vec<(&'static str, Vec<Quota>)>, Failure> {
    let minute = Span::from_micros(60_000_000)?;
    let bucket = Quota::bucket(Rate::new(10, Span::SECOND)?, 20)?;
    Ok(vec![
        ("bucket", vec![bucket]),
        (
            "window",
            vec![Quota::fixed_window(20, minute, Anchor::Epoch)?],
        ),
        ("counter", vec![Quota::sliding_counter(20, minute)?]),
        ("log", vec![Quota::sliding_log(20, minute)?]),
        (
            "bucket and counter",
            vec![bucket, Quota::sliding_counter(20, minute)?],
        ),
    ])
}

fn print(server: &Server, name: &str, run: Run, peer: Run) {
    println!(
        "| {}: {name} | {:.0} | {:.2}x | {:.0} | {:.0} | {:.1} | {:.1} |",
        server.version,
        run.per_second,
        run.per_second / peer.per_second,
        run.median_us,
        run.p99_us,
        run.server_cpu_us,
        run.per_call,
    );
}

/// The median of each figure.
fn median(runs: &[Run]) -> Run {
    let of = |figure: fn(&Run) -> f64| {
        let mut figures: Vec<f64> = runs.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Run {
        per_second: of(|run| run.per_second),
        median_us: of(|run| run.median_us),
        p99_us: of(|run| run.p99_us),
        server_cpu_us: of(|run| run.server_cpu_us),
        per_call: of(|run| run.per_call),
    }
}
