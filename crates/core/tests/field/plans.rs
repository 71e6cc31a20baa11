//! All or nothing over several rules: F51, and what a plan may not be.

use std::cell::RefCell;

use crate::driver::{DAY, MIN, One, S, bucket, fixed};
use jeton_core::{
    Act, Answers, Cells, Cost, Decision, Edit, Fit, Micros, Mode, OnDeny, Op, Plan, PlanError,
    Quota, RuleId, Span, Verdict, View, decide_all,
};

struct Row(Vec<One>);

impl Cells for Row {
    fn view(&self, op: usize) -> View<'_> {
        View {
            cell: self.0[op].cell,
            tail: &self.0[op].tail,
        }
    }

    fn apply(&mut self, op: usize, edit: Edit) {
        match edit {
            Edit::Keep => {}
            Edit::Put { cell, tail, .. } => {
                self.0[op].cell = Some(cell);
                tail.apply(&mut self.0[op].tail);
            }
            Edit::Erase => self.0[op] = One::new(self.0[op].quota),
        }
    }
}

struct Rules(RefCell<Row>, Vec<(Mode, OnDeny)>);

impl Rules {
    fn new(rules: &[(Quota, Mode, OnDeny)]) -> Self {
        let row = Row(rules.iter().map(|(quota, ..)| One::new(*quota)).collect());
        Self(
            RefCell::new(row),
            rules.iter().map(|(_, mode, on)| (*mode, *on)).collect(),
        )
    }

    fn take(&self, at_us: u64, cost: u64) -> (Verdict, Vec<Decision>) {
        let take = Act::Take {
            cost: Cost::new(cost),
        };
        self.act(at_us, &vec![take; self.1.len()])
    }

    fn act(&self, at_us: u64, acts: &[Act]) -> (Verdict, Vec<Decision>) {
        let quotas: Vec<Quota> = self.0.borrow().0.iter().map(|one| one.quota).collect();
        let ops: Vec<Op<'_>> = quotas
            .iter()
            .zip(&self.1)
            .zip(acts)
            .enumerate()
            .map(|(i, ((quota, &(mode, on_deny)), &act))| Op {
                mode,
                on_deny,
                ..Op::new(RuleId::new(i as u64), b"k", quota, act)
            })
            .collect();
        let mut out = Answers::new();
        let plan = Plan::new(&ops).unwrap();
        decide_all(
            plan,
            &mut *self.0.borrow_mut(),
            Micros::new(at_us),
            &mut out,
        );
        let (verdict, decisions) = out.plan(0);
        (verdict.unwrap(), decisions.to_vec())
    }
}

const VOTE: (Mode, OnDeny) = (Mode::Enforce, OnDeny::Keep);

#[test]
fn f51_two_windows_on_one_client_are_both_charged_or_none() {
    let rules = Rules::new(&[
        (fixed(5, MIN), VOTE.0, VOTE.1),
        (fixed(50, DAY), VOTE.0, VOTE.1),
    ]);
    for _ in 0..5 {
        assert!(rules.take(0, 1).0.allowed);
    }
    let (verdict, decisions) = rules.take(0, 1);
    assert!(!verdict.allowed);
    assert_eq!(verdict.retry_after.unwrap().as_micros(), MIN);
    assert_eq!(decisions[1].remaining, 45);
}

#[test]
fn the_wait_of_a_plan_is_the_longest_of_those_that_deny() {
    let rules = Rules::new(&[
        (bucket(1, 1, S), VOTE.0, VOTE.1),
        (fixed(1, MIN), VOTE.0, VOTE.1),
    ]);
    assert!(rules.take(0, 1).0.allowed);
    assert_eq!(rules.take(0, 1).0.retry_after.unwrap().as_micros(), MIN);
    assert!(rules.take(0, 2).0.impossible);
    assert_eq!(rules.take(0, 2).0.retry_after, None);
}

#[test]
fn a_shadow_rule_has_no_vote_and_is_charged_only_when_the_request_passes() {
    let shadow = Mode::Shadow;
    let rules = Rules::new(&[
        (fixed(2, MIN), VOTE.0, VOTE.1),
        (fixed(1, MIN), shadow, OnDeny::Keep),
    ]);
    assert!(rules.take(0, 1).0.allowed);
    let (verdict, decisions) = rules.take(0, 1);
    assert!(verdict.allowed);
    assert!(matches!(decisions[1].fit, Fit::Denied { .. }));

    let rules = Rules::new(&[
        (fixed(1, MIN), VOTE.0, VOTE.1),
        (fixed(9, MIN), shadow, OnDeny::Keep),
    ]);
    rules.take(0, 1);
    let (verdict, decisions) = rules.take(0, 1);
    assert!(!verdict.allowed);
    assert_eq!(
        decisions[1].remaining, 8,
        "a request that is refused charges nothing"
    );
}

#[test]
fn on_deny_charge_drains_the_rule_that_denies_and_no_other() {
    let rules = Rules::new(&[
        (fixed(10, MIN), VOTE.0, OnDeny::Charge),
        (fixed(99, MIN), VOTE.0, OnDeny::Charge),
    ]);
    assert!(rules.take(0, 8).0.allowed);
    let (verdict, decisions) = rules.take(0, 5);
    assert!(!verdict.allowed);
    assert_eq!((decisions[0].remaining, decisions[1].remaining), (0, 91));
    assert!(!rules.take(0, 2).0.allowed);
    assert!(!rules.take(0, 200).0.allowed);
    assert_eq!(rules.take(MIN, 1).1[0].remaining, 9);
}

#[test]
fn a_drained_buckets_wait_is_the_one_that_holds_after_draining() {
    let rules = Rules::new(&[(bucket(10, 1, S), VOTE.0, OnDeny::Charge)]);
    rules.take(0, 8);
    let wait = rules.take(0, 5).0.retry_after.unwrap().as_micros();
    assert_eq!(wait, 5 * S);
    let mut twin = One::new(bucket(10, 1, S));
    twin.take(0, 10);
    assert!(!twin.passes(wait - 1, 5) && twin.passes(wait, 5));
}

#[test]
fn a_clock_that_went_back_is_written_for_rules_that_would_have_passed() {
    let rules = Rules::new(&[
        (bucket(9, 1, S), VOTE.0, VOTE.1),
        (fixed(1, MIN), VOTE.0, VOTE.1),
    ]);
    assert!(rules.take(1_000 * S, 1).0.allowed);
    assert!(!rules.take(100 * S, 1).0.allowed);
    let row = rules.0.borrow();
    assert_eq!(row.0[0].cell.unwrap().at, Micros::new(100 * S));
}

#[test]
fn a_look_in_a_plan_that_is_denied_writes_nothing_though_the_clock_went_back() {
    let rules = Rules::new(&[
        (bucket(9, 1, S), VOTE.0, VOTE.1),
        (fixed(1, MIN), VOTE.0, VOTE.1),
    ]);
    assert!(rules.take(1_000 * S, 1).0.allowed);
    let before = rules.0.borrow().0[0].cell;
    let (look, cost) = (Act::Peek { cost: Cost::ONE }, Act::Peek { cost: Cost::ONE });
    for first in [look, Act::Take { cost: Cost::ZERO }] {
        let (verdict, _) = rules.act(100 * S, &[first, cost]);
        assert!(!verdict.allowed);
        assert_eq!(rules.0.borrow().0[0].cell, before, "{first:?}");
    }
}

#[test]
fn a_plan_refuses_two_ops_on_one_state_and_too_many() {
    let (a, b) = (fixed(5, MIN), bucket(5, 5, MIN));
    let op =
        |rule: u64, key: &'static [u8], quota| Op::new(RuleId::new(rule), key, quota, Act::Reset);
    let same = [op(1, b"k", &a), op(2, b"k", &a), op(1, b"k", &a)];
    assert_eq!(
        Plan::new(&same).unwrap_err(),
        PlanError::SameState {
            first: 0,
            second: 2
        }
    );
    assert!(Plan::new(&[op(1, b"k", &a), op(1, b"k", &b), op(1, b"q", &a)]).is_ok());
    let many = vec![op(1, b"k", &a); 33];
    assert_eq!(
        Plan::new(&many).unwrap_err(),
        PlanError::TooManyOps { ops: 33 }
    );
}

/// The clock went back, nothing is left to take, and the denial charges for itself: the clock law is
/// written all the same.
#[test]
fn a_denial_that_charges_writes_the_clock_law_even_with_nothing_left() {
    for quota in [bucket(2, 2, MIN), crate::driver::log(2, MIN)] {
        let rules = Rules::new(&[(quota, Mode::Enforce, OnDeny::Charge)]);
        assert!(rules.take(10 * MIN, 2).0.allowed);
        assert!(!rules.take(MIN, 1).0.allowed);
        assert!(rules.take(2 * MIN, 2).0.allowed, "{quota:?}");
    }
}

/// What was done before, or is not there, stops the plan and leaves nothing to wait for; what is held
/// is not taken by a denial that charges.
#[test]
fn a_plan_about_what_is_not_there_is_moot() {
    let quota = crate::driver::concurrency(3, MIN);
    let rules = Rules::new(&[
        (fixed(10, MIN), Mode::Enforce, OnDeny::Keep),
        (crate::driver::ticket(MIN), Mode::Enforce, OnDeny::Charge),
        (quota, Mode::Enforce, OnDeny::Charge),
    ]);
    let hold = |cost| Act::Hold {
        cost: Cost::new(cost),
    };
    let (verdict, made) = rules.act(0, &[hold(4), hold(1), hold(2)]);
    assert!(verdict.allowed);
    let (verdict, twice) = rules.act(0, &[hold(4), hold(1), hold(2)]);
    assert_eq!(verdict.retry_after.map(Span::as_micros), Some(MIN));
    assert_eq!(
        (twice[1].remaining, twice[2].remaining),
        (0, 1),
        "not taken"
    );
    assert!(twice[1].fit.retry_after().is_some() && twice[2].fit.retry_after().is_some());
    let settle = |i: usize, actual| Act::Settle {
        receipt: made[i].receipt,
        actual: Cost::new(actual),
        max_debt: Cost::ZERO,
    };
    let commit = [settle(0, 1), settle(1, 1), settle(2, 0)];
    assert!(rules.act(1, &commit).0.allowed);
    let too_much = Act::Take {
        cost: Cost::new(11),
    };
    let again = [too_much, settle(1, 9), settle(2, 0)];
    let (verdict, decisions) = rules.act(2, &again);
    let moot = Verdict {
        allowed: false,
        impossible: false,
        retry_after: None,
    };
    assert_eq!(verdict, moot);
    assert_eq!(decisions[0].fit, Fit::Impossible);
    assert_eq!(decisions[1].fit, Fit::Repeated { actual: 1 });
    assert_eq!((decisions[0].remaining, decisions[2].remaining), (9, 3));
}
