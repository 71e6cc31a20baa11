//! State that is read under another quota than it was written under.

use jeton_core::{Quota, Rate};

use super::desk::{DAY, Desk, HOUR, Key, denied, kinds, span};
use super::{Make, repeats};
use crate::random::Random;

/// What is used stays used: available = max(0, new limit − used).
pub fn owed_units_stay_owed_under_another_quota(make: Make<'_>) {
    let desk = Desk::new(make);
    let [ten, four, seven, hundred] = [10, 4, 7, 100].map(|limit| kinds(limit, DAY));
    for (kind, quota) in ten.iter().enumerate() {
        let under = |quota| Key::new(1, b"key", quota);
        assert!(desk.take(&under(quota), 6).fit.passes());
        assert_eq!(desk.remaining(&under(&four[kind])), 0, "6 used of 4");
        assert!(denied(&desk.take(&under(&four[kind]), 1)));
        assert_eq!(desk.remaining(&under(&seven[kind])), 1);
        assert!(desk.take(&under(&seven[kind]), 1).fit.passes());
        assert_eq!(desk.remaining(&under(&hundred[kind])), 93);
        assert_eq!(desk.remaining(&under(quota)), 3, "{quota:?}");
    }
}

/// F49: random raises of the limit or the rate, at random times, deny nothing that would have been
/// allowed without them.
pub fn f49_a_raise_never_turns_an_allow_into_a_deny(make: Make<'_>) {
    let desk = Desk::new(make);
    let mut random = Random::new(49);
    for round in 0..repeats(make, 200, 200) {
        let name = round.to_be_bytes();
        for kind in 0..5 {
            let mut now = desk.at(desk.now_us + random.below(HOUR));
            let mut limit = random.between(1, 20);
            for _ in 0..20 {
                let quota = kinds(limit, DAY)[kind];
                let key = Key::new(1, &name, &quota);
                let cost = random.between(1, limit);
                let without = now.act(
                    &key,
                    jeton_core::Act::Peek {
                        cost: cost_of(cost),
                    },
                );
                limit += random.below(10);
                let raised = raised(kind, limit);
                let with = now.take(
                    &Key {
                        quota: &raised,
                        ..key
                    },
                    cost,
                );
                let turned = without.fit.passes() && !with.fit.passes();
                assert!(!turned, "{quota:?}, then {raised:?}");
                now = now.at(now.now_us + random.scaled(1, DAY));
            }
        }
    }
}

fn raised(kind: usize, limit: u64) -> Quota {
    let faster = || Rate::new(2 * limit, span(DAY)).and_then(|rate| Quota::bucket(rate, limit));
    match kind {
        0 => faster().expect("a quota in the domain"),
        _ => kinds(limit, DAY)[kind],
    }
}

fn cost_of(units: u64) -> jeton_core::Cost {
    jeton_core::Cost::new(units)
}
