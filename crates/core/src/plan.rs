//! All rules of one request, decided in one step: all are charged, or none is.

use core::fmt;

use crate::{Act, Answers, Cost, Decision, Edit, Fit, Kind, Micros, Quota, Span, Verdict, View};

/// A rule's identity on every store: the same name and key spec give the same id on every node
/// and after every restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u64);

impl RuleId {
    /// The rule with this number.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Whether an op has a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// It can deny the plan.
    #[default]
    Enforce,
    /// It cannot; it is charged when it would allow and the plan passes.
    Shadow,
}

/// What a denial costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnDeny {
    /// Nothing.
    #[default]
    Keep,
    /// When this very op denies, what is left is charged, at most down to empty.
    Charge,
}

/// One act on the state of one key in one rule.
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    /// Whose state.
    pub rule: RuleId,
    /// Which key in it: an injective encoding of the rule's key parts.
    pub key: &'a [u8],
    /// Under which quota: the rule's, or a plan's, an override's, the caller's own.
    pub quota: &'a Quota,
    /// What to do.
    pub act: Act,
    /// With or without a vote.
    pub mode: Mode,
    /// What a denial costs.
    pub on_deny: OnDeny,
}

impl<'a> Op<'a> {
    /// Takes `cost`, with a vote; a denial costs nothing.
    pub const fn take(rule: RuleId, key: &'a [u8], quota: &'a Quota, cost: Cost) -> Self {
        Self::new(rule, key, quota, Act::Take { cost })
    }

    /// Does `act`, with a vote; a denial costs nothing.
    pub const fn new(rule: RuleId, key: &'a [u8], quota: &'a Quota, act: Act) -> Self {
        Self {
            rule,
            key,
            quota,
            act,
            mode: Mode::Enforce,
            on_deny: OnDeny::Keep,
        }
    }

    /// What tells this op's state from every other: rule, kind of state, key.
    pub const fn place(&self) -> (RuleId, Kind, &'a [u8]) {
        (self.rule, self.quota.kind(), self.key)
    }
}

/// Ops that are decided together, no two of them on one state.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a>(&'a [Op<'a>]);

/// The most ops in one plan.
pub const MAX_OPS: usize = 32;

/// Why ops cannot be one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// More than [`MAX_OPS`].
    TooManyOps {
        /// How many there are.
        ops: usize,
    },
    /// Two ops on one state; merge their costs first.
    SameState {
        /// The first of them.
        first: usize,
        /// The second of them.
        second: usize,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyOps { ops } => {
                write!(
                    f,
                    "{ops} charges at once; at most {MAX_OPS} can be decided together"
                )
            }
            Self::SameState { first, second } => {
                write!(
                    f,
                    "charges {first} and {second} are on one rule and key; merge their costs"
                )
            }
        }
    }
}

impl core::error::Error for PlanError {}

impl<'a> Plan<'a> {
    /// Makes a plan of `ops`.
    ///
    /// # Errors
    /// [`PlanError`] for more than [`MAX_OPS`] ops, or two on one state.
    pub fn new(ops: &'a [Op<'a>]) -> Result<Self, PlanError> {
        if ops.len() > MAX_OPS {
            return Err(PlanError::TooManyOps { ops: ops.len() });
        }
        for (second, op) in ops.iter().enumerate().skip(1) {
            let same = |other: &Op<'_>| other.place() == op.place();
            if let Some(first) = ops.iter().take(second).position(same) {
                return Err(PlanError::SameState { first, second });
            }
        }
        Ok(Self(ops))
    }

    /// A plan of one op.
    pub const fn one(op: &'a Op<'a>) -> Self {
        Self(core::slice::from_ref(op))
    }

    /// The ops in their order.
    pub const fn ops(&self) -> &'a [Op<'a>] {
        self.0
    }
}

/// The states of one plan's ops, held by a store for the length of one step.
pub trait Cells {
    /// The state of op number `op`; after [`Cells::apply`], as changed.
    fn view(&self, op: usize) -> View<'_>;
    /// Carries out a change.
    fn apply(&mut self, op: usize, edit: Edit);
}

/// Decides a plan at `now` and appends its answer to `out`: all ops are charged, or none is.
///
/// The one place where this stands, for every store that decides in Rust. Shadow ops have no vote.
/// A plan that is denied writes only what the clock law and `on_deny` demand.
pub fn decide_all(plan: Plan<'_>, cells: &mut impl Cells, now: Micros, out: &mut Answers) {
    let start = out.open();
    let mut tally = Tally::default();
    for (i, op) in plan.0.iter().enumerate() {
        let outcome = op.quota.decide(cells.view(i), &op.act, now);
        tally.count(op.mode, outcome.decision.fit);
        out.decide(outcome.decision);
        out.edits.push(outcome.edit);
    }
    for (i, op) in plan.0.iter().enumerate() {
        let Some(&edit) = out.edits.get(i) else {
            continue;
        };
        let Some(decision) = out.decision_mut(start + i) else {
            continue;
        };
        if tally.denied && decision.fit.passes() {
            withhold(op, cells, i, now, decision);
            continue;
        }
        if edit != Edit::Keep {
            cells.apply(i, edit);
        }
        if tally.denied && op.mode == Mode::Enforce && op.on_deny == OnDeny::Charge {
            drain(op, cells, i, now, decision);
            tally.raise(decision.fit);
        }
    }
    out.close(tally.verdict(), start);
}

impl Verdict {
    /// The verdict over ops with these modes that fit like this: for stores that cannot have a plan
    /// decided by [`decide_all`].
    ///
    /// ```
    /// use jeton_core::{Fit, Mode, Verdict};
    /// let votes = [(Mode::Enforce, Fit::Allowed), (Mode::Shadow, Fit::Impossible)];
    /// assert!(Verdict::of(votes).allowed);
    /// ```
    #[inline]
    pub fn of(votes: impl IntoIterator<Item = (Mode, Fit)>) -> Self {
        let mut tally = Tally::default();
        votes
            .into_iter()
            .for_each(|(mode, fit)| tally.count(mode, fit));
        tally.verdict()
    }
}

/// The votes of a plan.
#[derive(Default)]
struct Tally {
    denied: bool,
    impossible: bool,
    /// There is nothing to wait for: what was asked about is done already, or not there.
    moot: bool,
    longest: Span,
}

impl Tally {
    #[inline]
    fn count(&mut self, mode: Mode, fit: Fit) {
        if mode == Mode::Shadow || fit.passes() {
            return;
        }
        self.denied = true;
        self.impossible |= fit == Fit::Impossible;
        self.moot |= matches!(fit, Fit::Repeated { .. } | Fit::Unknown);
        self.raise(fit);
    }

    #[inline]
    fn raise(&mut self, fit: Fit) {
        self.longest = self.longest.max(fit.retry_after().unwrap_or_default());
    }

    #[inline]
    fn verdict(&self) -> Verdict {
        Verdict {
            allowed: !self.denied,
            impossible: self.impossible && !self.moot,
            retry_after: (self.denied && !self.impossible && !self.moot).then_some(self.longest),
        }
    }
}

/// An op that passes in a plan that is denied: nothing is charged, the answer shows the state as
/// it is, and a clock that went back is written down, unless it was but a look.
fn withhold(op: &Op<'_>, cells: &mut impl Cells, i: usize, now: Micros, decision: &mut Decision) {
    let fit = decision.fit;
    let edit = op.quota.reanchor(cells.view(i), now);
    *decision = op
        .quota
        .decide(cells.view(i), &Act::Peek { cost: Cost::ZERO }, now)
        .decision;
    decision.fit = fit;
    if edit != Edit::Keep && !op.act.is_look() {
        cells.apply(i, edit);
    }
}

/// An op that denies and charges for it: what is left goes, and the wait is the one that holds
/// after that. What is held is never just taken, so nothing of it goes.
fn drain(op: &Op<'_>, cells: &mut impl Cells, i: usize, now: Micros, decision: &mut Decision) {
    let cost = match op.act {
        _ if op.quota.kind().is_held() => return,
        Act::Take { cost } | Act::Hold { cost } if decision.fit != Fit::Impossible => cost,
        _ => return,
    };
    let left = Act::Take {
        cost: Cost::new(u64::from(decision.remaining)),
    };
    let edit = op.quota.decide(cells.view(i), &left, now).edit;
    if edit != Edit::Keep {
        cells.apply(i, edit);
    }
    *decision = op
        .quota
        .decide(cells.view(i), &Act::Peek { cost }, now)
        .decision;
}
