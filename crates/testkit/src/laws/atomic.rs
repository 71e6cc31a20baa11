//! One indivisible step: all charges of a plan, or none.

use jeton_core::{Cost, Fit, MAX_OPS, Op, Plan};

use super::Make;
use super::desk::{DAY, Desk, Key, denied, kinds};

/// When one of several charges is denied, none is made, whichever it is, on every pair of
/// algorithms; the answers show the state as it is, the wait is the longest of those that denied.
pub fn all_or_nothing_over_several_keys(make: Make<'_>) {
    let desk = Desk::new(make);
    let (wide, narrow) = (kinds(10, DAY), kinds(3, DAY));
    for (number, (wide, narrow)) in pairs(&wide, &narrow).enumerate() {
        let name = number.to_be_bytes();
        let (wide, narrow) = (Key::new(1, &name, wide), Key::new(2, &name, narrow));
        assert!(desk.plan(&[wide.take(2), narrow.take(2)]).0.allowed);

        let (verdict, decisions) = desk.plan(&[wide.take(2), narrow.take(2)]);
        assert!(!verdict.allowed && !verdict.impossible);
        assert_eq!(
            (decisions[0].fit, decisions[0].remaining),
            (Fit::Allowed, 8)
        );
        assert!(denied(&decisions[1]) && decisions[1].remaining == 1);
        assert_eq!(verdict.retry_after, decisions[1].fit.retry_after());

        let (_, decisions) = desk.plan(&[narrow.take(2), wide.take(2)]);
        assert_eq!((decisions[0].remaining, decisions[1].remaining), (1, 8));

        let (verdict, decisions) = desk.plan(&[wide.take(10), narrow.take(2)]);
        let longest = decisions
            .iter()
            .filter_map(|one| one.fit.retry_after())
            .max();
        assert_eq!(verdict.retry_after, longest);
        assert!(desk.plan(&[wide.take(1), narrow.take(1)]).0.allowed);
        assert_eq!((desk.remaining(&wide), desk.remaining(&narrow)), (7, 0));
    }
}

/// A charge that can never fit stops the plan like one that does not fit now, without a wait.
pub fn an_impossible_charge_stops_the_whole_plan(make: Make<'_>) {
    let desk = Desk::new(make);
    let (wide, narrow) = (kinds(10, DAY), kinds(3, DAY));
    for (number, (wide, narrow)) in pairs(&wide, &narrow).enumerate() {
        let name = number.to_be_bytes();
        let (wide, narrow) = (Key::new(1, &name, wide), Key::new(2, &name, narrow));
        assert!(desk.plan(&[wide.take(9), narrow.take(1)]).0.allowed);
        let (verdict, decisions) = desk.plan(&[wide.take(1), narrow.take(4)]);
        assert!(!verdict.allowed && verdict.impossible);
        assert_eq!(
            (verdict.retry_after, decisions[1].fit),
            (None, Fit::Impossible)
        );
        assert_eq!((desk.remaining(&wide), desk.remaining(&narrow)), (1, 2));
    }
}

/// The plans of one batch are decided in their order; a denied one leaves the others alone.
pub fn plans_in_one_batch_are_independent(make: Make<'_>) {
    let desk = Desk::new(make);
    for (number, quota) in kinds(3, DAY).iter().enumerate() {
        let (first, second) = (number.to_be_bytes(), (number + 100).to_be_bytes());
        let (first, second) = (Key::new(1, &first, quota), Key::new(1, &second, quota));
        let ops = [
            vec![first.take(2), second.take(1)],
            vec![first.take(2), second.take(1)],
            vec![first.take(1)],
            vec![second.take(2)],
            vec![second.take(1)],
        ];
        let plans: Vec<Plan<'_>> = ops
            .iter()
            .map(|ops| Plan::new(ops).expect("distinct keys"))
            .collect();
        let answers = desk.submit(&plans);
        assert_eq!(answers.len(), plans.len());
        let allowed: Vec<bool> = (0..plans.len())
            .map(|index| answers.plan(index).0.expect("the store answers").allowed)
            .collect();
        assert_eq!(allowed, [true, false, true, true, false], "{quota:?}");
        assert_eq!((desk.remaining(&first), desk.remaining(&second)), (0, 0));
    }
    assert!(desk.submit(&[]).is_empty());
}

/// As many charges as a plan may hold; the last one decides about all before it.
pub fn a_plan_of_many_charges_is_one_step(make: Make<'_>) {
    let desk = Desk::new(make);
    let quotas = kinds(2, DAY);
    let names: Vec<[u8; 8]> = (0..MAX_OPS).map(usize::to_be_bytes).collect();
    let ops: Vec<Op<'_>> = names
        .iter()
        .enumerate()
        .map(|(number, name)| Key::new(7, name, &quotas[number % quotas.len()]).take(1))
        .collect();
    let last = Key::new(
        7,
        &names[MAX_OPS - 1],
        &quotas[(MAX_OPS - 1) % quotas.len()],
    );
    assert!(desk.plan(&ops).0.allowed);
    assert!(desk.take(&last, 1).fit.passes());
    let (verdict, decisions) = desk.plan(&ops);
    assert!(!verdict.allowed);
    let (before, after) = decisions.split_at(MAX_OPS - 1);
    assert!(
        before
            .iter()
            .all(|one| one.fit == Fit::Allowed && one.remaining == 1)
    );
    assert!(denied(&after[0]));
    let looks: Vec<Op<'_>> = ops.iter().map(|op| look(*op)).collect();
    let (_, decisions) = desk.plan(&looks);
    assert!(
        decisions[..MAX_OPS - 1]
            .iter()
            .all(|one| one.remaining == 1)
    );
}

fn look(op: Op<'_>) -> Op<'_> {
    Op {
        act: jeton_core::Act::Peek { cost: Cost::ONE },
        mode: jeton_core::Mode::Shadow,
        ..op
    }
}

fn pairs<'a, T>(left: &'a [T], right: &'a [T]) -> impl Iterator<Item = (&'a T, &'a T)> {
    left.iter()
        .flat_map(move |one| right.iter().map(move |other| (one, other)))
}
