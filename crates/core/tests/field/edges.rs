//! Window edges: F12 to F16.

use crate::driver::{H, MIN, One, S, bucket, counter, fixed, log};

#[test]
fn f12_a_sliding_counter_of_one_works() {
    let mut one = One::new(counter(1, 10 * S));
    assert!(one.passes(0, 1));
    assert!(!one.passes(5 * S, 1));
    assert!(one.passes(20 * S, 1));
}

#[test]
fn f13_each_hit_leaves_exactly_one_window_after_it_came() {
    let mut one = One::new(log(10, H));
    assert!(one.passes(0, 1));
    assert_eq!(one.passed(59 * MIN, 8), 8);
    assert_eq!(one.passed(61 * MIN, 3), 2);

    let mut five = One::new(log(5, 10 * S));
    assert_eq!(five.passed(0, 5), 5);
    assert!(!five.passes(10 * S - 1, 1));
    assert_eq!(five.take(10_001_000, 1).remaining, 4);
}

#[test]
fn f14_only_the_fixed_window_lets_twice_the_limit_pass_around_an_edge() {
    for (quota, passed) in [
        (fixed(10, MIN), 10),
        (log(10, MIN), 0),
        (counter(10, MIN), 0),
    ] {
        let mut one = One::new(quota);
        assert_eq!(one.passed(59 * S, 10), 10);
        assert_eq!(one.passed(61 * S, 10), passed, "{quota:?}");
    }
}

#[test]
fn f15_the_wait_counts_from_now() {
    let mut window = One::new(fixed(2, 20 * S));
    assert_eq!(window.passed(0, 2), 2);
    assert_eq!(window.wait(19 * S, 1), S);
    let mut drip = One::new(bucket(1, 1, S));
    assert!(drip.passes(0, 1));
    assert_eq!(drip.wait(200_000, 1), 800_000);
}

#[test]
fn f16_reset_follows_the_entry_that_frees_room_first() {
    let mut one = One::new(log(3, MIN));
    for at in [0, 20 * S, 40 * S] {
        assert!(one.passes(at, 1));
    }
    assert_eq!(one.wait(45 * S, 1), 15 * S);
    assert_eq!(one.peek(45 * S, 1).reset_after.as_micros(), 15 * S);
}
