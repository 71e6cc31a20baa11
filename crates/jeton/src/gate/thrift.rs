//! Fewer calls to a store that is far away: denials are remembered, and units are taken ahead.
//!
//! Before the store is asked, each plan is looked at ([`Thrift::consider`]): what is known is answered
//! at once, and what is not becomes a [`Call`], in which units that are left over go back first, then
//! the plans stand as they came, and then whatever is taken ahead. When it is answered
//! ([`Call::finish`]), what the store said is learnt. Time is an argument throughout, and which store it
//! is for makes no difference.
//!
//! Only plans of plain takes and looks with a vote are answered here. Whatever else is done to a cell
//! takes its units back first, and what was known of it is forgotten.

mod call;
mod cell;
mod cells;
mod denials;
mod give_back;
mod known;
mod lease;
mod place;
mod pool;
mod pools;
mod told;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jeton_core::{Act, Answers, Micros, Mode, OnDeny, Op, Plan, Reading, Span};
use jeton_policy::{Lease, StoreKind};
use smallvec::SmallVec;

pub(super) use call::Call;
use call::{AskedOp, Effect, Step};
use cell::Back;
use cells::{Cells, Held};
use lease::Refill;
use place::{Place, Places};
use pool::Unspent;
use told::span;

/// What a process knows by itself, and the units that it has taken ahead.
#[derive(Debug)]
pub(super) struct Thrift {
    /// For how long a denial is remembered; for no time: not at all.
    deny_for: Span,
    /// What is taken ahead.
    lease: Option<Lease>,
    /// For how long, as the engine counts.
    lease_for: Span,
    cells: Cells,
    places: Places,
    /// How often units were taken ahead.
    leases: AtomicU64,
    /// No more are taken.
    is_closed: AtomicBool,
}

impl Thrift {
    /// As the policy asks for; none if it does not.
    pub(super) fn of(kind: &StoreKind) -> Option<Arc<Self>> {
        let StoreKind::Redis(redis) = kind else {
            return None;
        };
        let (deny_cache, lease) = (redis.deny_cache, redis.lease);
        if deny_cache.is_none() && lease.is_none() {
            return None;
        }
        Some(Arc::new(Self {
            deny_for: deny_cache.map_or(Span::ZERO, micros),
            lease,
            lease_for: lease.map_or(Span::ZERO, |lease| micros(lease.keep_for)),
            cells: Cells::default(),
            places: Places::default(),
            leases: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }))
    }

    /// Looks at plans that come at `reading`. If all are answered, the answers are in `answers`, and
    /// nobody waits for the call, if there is one ([`Call::answers_nobody`]); else the store has to be
    /// called. Units are taken ahead of need if somebody `goes_on` with a call that nobody waits for.
    pub(super) fn consider(
        self: &Arc<Self>,
        plans: &[Plan<'_>],
        reading: Reading,
        answers: &mut Answers,
        goes_on: impl Fn() -> bool,
    ) -> Option<Call> {
        let now = reading.at();
        let mut call = None;
        let mut refills: SmallVec<[Refill; 1]> = SmallVec::new();
        for (i, plan) in plans.iter().enumerate() {
            let places: SmallVec<[Place; 4]> =
                plan.ops().iter().map(|op| self.places.of(op)).collect();
            let mut held = self.cells.hold(&places);
            let mut unspent = SmallVec::new();
            bring_up_to(reading, *plan, &places, &mut held, &mut unspent);
            let is_plain = plan.ops().iter().all(is_plain);
            let known = (is_plain && unspent.is_empty())
                .then(|| self.known(*plan, &places, &mut held, now))
                .flatten();
            match (known, &mut call) {
                (Some((verdict, decisions)), call) => {
                    if verdict.allowed {
                        let refill = self.refill(*plan, &places, &mut held, now, &goes_on);
                        refills.extend(refill);
                    }
                    match call {
                        None => answers.push(verdict, &decisions),
                        Some(call) => Call::push(call, Step::Known(verdict, decisions)),
                    }
                }
                (None, call) => {
                    let call = call.get_or_insert_with(|| Call::new(self, now, answers, i));
                    call.unspent.extend(unspent);
                    let step = ask(*plan, is_plain, &places, &mut held, now, call);
                    call.push(step);
                    if is_plain
                        && let Some(ahead) = self.ahead(*plan, &places, &mut held, now, false)
                    {
                        call.aheads.push(ahead);
                    }
                }
            }
        }
        for Refill { unspent, ahead } in refills {
            let call = call.get_or_insert_with(|| Call::of_nobody(self, now));
            call.unspent.extend(unspent);
            call.aheads.push(ahead);
        }
        call
    }

    /// Units that are too old to be spent, `most` of them about.
    pub(super) fn old(&self, now: Micros, most: usize) -> Vec<Unspent> {
        self.cells.take_back(most, |cell| cell.give_back_old(now))
    }

    /// No more are taken ahead.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Relaxed);
    }

    /// All units.
    pub(super) fn all(&self) -> Vec<Unspent> {
        self.cells.take_back(usize::MAX, cell::Cell::give_back)
    }
}

/// Forgets what is known under another quota, or of a later time: a clock that moves by hand has gone
/// back. Units that were taken go back.
fn bring_up_to(
    reading: Reading,
    plan: Plan<'_>,
    places: &[Place],
    held: &mut Held<'_>,
    unspent: &mut SmallVec<[Unspent; 1]>,
) {
    for (op, place) in plan.ops().iter().zip(places) {
        let Some(cell) = held.get(place) else {
            continue;
        };
        let went_back = !reading.is_steady() && reading.at() < cell.seen();
        if went_back {
            unspent.extend(cell.give_back());
        } else if cell.quota() != op.quota {
            unspent.extend(cell.give_back_under(op.quota, reading.at()));
        }
        if went_back || cell.quota() != op.quota {
            held.remove(place);
            held.free(place);
        } else {
            cell.see(reading.at());
        }
    }
}

/// The store is asked about `plan`. What its cells have of their own and cannot pay with goes back
/// first, so that the store counts it; before anything but a plain plan, all of it.
fn ask(
    plan: Plan<'_>,
    is_plain: bool,
    places: &[Place],
    held: &mut Held<'_>,
    now: Micros,
    call: &mut Call,
) -> Step {
    let asked = plan.ops().iter().zip(places).map(|(op, place)| {
        let back = held.get(place).map_or_else(Back::new, |cell| {
            if is_plain {
                return cell.short_of(cost(op), now);
            }
            cell.disturb();
            cell.give_back()
        });
        if !back.is_empty() || !is_plain {
            held.free(place);
        }
        call.unspent.extend(back);
        AskedOp {
            place: *place,
            quota: *op.quota,
            cost: cost(op),
            freed: held.freed(place),
            effect: match op.act {
                _ if is_plain => Effect::Plain,
                Act::Give { .. } | Act::Reset => Effect::Lowers,
                _ => Effect::Other,
            },
        }
    });
    Step::Asked(asked.collect())
}

/// Whether an op is a plain take or look, with a vote, of what need not be given back.
fn is_plain(op: &Op<'_>) -> bool {
    matches!(op.act, Act::Take { .. } | Act::Peek { .. })
        && op.mode == Mode::Enforce
        && op.on_deny == OnDeny::Keep
        && !op.quota.kind().is_held()
}

/// What it asks for.
fn cost(op: &Op<'_>) -> u32 {
    match op.act {
        Act::Take { cost } | Act::Peek { cost } => cost.get(),
        _ => 0,
    }
}

fn micros(duration: Duration) -> Span {
    span(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
