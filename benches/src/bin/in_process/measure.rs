//! How long a take is: the median block of a round, so that a round in which the thread lost the
//! processor for a while counts for no more than the others.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crate::draw::{BLOCK, Draw, Spread, text};
use crate::peers::Peer;

/// One row of a table.
#[derive(Clone, Copy)]
pub struct Case {
    pub keys: u64,
    pub threads: u64,
    pub spread: Spread,
}

/// Takes once for each key, so that all are there.
pub fn fill(peer: &dyn Peer, keys: u64) {
    let mut from = 0;
    while from < keys {
        // Whole blocks, since batches are: some keys come twice.
        let block: Vec<String> = (from..from + BLOCK as u64)
            .map(|key| text(key % keys))
            .collect();
        peer.take(&block);
        from += BLOCK as u64;
    }
}

/// Nanoseconds per take and thread.
pub fn round(peer: &dyn Peer, case: Case, blocks: usize, seed: u64) -> f64 {
    let barrier = Barrier::new(case.threads as usize);
    let mut all: Vec<f64> = thread::scope(|scope| {
        let run = |thread: u64| {
            let barrier = &barrier;
            scope.spawn(move || {
                let mut draw = Draw::new(case.keys, case.spread, seed * case.threads + thread);
                draw.refill();
                peer.take(&draw.block);
                barrier.wait();
                (0..blocks)
                    .map(|_| {
                        draw.refill();
                        let begun = Instant::now();
                        peer.take(&draw.block);
                        begun.elapsed().as_nanos() as f64 / BLOCK as f64
                    })
                    .collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..case.threads).map(run).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    });
    median(&mut all)
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Bytes of this process that are in memory.
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096
}
