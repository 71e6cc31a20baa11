//! What a denial writes: nothing, unless it is asked to.

use jeton_core::{Act, Cost, Fit, Mode, OnDeny, Op};

use super::Make;
use super::desk::{DAY, Desk, Key, SECOND, denied, kinds, wait_us};

/// F18, F48: however often it is refused, what does not fit takes nothing from what does, not even
/// after the limit was raised.
pub fn f18_f48_a_denial_writes_nothing(make: Make<'_>) {
    let desk = Desk::new(make);
    for (quota, raised) in kinds(10, DAY).iter().zip(&kinds(20, DAY)) {
        let key = Key::new(1, b"key", quota);
        assert!(desk.take(&key, 8).fit.passes());
        assert!((0..50).all(|_| denied(&desk.take(&key, 5))));
        assert_eq!(desk.take(&key, 11).fit, Fit::Impossible);
        assert_eq!(desk.take(&key, 1).remaining, 1, "{quota:?}");
        assert_eq!(
            desk.remaining(&Key {
                quota: raised,
                ..key
            }),
            11,
            "{quota:?}"
        );
    }
}

/// `on_deny = "charge"`: the op that denies takes what is left, at most down to empty; an op that
/// would pass takes nothing, and neither does one that can never pass.
pub fn a_denial_that_charges_takes_what_is_left(make: Make<'_>) {
    let desk = Desk::new(make);
    let charging = |op| Op {
        on_deny: OnDeny::Charge,
        ..op
    };
    for quota in &kinds(10, DAY) {
        let (key, other) = (Key::new(1, b"key", quota), Key::new(1, b"other", quota));
        assert!(
            desk.plan(&[charging(key.take(7)), charging(other.take(7))])
                .0
                .allowed
        );
        assert_eq!(
            desk.plan(&[charging(key.take(11))]).1[0].remaining,
            3,
            "{quota:?}"
        );

        let (verdict, decisions) = desk.plan(&[charging(key.take(4)), charging(other.take(3))]);
        assert!(!verdict.allowed && denied(&decisions[0]));
        assert_eq!(
            (decisions[0].remaining, decisions[1].remaining),
            (0, 3),
            "{quota:?}"
        );
        assert_eq!(
            (desk.remaining(&key), desk.remaining(&other)),
            (0, 3),
            "{quota:?}"
        );

        // The wait is the one that holds after the charge.
        let retry_us = wait_us(&decisions[0]);
        let after = desk.at(desk.now_us + retry_us);
        let before = desk.at(after.now_us - 1);
        assert!(
            denied(&before.act(&key, Act::Peek { cost: Cost::new(4) })),
            "{quota:?}"
        );
        assert!(after.take(&key, 4).fit.passes(), "{quota:?}");
        desk.act(&key, Act::Reset);
        desk.act(&other, Act::Reset);
    }
}

/// A shadow op is charged when it would allow and the plan passes, and changes no verdict.
pub fn a_shadow_rule_has_no_vote(make: Make<'_>) {
    let desk = Desk::new(make);
    let shadow = |op| Op {
        mode: Mode::Shadow,
        ..op
    };
    for (voting, silent) in kinds(3, DAY).iter().zip(&kinds(2, DAY)) {
        let (voting, silent) = (Key::new(1, b"key", voting), Key::new(2, b"key", silent));
        let ask = || desk.plan(&[shadow(silent.take(1)), voting.take(1)]);
        assert!(ask().0.allowed);
        assert_eq!((desk.remaining(&voting), desk.remaining(&silent)), (2, 1));

        desk.act(&voting, Act::Hold { cost: Cost::new(2) });
        assert!(!ask().0.allowed);
        assert_eq!(
            desk.remaining(&silent),
            1,
            "not charged for what did not pass"
        );

        desk.act(
            &voting,
            Act::Give {
                units: Cost::new(2),
            },
        );
        assert!(ask().0.allowed);
        let (verdict, decisions) = ask();
        assert!(verdict.allowed && denied(&decisions[0]));
        assert_eq!(verdict.retry_after, None);
        assert_eq!((desk.remaining(&voting), desk.remaining(&silent)), (0, 0));
        let (verdict, decisions) = ask();
        assert!(!verdict.allowed);
        assert_eq!(
            verdict.retry_after,
            decisions[1].fit.retry_after(),
            "not the shadow's wait"
        );
    }
}

/// F19: a look tells what a take would get, and changes nothing, not even after a clock step.
pub fn f19_a_look_writes_nothing(make: Make<'_>) {
    let desk = Desk::new(make);
    for quota in &kinds(10, DAY) {
        let key = Key::new(1, b"key", quota);
        let look = |desk: &Desk, units| {
            desk.act(
                &key,
                Act::Peek {
                    cost: Cost::new(units),
                },
            )
        };
        assert!(
            (0..20).all(|_| look(&desk, 10).fit == Fit::Allowed),
            "{quota:?}"
        );
        let later = desk.at(desk.now_us + SECOND);
        assert!(later.take(&key, 4).fit.passes());
        assert_eq!(look(&later, 6).remaining, 6, "{quota:?}");
        assert_eq!(look(&later, 11).fit, Fit::Impossible);
        assert_eq!(
            later.take(&key, 0).remaining,
            6,
            "a take of nothing is a look"
        );

        let would = look(&later, 7);
        assert_eq!(later.take(&key, 7).fit, would.fit, "{quota:?}");
        let stepped_back = later.at(later.now_us - DAY);
        look(&stepped_back, 7);
        stepped_back.take(&key, 0);
        assert_eq!(
            look(&later, 7),
            would,
            "{quota:?}: the look wrote its clock"
        );
    }
}
