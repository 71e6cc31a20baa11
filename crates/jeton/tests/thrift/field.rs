//! Faults of the field (docs: the numbers are those of the list of field cases).

use crate::far::{Fault, MS, S, World, take};

#[test]
fn f24_each_hit_is_counted_once() {
    for algorithm in ["fixed-window", "sliding-log", "sliding-counter"] {
        let rules = format!(
            "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"{algorithm}\"\nlimit = 1_000\nwindow = \"1h\"\n"
        );
        let world = World::new(2, "lease = 20", &rules);
        for hit in 0..100 {
            assert!(take(&world.nodes[0].gate, "api", "alice", 1).allowed());
            world.pass(7 * MS);
            if hit % 10 == 0 {
                world.look();
            }
        }
        assert!(world.nodes[0].far.calls() < 10);
        world.drain();
        assert_eq!(world.used("api", "alice"), 100, "{algorithm}");
        // And no more by syncing again.
        world.drain();
        world.look();
        assert_eq!(world.used("api", "alice"), 100, "{algorithm}");
    }
}

#[test]
fn f24_after_a_split_a_new_window_holds_its_own_hits_only() {
    for limit in [5, 50] {
        let rules = format!(
            "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"fixed-window\"\nlimit = {limit}\nwindow = \"10s\"\n"
        );
        let world = World::new(
            2,
            "lease = 20\nlease_for = \"1min\"\ndeny_cache = \"1min\"",
            &rules,
        );
        let [one, other] = &world.nodes[..] else {
            panic!("two nodes");
        };
        // In the first window both are busy, and one is cut off with units ahead.
        for _ in 0..2 {
            assert!(take(&one.gate, "api", "alice", 1).allowed());
            assert!(take(&other.gate, "api", "alice", 1).allowed());
        }
        one.far.set(Fault::Away);
        let mut passed = 4;
        for _ in 0..150 {
            world.pass(100 * MS);
            let is_first = world.now() % (20 * S) < 10 * S;
            let taken = take(&one.gate, "api", "alice", 1);
            passed += u64::from(is_first && taken.allowed());
            // In the next window nothing of its own is left to be spent.
            assert!(is_first || taken.is_degraded() || !taken.allowed());
        }
        assert!(passed <= limit, "{passed} of {limit}");
        // It heals, in the window after that.
        one.far.set(Fault::None);
        world.pass(5 * S);
        world.look();
        assert_eq!(world.used("api", "alice"), 0);
        assert!(take(&one.gate, "api", "alice", 1).allowed());
        assert!(take(&other.gate, "api", "alice", 1).allowed());
        world.drain();
        assert_eq!(world.used("api", "alice"), 2);
    }
}
