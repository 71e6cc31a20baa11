//! Takes on a Redis server: Jeton against a script of the usual kind, in turn, on real servers that are
//! started here.
//!
//! Prints medians of several runs, and the ratios. Shared machines are noisy: read the ratios.

mod server;
mod takes;
mod thrift;

use std::time::Duration;

use jeton_core::{Anchor, Quota, Rate, Span};

use crate::server::Server;
use crate::takes::{Ours, Run};

pub type Failure = Box<dyn std::error::Error>;

const CALLERS: u64 = 50;
const LEASE: &str = "lease = 20\nlease_for = \"1s\"";
/// Nothing has to be asked any more: what is left is what this process and its callers cost.
const ENDLESS: &str = "lease = 1000000\nlease_for = \"1min\"";

fn main() -> Result<(), Failure> {
    let is_quick = std::env::var_os("JETON_FULL").is_none();
    let rounds = if is_quick { 5 } else { 9 };
    let lasts = Duration::from_secs(if is_quick { 2 } else { 10 });
    for program in server::programs() {
        let server = Server::start(&program)?;
        let ours = Ours::open(&server, 2)?;
        takes(&server, &ours, rounds, lasts)?;
        thrift(&server, &ours, rounds, lasts)?;
    }
    Ok(())
}

fn takes(server: &Server, ours: &Ours, rounds: usize, lasts: Duration) -> Result<(), Failure> {
    println!(
        "\n| Redis {}, random keys of 1 M | takes/s | ratio | p50 us | p99 us | server CPU us | takes per call |",
        server.version
    );
    println!("|---|---|---|---|---|---|---|");
    let rules = rules()?;
    for callers in [CALLERS, 1] {
        let mut peer = Vec::new();
        let mut runs: Vec<Vec<Run>> = rules.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            peer.push(takes::peer(
                server,
                callers,
                callers * 3_000 * lasts.as_secs(),
            )?);
            for ((_, quotas), runs) in rules.iter().zip(&mut runs) {
                runs.push(ours.run(server, quotas, callers, lasts)?);
            }
        }
        let peer = median(&peer);
        print(
            &format!("{callers} callers: hash script, redis-benchmark"),
            peer,
            peer,
        );
        for ((name, _), runs) in rules.iter().zip(&runs) {
            print(&format!("{callers} callers: {name}"), median(runs), peer);
        }
    }
    Ok(())
}

/// The gate with and without leases.
fn thrift(server: &Server, ours: &Ours, rounds: usize, lasts: Duration) -> Result<(), Failure> {
    let runtime = &ours.runtime;
    let plain = thrift::gate(ours, "", "plain", "100000/s", 100_000)?;
    let ahead = thrift::gate(ours, LEASE, "ahead", "100000/s", 100_000)?;
    let endless = thrift::gate(ours, ENDLESS, "endless", "100000000/s", 100_000_000)?;
    let (mut without, mut with, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(thrift::zipf(
            runtime, server, &plain, "plain", CALLERS, lasts,
        )?);
        with.push(thrift::zipf(
            runtime, server, &ahead, "ahead", CALLERS, lasts,
        )?);
        alone.push(thrift::zipf(
            runtime, server, &endless, "endless", CALLERS, lasts,
        )?);
    }
    let of = |seen: &[thrift::Seen], figure: fn(&thrift::Seen) -> f64| {
        middle(seen.iter().map(figure).collect())
    };
    let (slow, fast) = (
        of(&without, |seen| seen.per_second),
        of(&with, |seen| seen.per_second),
    );
    println!(
        "\n| Redis {}, {CALLERS} callers, 1000 keys, Zipf | takes/s | ratio | calls per take |",
        server.version
    );
    println!("|---|---|---|---|");
    println!(
        "| no lease | {slow:.0} | 1.00x | {:.4} |",
        of(&without, |seen| seen.calls)
    );
    println!(
        "| lease = 20 | {fast:.0} | {:.2}x | {:.4} |",
        fast / slow,
        of(&with, |seen| seen.calls)
    );

    let most = of(&alone, |seen| seen.per_second);
    println!(
        "| nothing to ask: the most there is | {most:.0} | {:.2}x | {:.4} |",
        most / slow,
        of(&alone, |seen| seen.calls)
    );

    bounds(server, ours, lasts * 2)
}

/// What passes of keys that are short, and of a client that is blocked.
fn bounds(server: &Server, ours: &Ours, lasts: Duration) -> Result<(), Failure> {
    const SCARCE: u64 = 500;
    let runtime = &ours.runtime;
    let scarce = thrift::gate(ours, LEASE, "scarce", &format!("{SCARCE}/s"), SCARCE)?;
    let seen = thrift::zipf(runtime, server, &scarce, "scarce", CALLERS, lasts)?;
    // Burst + rate x (t + lease_for), as `jeton check` prints it.
    let bound = SCARCE as f64 * (2.0 + seen.lasted.as_secs_f64());
    let most = seen.admitted.iter().max().copied().unwrap_or_default();
    println!(
        "| lease = 20, {SCARCE}/s, burst {SCARCE}: most admitted of a key {most}, bound {bound:.0} | {:.0} | | {:.4} |",
        seen.per_second, seen.calls
    );
    if most as f64 > bound {
        return Err("a lease let through more than its bound".into());
    }

    let denied = thrift::gate(ours, "deny_cache = \"200ms\"", "denied", "1/min", 1)?;
    let (takes, calls) = thrift::blocked(runtime, server, &denied, "denied", lasts)?;
    // One call that passes, and one when each period begins.
    let periods = lasts.as_millis() / 200;
    println!(
        "\ndeny_cache = \"200ms\", one client above 1/min: {takes} takes, {calls} round trips in {periods} periods"
    );
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

fn print(name: &str, run: Run, peer: Run) {
    println!(
        "| {name} | {:.0} | {:.2}x | {:.0} | {:.0} | {:.1} | {:.1} |",
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
    let of = |figure: fn(&Run) -> f64| middle(runs.iter().map(figure).collect());
    Run {
        per_second: of(|run| run.per_second),
        median_us: of(|run| run.median_us),
        p99_us: of(|run| run.p99_us),
        server_cpu_us: of(|run| run.server_cpu_us),
        per_call: of(|run| run.per_call),
    }
}

fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
