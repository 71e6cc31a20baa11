//! Keyed takes in this process: Jeton against its peers, in turn, on the same random keys.
//!
//! `in_process [--quick]`. Prints medians of rounds that alternate, in nanoseconds per take and thread,
//! and ratios. Shared machines are noisy: read the ratios. `--quick` is to see that it runs.

mod draw;
mod events;
mod measure;
mod peers;
mod progress;

use std::process::Command;

use jeton::{Anchor, Quota, Span};

use draw::Spread;
use measure::{Case, fill, median, resident_bytes, round};
use peers::{Batched, Each, Fault, LIMITADOR, NAMES, Peer, bucket, peer, refilled};
use progress::Progress;

/// How much is measured.
struct Size {
    keys: &'static [u64],
    rounds: u64,
    blocks: usize,
}

const FULL: Size = Size {
    keys: &[100, 10_000, 1_000_000, 5_000_000],
    rounds: 5,
    blocks: 300,
};
const QUICK: Size = Size {
    keys: &[100, 10_000],
    rounds: 3,
    blocks: 20,
};

fn main() -> Result<(), Fault> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => report(&FULL),
        ["--quick"] => report(&QUICK),
        ["--bytes", name, keys] => bytes(name, keys.parse()?),
        _ => Err("usage: in_process [--quick]".into()),
    }
}

fn report(size: &Size) -> Result<(), Fault> {
    let cases = size.keys.len() * 4;
    let steps =
        cases * size.rounds as usize + size.keys.len() + 6 * size.rounds as usize + NAMES.len() + 2;
    let mut progress = Progress::new(steps);
    let takes = takes(size, &mut progress)?;
    let kinds = kinds(size, &mut progress)?;
    let weights = weights(size, &mut progress)?;
    let events = events::table(size.keys.len() > 2, &mut progress)?;
    progress.end();
    println!("{takes}\n{kinds}\n{weights}\n{events}");
    Ok(())
}

/// Every contender on every number of keys.
fn takes(size: &Size, progress: &mut Progress) -> Result<String, Fault> {
    let mut table = heading(&["keys", "drawn", "threads"], &NAMES);
    for &keys in size.keys {
        progress.step(&format!("filling with {keys} keys"));
        let peers: Vec<Option<Box<dyn Peer>>> = NAMES
            .iter()
            .enumerate()
            // It takes minutes to fill with more.
            .map(|(at, name)| {
                (at != LIMITADOR || keys <= 1_000_000)
                    .then(|| peer(name, keys))
                    .transpose()
            })
            .collect::<Result<_, _>>()?;
        peers.iter().flatten().for_each(|peer| fill(&**peer, keys));
        for threads in [1, 2] {
            for spread in [Spread::Uniform, Spread::Zipf] {
                let case = Case {
                    keys,
                    threads,
                    spread,
                };
                let medians = alternate(&peers, case, size, progress);
                let drawn = ["uniform", "Zipf"][usize::from(spread == Spread::Zipf)];
                table += &format!("| {keys} | {drawn} | {threads} |{}\n", ratios(&medians));
            }
        }
    }
    Ok(table)
}

/// The median of each contender over rounds in which all take their turns.
fn alternate(
    peers: &[Option<Box<dyn Peer>>],
    case: Case,
    size: &Size,
    progress: &mut Progress,
) -> Vec<Option<f64>> {
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    for number in 0..size.rounds {
        progress.step(&format!("{} keys, {} threads", case.keys, case.threads));
        for (at, (peer, rounds)) in peers.iter().zip(&mut rounds).enumerate() {
            let blocks = if at == LIMITADOR {
                size.blocks / 10
            } else {
                size.blocks
            };
            if let Some(peer) = peer {
                rounds.push(round(&**peer, case, blocks.max(2), number));
            }
        }
    }
    let medians = rounds.iter_mut().map(|rounds| median(rounds));
    medians
        .map(|median| (!median.is_nan()).then_some(median))
        .collect()
}

/// Every algorithm, one take at a time and in batches.
fn kinds(size: &Size, progress: &mut Progress) -> Result<String, Fault> {
    let keys = size
        .keys
        .iter()
        .copied()
        .filter(|keys| *keys <= 1_000_000)
        .max()
        .unwrap_or(100);
    let hour = Span::from_micros(3_600_000_000)?;
    let quotas = [
        ("token-bucket, gcra", bucket()?),
        // Full again by the time that most keys come back; where keys are few, most are denied.
        ("the same, 1000/s, burst 100", refilled()?),
        (
            "fixed-window",
            Quota::fixed_window(1_000_000, hour, Anchor::Epoch)?,
        ),
        ("sliding-counter", Quota::sliding_counter(1_000_000, hour)?),
        (
            "sliding-log, allowing",
            Quota::sliding_log(1_000_000, hour)?,
        ),
        ("sliding-log, denying at 20", Quota::sliding_log(20, hour)?),
    ];
    let columns = ["governor", "jeton, TSC", "jeton, TSC, batches of 32"];
    let mut table = heading(&["algorithm", "keys"], &columns);
    for (name, quota) in quotas {
        let peers: Vec<Option<Box<dyn Peer>>> = vec![
            Some(peer("governor", keys)?),
            Some(Box::new(Each::new(keys, quota)?)),
            Some(Box::new(Batched::new(keys, quota)?)),
        ];
        // The denying log is full after twenty.
        let times = if name.contains("denying") { 20 } else { 1 };
        for peer in peers.iter().flatten() {
            (0..times).for_each(|_| fill(&**peer, keys));
        }
        let case = Case {
            keys,
            threads: 1,
            spread: Spread::Uniform,
        };
        let medians = alternate(&peers, case, size, progress);
        table += &format!("| {name} | {keys} |{}\n", ratios(&medians));
    }
    Ok(table)
}

/// Resident bytes per key, each contender in a process of its own.
fn weights(size: &Size, progress: &mut Progress) -> Result<String, Fault> {
    let keys = size.keys.iter().copied().max().unwrap_or(100);
    let mut table = String::from("| contender | keys | resident bytes per key |\n|---|--:|--:|\n");
    for (at, name) in NAMES.iter().enumerate() {
        progress.step(&format!("weighing {name}"));
        let keys = if at == LIMITADOR {
            keys.min(1_000_000)
        } else {
            keys
        };
        let output = Command::new(std::env::current_exe()?)
            .args(["--bytes", name, &keys.to_string()])
            .output()?;
        let bytes = String::from_utf8(output.stdout)?;
        table += &format!("| {name} | {keys} | {} |\n", bytes.trim());
    }
    Ok(table)
}

fn bytes(name: &str, keys: u64) -> Result<(), Fault> {
    let before = resident_bytes();
    let peer = peer(name, keys)?;
    fill(&*peer, keys);
    let more = resident_bytes().saturating_sub(before);
    println!("{:.1}", more as f64 / keys as f64);
    Ok(())
}

fn heading(firsts: &[&str], columns: &[&str]) -> String {
    let all: Vec<&str> = firsts.iter().chain(columns).copied().collect();
    let rule = "|---".repeat(firsts.len()) + &"|--:".repeat(columns.len());
    format!("| {} |\n{rule}|\n", all.join(" | "))
}

/// Nanoseconds, and how many times faster than the first.
fn ratios(medians: &[Option<f64>]) -> String {
    let first = medians.first().copied().flatten().unwrap_or(f64::NAN);
    let one = |(at, median): (usize, &Option<f64>)| match median {
        Some(ns) if at == 0 => format!(" {ns:.0} |"),
        Some(ns) => format!(" {ns:.0} ({:.2}x) |", first / ns),
        None => String::from(" – |"),
    };
    medians.iter().enumerate().map(one).collect()
}
