//! Reservations: charge an estimate now, say later what it has really cost.
//!
//! A reservation is one plan: a hold on every counter, and one on a *ticket*, the record that says
//! whether it is open or settled, under a digest of 128 random bits and of the charges. Settling is
//! one plan too: the ticket and all counters, or nothing. A ticket that was settled before, or is
//! not there, does not pass, and so the counters stay as they are.

use std::sync::Arc;

use jeton_core::{
    Act, Answers, Cost, Fit, Kind, Micros, Op, Plan, Quota, Receipt, RuleId, Span, StoreErrorKind,
};
use jeton_policy::{Charge, Facts, OnFailure};
use smallvec::SmallVec;

use super::asked::{Asked, cost_of};
use super::deciding::Deciding;
use super::guard::{Awaiting, Reply};
use super::owned::{Owned, SettledBy};
use super::{Gate, Live, verdicts};
use crate::answered::{Answered, Disposition, Settlement};
use crate::meters::Event;
use crate::named::NamedKeys;
use crate::opaque::{Handle, HandleId, Reserved, record_key};
use crate::verb::{NamedCharge, Verb};

/// Whose states tickets are. No rule has this number but by a collision of SHA-256 cut to 64 bits,
/// and no other state is of their kind.
const TICKETS: RuleId = RuleId::new(u64::from_be_bytes(*b"tickets\x01"));

/// How long a reservation stays open unless its maker says otherwise: 10 minutes.
pub const DEFAULT_TTL: Span = match Span::from_micros(600_000_000) {
    Ok(span) => span,
    Err(_) => Span::SECOND,
};

/// A handle needs time to come back.
const LEAST_TTL: Span = Span::SECOND;

/// A ticket has one unit, whatever it is for.
const NO_RECEIPT: Receipt = Receipt {
    cost: 0,
    part: 0,
    at: Micros::ZERO,
    mark: Micros::ZERO,
};

impl Gate {
    /// Charges every rule that applies to a request, or none, as an estimate: its handle
    /// ([`Answered::handle`]) settles it within `ttl`, on any node, after any restart that the store
    /// survives. What nobody settles stays charged; units of `concurrency` go back when their lease
    /// is over.
    ///
    /// Only the store can keep it. While that is away, a reservation passes without a handle if all
    /// rules say `on_failure = "allow"`, and is refused if one says anything else.
    pub fn reserve(&self, facts: &dyn Facts, cost: Option<Cost>, ttl: Span) -> Deciding {
        self.ask(facts, true, |live, charges, _, _| {
            let owned: Vec<Owned> = charges
                .map(|charge| Owned::of(live, &charge, cost_of(&charge, cost)))
                .collect();
            self.reserve_owned(live, owned, ttl)
        })
    }

    /// The same for charges that the caller names.
    ///
    /// # Errors
    /// [`ChargeError`](crate::ChargeError) names the charge and what is wrong with it; nothing is done.
    pub fn reserve_charges(
        &self,
        charges: &[NamedCharge<'_>],
        ttl: Span,
    ) -> Result<Deciding, crate::ChargeError> {
        let live = self.0.live.load_full();
        let now = self.0.clock.now();
        let keys = NamedKeys::resolve(&live, charges)?;
        // As a check, but charged: whatever has to be held is held here.
        let named = keys.judge(&live, Verb::Check, now)?;
        if let Some(disposition) = named.refused {
            let answered = verdicts::without_counter(&live, disposition, true, now);
            return Ok(Deciding::Now(answered));
        }
        let owned = named
            .acts
            .iter()
            .map(|(charge, _, cost)| Owned::of(&live, charge, *cost));
        Ok(self.reserve_owned(&live, owned.collect(), ttl))
    }

    fn reserve_owned(&self, live: &Arc<Live>, owned: Vec<Owned>, ttl: Span) -> Deciding {
        let mut id = HandleId::default();
        if getrandom::fill(&mut id).is_err() {
            let error = StoreErrorKind::Unavailable;
            let disposition = Disposition::Degraded {
                error,
                denied: true,
            };
            let at = self.0.clock.now();
            let answered = verdicts::without_counter(live, disposition, true, at);
            return Deciding::Now(answered);
        }
        let asked = Asked {
            live: Arc::clone(live),
            is_metered: true,
            corrects: false,
            at: self.0.clock.now(),
            seeds: owned.iter().map(|owned| owned.seed).collect(),
        };
        let charges = reserved(live, &owned);
        let record = record_key(&id, &charges);
        let held = owned
            .iter()
            .map(|owned| owned.op(Act::Hold { cost: owned.cost }));
        let opened = Act::Hold { cost: Cost::ONE };
        let submitted = self.submit_with_ticket(held, &record, ttl, opened);
        let reserved = move |answers: &Answers| {
            if lacks_room_for_record(answers, owned.len()) {
                return asked.degraded(StoreErrorKind::OutOfMemory, true);
            }
            let mut answered = match asked.decided(answers) {
                Ok(answered) => answered,
                Err((asked, error)) => {
                    let denied = asked.seeds.iter().any(needs_store);
                    return asked.degraded(error.kind, denied);
                }
            };
            if answered.allowed() {
                let charges = charged(charges, &answered);
                answered.keep().handle = Some(Handle { id, ttl, charges });
            }
            answered
        };
        match submitted {
            Some(Ok(answers)) => Deciding::Now(reserved(&answers)),
            Some(Err(later)) => Deciding::later(async move { reserved(&later.answers().await) }),
            None => Deciding::Now(without_plan(live, self.0.clock.now())),
        }
    }

    /// Says what a reservation has really cost. Less than the estimate is given back as far as it
    /// still counts; more is charged now and may go into debt. Done once: whoever says it again is
    /// answered the same, and nothing changes ([`Answered::settlement`]).
    ///
    /// It is said to the rules whose cost is known afterwards (`cost = { response = … }`, `count`);
    /// others stay charged as they were. Where there is none of that kind, all are told. Units of
    /// `concurrency` go back: what was in flight is over.
    pub fn commit(&self, handle: &Handle, actual: Cost) -> Deciding {
        self.settle_reserved(handle, actual, |owned, any_told| match owned.settled_by {
            Some(SettledBy::End) => Told::Over,
            None if any_told => Told::AsReserved,
            _ => Told::Actual,
        })
    }

    /// Gives back all that a reservation holds, as far as it still counts.
    pub fn cancel(&self, handle: &Handle) -> Deciding {
        self.settle_reserved(handle, Cost::ZERO, |_, _| Told::Actual)
    }

    /// `told` says of each charge, and whether the cost of any is known afterwards.
    fn settle_reserved(
        &self,
        handle: &Handle,
        actual: Cost,
        told: impl Fn(&Owned, bool) -> Told,
    ) -> Deciding {
        let live = self.0.live.load_full();
        let held = self.owners(&live, handle, |_| true);
        let is_told = |owned: &Owned| {
            matches!(
                owned.settled_by,
                Some(SettledBy::Status | SettledBy::Response)
            )
        };
        let any_told = held.iter().any(|(owned, _)| is_told(owned));
        let act = |owned: &Owned, receipt: Receipt| Act::Settle {
            receipt,
            actual: match told(owned, any_told) {
                Told::Actual => actual,
                Told::AsReserved => Cost::new(u64::from(receipt.cost)),
                Told::Over => Cost::ZERO,
            },
            max_debt: owned.max_debt,
        };
        let acts: Vec<Act> = held.iter().map(|(o, receipt)| act(o, *receipt)).collect();
        let of_ticket = Act::Settle {
            receipt: NO_RECEIPT,
            actual,
            max_debt: Cost::MAX,
        };
        self.finish(&live, handle, handle.ttl, &held, &acts, of_ticket)
    }

    /// Keeps a reservation open for another `ttl` from now, without one for as long as it was made
    /// for; and its units of `concurrency` for another lease.
    pub fn extend(&self, handle: &Handle, ttl: Option<Span>) -> Deciding {
        let live = self.0.live.load_full();
        let held = self.owners(&live, handle, |kind| kind == Kind::Concurrency);
        let renew = |receipt| Act::Renew { receipt };
        let acts: Vec<Act> = held.iter().map(|(_, receipt)| renew(*receipt)).collect();
        let ttl = ttl.unwrap_or(handle.ttl);
        self.finish(&live, handle, ttl, &held, &acts, renew(NO_RECEIPT))
    }

    /// What a reservation has charged, as far as it is still there.
    fn owners(
        &self,
        live: &Live,
        handle: &Handle,
        of: impl Fn(Kind) -> bool,
    ) -> SmallVec<[(Owned, Receipt); 2]> {
        let wanted = handle.charges.iter().filter(|reserved| of(reserved.kind));
        let owned = |reserved: &Reserved| Some((self.owner(live, reserved)?, reserved.receipt?));
        wanted.filter_map(owned).collect()
    }

    /// One plan over a ticket and what it stands for.
    fn finish(
        &self,
        live: &Arc<Live>,
        handle: &Handle,
        ttl: Span,
        held: &[(Owned, Receipt)],
        acts: &[Act],
        of_ticket: Act,
    ) -> Deciding {
        let at = self.0.clock.now();
        let is_settled = matches!(of_ticket, Act::Settle { .. });
        let asked = Asked {
            is_metered: false,
            corrects: true,
            at,
            seeds: held.iter().map(|(owned, _)| owned.seed).collect(),
            live: Arc::clone(live),
        };
        let ops = held
            .iter()
            .zip(acts)
            .map(|((owned, _), act)| owned.op(*act));
        let record = record_key(&handle.id, &handle.charges);
        let submitted = self.submit_with_ticket(ops, &record, ttl, of_ticket);
        let acts: SmallVec<[Act; 2]> = SmallVec::from_slice(acts);
        let settled = move |answers: &Answers| {
            let settlement = settlement(answers, acts.len());
            let decided = asked.decided(answers);
            let mut answered =
                decided.unwrap_or_else(|(asked, error)| asked.degraded(error.kind, true));
            if is_settled && settlement == Settlement::Done {
                note(&answered, &acts, answers);
            }
            if let Disposition::Decided(_) = answered.disposition {
                answered.keep().settlement = Some(settlement);
            }
            answered
        };
        match submitted {
            Some(Ok(answers)) => Deciding::Now(settled(&answers)),
            Some(Err(later)) => Deciding::later(async move { settled(&later.answers().await) }),
            None => Deciding::Now(without_plan(live, at)),
        }
    }

    /// The counter that a reservation has charged, as the policy in force has it; none if it is
    /// gone, or counts in another way: then nothing is left to settle.
    fn owner(&self, live: &Live, reserved: &Reserved) -> Option<Owned> {
        let now = self.0.clock.now();
        let policy = &live.policy;
        let (rule, counter) = policy.counter(reserved.counter)?;
        let plan = reserved.plan.as_deref();
        let mut found = None;
        let mut find = |charge: Charge<'_>| {
            if charge.counter == counter && charge.quota.kind() == reserved.kind {
                found.get_or_insert(Owned::of(live, &charge, Cost::ZERO));
            }
        };
        policy.name_charge(&live.orders, now, rule, plan, &reserved.key, &mut find);
        // What was used stands there whatever holds now.
        policy.own_charges(rule, &reserved.key, &mut find);
        found
    }

    /// One plan of `ops` and, behind them, an act on a ticket: the answers if they are there, else
    /// what will bring them.
    fn submit_with_ticket<'a>(
        &self,
        ops: impl Iterator<Item = Op<'a>>,
        record: &[u8; 32],
        ttl: Span,
        act: Act,
    ) -> Option<Result<Answers, Awaiting>> {
        let ticket = Quota::ticket(ttl.max(LEAST_TTL)).ok()?;
        let mut all: SmallVec<[Op<'_>; 4]> = SmallVec::new();
        for op in ops {
            all.push(op);
        }
        all.push(Op::new(TICKETS, record, &ticket, act));
        let plan = Plan::new(&all).ok()?;
        let reading = self.0.clock.reading();
        let mut answers = Answers::new();
        Some(match self.ask_store(&[plan], reading, &mut answers) {
            Reply::Done => Ok(answers),
            Reply::Later(later) => Err(later),
        })
    }
}

/// Whether a reservation is refused where no store keeps it: nobody could settle on another node
/// what one process has decided by itself.
fn needs_store(seed: &super::asked::Seed) -> bool {
    seed.has_vote() && seed.on_failure != OnFailure::Allow
}

/// What a charge is told when its reservation is committed.
#[derive(Clone, Copy)]
enum Told {
    Actual,
    AsReserved,
    Over,
}

/// What is asked for, before anybody has answered.
fn reserved(live: &Live, owned: &[Owned]) -> SmallVec<[Reserved; 2]> {
    let reserved = |owned: &Owned| Reserved {
        counter: owned.seed.id,
        kind: owned.seed.quota.kind(),
        plan: owned.seed.plan_name(live).map(Into::into),
        key: owned.key.clone(),
        cost: owned.cost.get(),
        receipt: None,
    };
    owned.iter().map(reserved).collect()
}

/// The same with what has been charged.
fn charged(mut charges: SmallVec<[Reserved; 2]>, answered: &Answered) -> SmallVec<[Reserved; 2]> {
    for (reserved, decided) in charges.iter_mut().zip(answered.decisions()) {
        let is_charged = decided.decision.fit.passes();
        // Of units in flight nobody holds none.
        let is_nothing = reserved.kind == Kind::Concurrency && reserved.cost == 0;
        let receipt = decided.decision.receipt;
        reserved.receipt = (is_charged && !is_nothing).then_some(receipt);
    }
    charges
}

/// Whether all charges would fit, and only the record found no place.
fn lacks_room_for_record(answers: &Answers, charges: usize) -> bool {
    let (verdict, decisions) = answers.plan(0);
    let is_denied = verdict.is_ok_and(|verdict| !verdict.allowed);
    let record = decisions.get(charges);
    is_denied && record.is_some_and(|record| record.approximate && !record.fit.passes())
}

/// What the ticket says, whose op stands behind those of the charges.
fn settlement(answers: &Answers, charges: usize) -> Settlement {
    let (_, decisions) = answers.plan(0);
    match decisions.get(charges).map(|decision| decision.fit) {
        Some(Fit::Repeated { actual }) => Settlement::Repeated { actual },
        Some(Fit::Settled { .. }) if decisions.iter().all(|d| d.fit.passes()) => Settlement::Done,
        _ => Settlement::Unknown,
    }
}

/// Counts what was settled, and what of it found no room even as debt.
fn note(answered: &Answered, acts: &[Act], answers: &Answers) {
    let (_, decisions) = answers.plan(0);
    let tally = &answered.live.tally;
    tally.happened_often(Event::Settled, acts.len() as u64);
    let clipped = acts
        .iter()
        .zip(decisions)
        .map(|(act, decision)| match (act, decision.fit) {
            (
                Act::Settle {
                    receipt, actual, ..
                },
                Fit::Settled { actual: charged },
            ) if actual.get() > receipt.cost => u64::from(actual.get().saturating_sub(charged)),
            _ => 0,
        });
    tally.happened_often(Event::UnitsClipped, clipped.sum());
}

fn without_plan(live: &Arc<Live>, at: Micros) -> Answered {
    verdicts::without_counter(live, Disposition::TooManyRules, false, at)
}
