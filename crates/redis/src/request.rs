//! What the script is asked: plans as packed arguments. `plan.lua` reads what is written here.

use std::sync::LazyLock;

use jeton_core::{
    Act, Cost, Kind, Micros, Mode, OnDeny, Op, Plan, PlanError, Quota, Receipt, RuleId, Span, When,
};

use crate::names::Names;

const SHADOW: u8 = 1;
const DENIAL_CHARGES: u8 = 2;

/// What is to be made of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Stance {
    /// It is decided.
    #[default]
    Decide,
    /// It is decided, and nothing is written.
    Try,
    /// It is part of one that was denied elsewhere.
    Denied,
}

impl Stance {
    /// Stands beside the number of ops, of which there are at most 32.
    const fn flag(self) -> u8 {
        match self {
            Self::Decide => 0,
            Self::Try => 0x40,
            Self::Denied => 0x80,
        }
    }
}

/// What every other op of a denied plan comes to: a ticket is never just taken.
static DENIES: LazyLock<Option<Quota>> = LazyLock::new(|| Quota::ticket(Span::SECOND).ok());

/// One plan, as it goes to the server and as its answer is explained afterwards: it borrows nothing.
#[derive(Debug)]
pub(crate) struct Request {
    /// The key of each op's state, and the op packed.
    pub(crate) packed: Vec<Packed>,
    asked: Vec<Asked>,
    pub(crate) stance: Stance,
}

/// One op as the script reads it.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) key: Vec<u8>,
    pub(crate) op: Vec<u8>,
}

/// One op as the engine reads it, its key left out.
#[derive(Clone, Copy, Debug)]
struct Asked {
    quota: Quota,
    act: Act,
    mode: Mode,
    on_deny: OnDeny,
}

impl Asked {
    fn of(op: &Op<'_>) -> Self {
        Self {
            quota: *op.quota,
            act: op.act,
            mode: op.mode,
            on_deny: op.on_deny,
        }
    }
}

impl Request {
    pub(crate) fn new(plan: Plan<'_>, names: &Names) -> Self {
        let ops = plan.ops();
        let asked: Vec<Asked> = ops.iter().map(Asked::of).collect();
        let packed = ops.iter().zip(&asked).map(|(op, asked)| Packed {
            key: names.state(op),
            op: pack(asked),
        });
        Self {
            packed: packed.collect(),
            asked,
            stance: Stance::Decide,
        }
    }

    /// Some of its ops.
    pub(crate) fn pick(&self, numbers: &[usize]) -> Self {
        let of =
            |number: &usize| Some((self.packed.get(*number)?.clone(), *self.asked.get(*number)?));
        let (packed, asked) = numbers.iter().filter_map(of).unzip();
        Self {
            packed,
            asked,
            stance: self.stance,
        }
    }

    /// The same ops with other acts, none of which charges a denial.
    pub(crate) fn with_acts(&self, mut other: impl FnMut(&Act, Kind) -> Act) -> Self {
        let asked: Vec<Asked> = self
            .asked
            .iter()
            .map(|asked| Asked {
                act: other(&asked.act, asked.quota.kind()),
                on_deny: OnDeny::Keep,
                ..*asked
            })
            .collect();
        let packed = self
            .packed
            .iter()
            .zip(&asked)
            .map(|(packed, asked)| Packed {
                key: packed.key.clone(),
                op: pack(asked),
            });
        Self {
            packed: packed.collect(),
            asked,
            stance: Stance::Decide,
        }
    }

    /// The same from another stance.
    pub(crate) fn with_stance(&self, stance: Stance) -> Self {
        Self {
            packed: self.packed.clone(),
            asked: self.asked.clone(),
            stance,
        }
    }

    /// Whether each op has a vote.
    pub(crate) fn modes(&self) -> impl Iterator<Item = Mode> {
        self.asked.iter().map(|asked| asked.mode)
    }

    /// The quota of each op.
    pub(crate) fn quotas(&self) -> impl ExactSizeIterator<Item = &Quota> {
        self.asked.iter().map(|asked| &asked.quota)
    }

    /// Hands out the plan again, each op's number in the place of its rule and key: they tell the ops
    /// apart, and no decision depends on more. Where it was denied elsewhere, an op that denies is the
    /// last.
    pub(crate) fn with_plan<T>(&self, decide: impl FnOnce(Plan<'_>) -> T) -> Result<T, PlanError> {
        let numbered = |(number, asked): (u64, &'_ Asked)| -> (RuleId, Asked) {
            (RuleId::new(number), *asked)
        };
        let owned: Vec<_> = (0..).zip(&self.asked).map(numbered).collect();
        let mut ops: Vec<Op<'_>> = owned
            .iter()
            .map(|(rule, asked)| Op {
                mode: asked.mode,
                on_deny: asked.on_deny,
                ..Op::new(*rule, &[], &asked.quota, asked.act)
            })
            .collect();
        if let (Stance::Denied, Some(quota)) = (self.stance, &*DENIES) {
            ops.push(Op::take(RuleId::new(u64::MAX), &[], quota, Cost::ONE));
        }
        Plan::new(&ops).map(decide)
    }
}

/// The head of a call: whose clock, and how many ops each plan has.
pub(crate) fn head<'a>(when: When, requests: impl Iterator<Item = &'a Request>) -> Vec<u8> {
    let mut head = clock(when);
    let size = |request: &Request| u8::try_from(request.packed.len()).unwrap_or(0);
    head.extend(requests.map(|request| size(request) | request.stance.flag()));
    head
}

/// Whose clock the script goes by.
pub(crate) fn clock(when: When) -> Vec<u8> {
    let (is_virtual, now) = match when {
        When::StoreClock => (0, Micros::ZERO),
        When::At(now) | When::NotBefore(now) => (1, now),
    };
    let mut clock = vec![is_virtual];
    clock.extend_from_slice(&now.get().to_le_bytes());
    clock
}

fn pack(op: &Asked) -> Vec<u8> {
    let (number, units, receipt) = act(&op.act);
    let shadow = if op.mode == Mode::Shadow { SHADOW } else { 0 };
    let charges = if op.on_deny == OnDeny::Charge {
        DENIAL_CHARGES
    } else {
        0
    };
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(&[op.quota.kind() as u8, number, shadow | charges]);
    pack_quota(&op.quota, &mut bytes);
    bytes.extend_from_slice(&units.get().to_le_bytes());
    if let Some((receipt, max_debt)) = receipt {
        bytes.extend_from_slice(&receipt.cost.to_le_bytes());
        bytes.extend_from_slice(&receipt.part.to_le_bytes());
        bytes.extend_from_slice(&receipt.at.get().to_le_bytes());
        bytes.extend_from_slice(&receipt.mark.get().to_le_bytes());
        bytes.extend_from_slice(&max_debt.get().to_le_bytes());
    }
    bytes
}

/// Limit, span, n and r: one unit of a bucket takes `span` µs and r n-ths of one; of all others, the
/// span is the window or the lease.
fn pack_quota(quota: &Quota, bytes: &mut Vec<u8>) {
    let (span, n, r) = match quota.rate() {
        Some(rate) => {
            let (n, d) = (rate.units(), rate.per().as_micros());
            let r = u32::try_from(d % u64::from(n)).unwrap_or(0);
            (d / u64::from(n), n, r)
        }
        None => (
            quota
                .window()
                .or(quota.lease())
                .unwrap_or_default()
                .as_micros(),
            1,
            0,
        ),
    };
    bytes.extend_from_slice(&quota.limit().to_le_bytes());
    bytes.extend_from_slice(&span.to_le_bytes());
    bytes.extend_from_slice(&n.to_le_bytes());
    bytes.extend_from_slice(&r.to_le_bytes());
}

/// The number of an act, its units, and of what is settled the receipt and the most debt.
fn act(act: &Act) -> (u8, Cost, Option<(Receipt, Cost)>) {
    match *act {
        Act::Take { cost } => (1, cost, None),
        Act::Hold { cost } => (2, cost, None),
        Act::Peek { cost } => (3, cost, None),
        Act::Settle {
            receipt,
            actual,
            max_debt,
        } => (4, actual, Some((receipt, max_debt))),
        Act::Renew { receipt } => (5, Cost::ZERO, Some((receipt, Cost::ZERO))),
        Act::Give { units } => (6, units, None),
        Act::Reset => (7, Cost::ZERO, None),
        // An act this crate does not know is one that changes nothing.
        _ => (3, Cost::ZERO, None),
    }
}
