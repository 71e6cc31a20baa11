//! Several threads on one key.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use jeton::Clock;

use crate::far::{World, is_full, take};

const THREADS: u64 = 8;

fn world(limit: u64, lease_for: &str) -> World {
    let rules = format!(
        "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"fixed-window\"\nlimit = {limit}\nwindow = \"3650d\"\n"
    );
    let thrift = format!("lease = 20\nlease_for = \"{lease_for}\"\ndeny_cache = \"1s\"");
    World::on(Clock::system(), 2, &thrift, &rules)
}

/// Every thread takes as often on a node of its own choice; how much passed.
fn hammer(world: &World, takes: u64) -> u64 {
    let passed = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (passed, node) = (&passed, &world.nodes[usize::from(number % 2 == 0)]);
            scope.spawn(move || {
                for i in 0..takes {
                    let cost = 1 + (i + number) % 3;
                    if take(&node.gate, "api", "alice", cost).allowed() {
                        passed.fetch_add(cost, Relaxed);
                    }
                }
            });
        }
    });
    passed.into_inner()
}

#[test]
fn what_eight_threads_spend_is_what_was_charged() {
    let takes = if is_full() { 200_000 } else { 5_000 };
    let world = world(1_000_000_000, "1min");
    let passed = hammer(&world, takes);
    let of = |number| (0..takes).map(|i| 1 + (i + number) % 3).sum::<u64>();
    assert_eq!(passed, (0..THREADS).map(of).sum::<u64>());
    let calls: usize = world.nodes.iter().map(|node| node.far.calls()).sum();
    println!("{} takes, {calls} calls", THREADS * takes);
    // How many depends on who is held up while units are on their way: then all others ask.
    assert!((calls as u64) < THREADS * takes);
    world.drain();
    assert_eq!(world.used("api", "alice"), passed);
}

#[test]
fn they_never_spend_more_than_the_limit_and_leave_none_of_it_lying() {
    // A thread that is held up for longer than units are good for leaves them charged.
    let (brief, long) = ("100ms", "1min");
    for round in 0..if is_full() { 200 } else { 20 } {
        let limit = 500 + round;
        let lease_for = if round % 2 == 0 { brief } else { long };
        let world = world(limit, lease_for);
        let passed = hammer(&world, 300);
        assert!(passed <= limit, "{passed} of {limit}");
        world.drain();
        let used = world.used("api", "alice");
        assert!(passed <= used && used <= limit);
        if lease_for == long {
            assert_eq!(used, passed);
        }
    }
}
