//! Reset, refund, hold and settle.

use jeton_core::{Act, Cost, Fit};

use super::Make;
use super::desk::{DAY, Desk, Key, SECOND, denied, kinds, wait_us};

/// A reset forgets one key in one rule, and no other.
pub fn a_reset_forgets_one_key_in_one_rule(make: Make<'_>) {
    let desk = Desk::new(make);
    for quota in &kinds(10, DAY) {
        let key = Key::new(1, b"key", quota);
        let others = [Key::new(2, b"key", quota), Key::new(1, b"other", quota)];
        for key in [&key, &others[0], &others[1]] {
            assert!(desk.take(key, 10).fit.passes());
        }
        let reset = desk.act(&key, Act::Reset);
        assert!(reset.fit.passes());
        assert_eq!(
            (reset.remaining, desk.remaining(&key)),
            (10, 10),
            "{quota:?}"
        );
        assert!(
            others.iter().all(|other| desk.remaining(other) == 0),
            "{quota:?}"
        );
        assert!(
            desk.act(&Key::new(9, b"unknown", quota), Act::Reset)
                .fit
                .passes()
        );
        assert!(desk.take(&key, 10).fit.passes());
    }
}

/// A refund without a receipt gives back what is used, never more.
pub fn a_refund_without_a_receipt_lowers_the_present_state(make: Make<'_>) {
    let desk = Desk::new(make);
    for quota in &kinds(10, DAY) {
        let key = Key::new(1, b"key", quota);
        let give = |units| {
            desk.act(
                &key,
                Act::Give {
                    units: Cost::new(units),
                },
            )
        };
        assert_eq!(give(5).remaining, 10, "{quota:?}: nothing to give back");
        assert!(desk.take(&key, 10).fit.passes());
        assert_eq!(give(1).remaining, 1);
        assert!(desk.take(&key, 1).fit.passes());
        assert!(denied(&desk.take(&key, 1)));
        let given = give(100);
        assert_eq!(
            (given.fit, given.remaining),
            (Fit::Settled { actual: 10 }, 10),
            "{quota:?}"
        );
        assert!(desk.take(&key, 10).fit.passes());
        assert!(denied(&desk.take(&key, 1)), "{quota:?}: 110 would be left");
        give(10);
    }
}

/// A hold counts as used; settling it below its cost gives the rest back, and nothing once that
/// could no longer be told from what came back by itself.
pub fn a_settle_gives_back_its_own_and_nothing_late(make: Make<'_>) {
    let desk = Desk::new(make);
    for quota in &kinds(10, DAY) {
        let key = Key::new(1, b"key", quota);
        let held = desk.act(&key, Act::Hold { cost: Cost::new(6) });
        assert_eq!(
            (held.fit, held.remaining, held.receipt.cost),
            (Fit::Allowed, 4, 6)
        );
        assert!(
            denied(&desk.take(&key, 5)),
            "{quota:?}: held units count as used"
        );
        assert!(desk.take(&key, 3).fit.passes());
        let soon = desk.at(desk.now_us + SECOND);
        let settled = soon.settle(&key, held.receipt, 2);
        assert_eq!(
            (settled.fit, settled.remaining),
            (Fit::Settled { actual: 2 }, 5),
            "{quota:?}"
        );

        let exact = soon.act(&key, Act::Hold { cost: Cost::new(2) });
        let same = soon.settle(&key, exact.receipt, 2);
        assert_eq!(
            (same.fit, same.remaining),
            (Fit::Settled { actual: 2 }, 3),
            "{quota:?}"
        );

        let late = soon.at(desk.now_us + 3 * DAY);
        assert!(late.take(&key, 10).fit.passes(), "{quota:?}");
        let settled = late.settle(&key, exact.receipt, 0);
        assert_eq!(
            (settled.fit, settled.remaining),
            (Fit::Settled { actual: 2 }, 0),
            "{quota:?}"
        );
        assert!(denied(&late.take(&key, 1)));
        desk.act(&key, Act::Reset);
    }
}

/// Settling above the cost is never refused: it fills what is left, then goes into debt by one
/// limit at the most, and the rest is clipped. In debt not even a look passes.
pub fn an_excess_goes_into_debt_up_to_one_limit(make: Make<'_>) {
    let desk = Desk::new(make);
    for quota in &kinds(10, DAY) {
        let key = Key::new(1, b"key", quota);
        let hold = |units| {
            desk.act(
                &key,
                Act::Hold {
                    cost: Cost::new(units),
                },
            )
            .receipt
        };
        let receipt = hold(4);
        let settled = desk.settle(&key, receipt, 9);
        assert_eq!(
            (settled.fit, settled.remaining),
            (Fit::Settled { actual: 9 }, 1),
            "{quota:?}"
        );
        let receipt = hold(1);
        let settled = desk.settle(&key, receipt, 1_000_000);
        assert_eq!(
            settled.fit,
            Fit::Settled { actual: 11 },
            "{quota:?}: 10 of debt"
        );
        assert_eq!(settled.remaining, 0);
        assert!(denied(&desk.take(&key, 0)), "{quota:?}");
        let wait_us = wait_us(&desk.take(&key, 1));
        assert!(wait_us > DAY / 10, "{quota:?}: debt delays");
        assert!(
            desk.at(desk.now_us + wait_us).take(&key, 1).fit.passes(),
            "{quota:?}"
        );
        desk.act(&key, Act::Reset);
    }
}

/// An excess may be allowed less debt than that, or none: it fills what is left, and what may not be
/// owed is not charged. Debt that is there already counts.
pub fn an_excess_goes_no_further_into_debt_than_it_may(make: Make<'_>) {
    let desk = Desk::new(make);
    for quota in &kinds(10, DAY) {
        let key = Key::new(1, b"key", quota);
        let settle = |receipt, actual, max_debt| {
            let act = Act::Settle {
                receipt,
                actual: Cost::new(actual),
                max_debt: Cost::new(max_debt),
            };
            desk.act(&key, act).fit
        };
        let receipt = desk.hold(&key, 4).receipt;
        assert_eq!(settle(receipt, 50, 0), Fit::Settled { actual: 10 });
        assert_eq!(desk.take(&key, 0).fit, Fit::Allowed, "{quota:?}: no debt");
        assert!(denied(&desk.take(&key, 1)));
        for (max_debt, charged) in [(3, 13), (3, 10), (7, 14), (50, 13), (50, 10)] {
            // As if ten had been held: what is more is debt.
            let ten = jeton_core::Receipt {
                cost: 10,
                ..receipt
            };
            let fit = settle(ten, 1000, max_debt);
            assert_eq!(fit, Fit::Settled { actual: charged }, "{quota:?}");
        }
        desk.act(&key, Act::Reset);
    }
}
