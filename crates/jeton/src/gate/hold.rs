//! Requests whose charges are settled when their responses are known.

mod lease;
mod settle;
mod wait;

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use jeton_core::{Answers, Cost, Op, Plan, Reading, Receipt};
use jeton_policy::{CostSpec, Facts, Policy, ResponseCost, StatusSet};
use smallvec::SmallVec;

use super::asked::{Asked, Seed, cost_of};
use super::deciding::Deciding;
use super::owned::{Owned, SettledBy};
use super::{Gate, Ledger, Live, Reply};
use crate::answered::Answered;
use lease::Renewing;

/// The charges of one request that are out until its response is known.
///
/// Tell it what came: [`Hold::answered`], then [`Hold::ended`]. Dropped before, whatever it was not
/// told stays charged: a client or a service that breaks off never gets units for free. Units of
/// `concurrency` go back in any case.
///
/// Needs a tokio runtime where the store answers later, and for rules of `concurrency`.
pub struct Hold {
    gate: Gate,
    live: Arc<Live>,
    out: SmallVec<[Out; 1]>,
    ledger: Ledger,
    /// Renews leases until it is dropped.
    renewing: Option<Renewing>,
}

/// A charge that is out.
#[derive(Debug)]
struct Out {
    owned: Owned,
    receipt: Receipt,
    /// Which decision of the answer it is.
    part: usize,
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("out", &self.out.len())
            .finish_non_exhaustive()
    }
}

impl Gate {
    /// Charges every rule that applies to a request, or none, for a door that will see its
    /// response: what rules with `count`, a response cost or `concurrency` charge is held until
    /// [`Answered::take_hold`] is told what came.
    ///
    /// Held units count as used. A request that is refused only because of units held in this
    /// process waits up to the rules' `hold_wait` for some to be settled.
    pub fn hold(&self, facts: &dyn Facts) -> Deciding {
        self.ask(facts, true, |live, charges, reading, answers| {
            let charges: super::Charges<'_> = charges.map(|c| (c, cost_of(&c, None))).collect();
            if charges.iter().all(|(charge, _)| charge.settle.is_none()) {
                return self.carry_out(live, charges, crate::Verb::Take, reading, answers);
            }
            let owned: Vec<Owned> = charges
                .iter()
                .map(|(charge, cost)| Owned::of(live, charge, *cost))
                .collect();
            self.try_hold(Arc::clone(live), owned, reading, answers)
        })
    }

    fn try_hold(
        &self,
        live: Arc<Live>,
        owned: Vec<Owned>,
        reading: Reading,
        answers: &mut Answers,
    ) -> Deciding {
        let asked = asked(live, &owned, reading);
        let submitted = {
            let ops: SmallVec<[Op<'_>; 4]> = owned.iter().map(Owned::take_or_hold).collect();
            let Ok(plan) = Plan::new(&ops) else {
                return Deciding::Now(asked.without_plan());
            };
            self.ask_store(&[plan], reading, answers)
        };
        let gate = self.clone();
        match submitted {
            Reply::Done if gate.waits_for(&owned, answers).is_none() => {
                Deciding::Now(gate.held(asked, owned, answers, reading))
            }
            Reply::Done => Deciding::later(gate.hold_when_settled(asked.live, owned)),
            Reply::Later(later) => Deciding::later(async move {
                let answers = later.answers().await;
                if gate.waits_for(&owned, &answers).is_none() {
                    return gate.held(asked, owned, &answers, reading);
                }
                gate.hold_when_settled(asked.live, owned).await
            }),
        }
    }

    /// The final answer, with what it holds.
    fn held(
        &self,
        asked: Asked,
        owned: Vec<Owned>,
        answers: &Answers,
        reading: Reading,
    ) -> Answered {
        match asked.decided(answers) {
            Ok(answered) => self.keep(answered, owned, Ledger::Store),
            Err((asked, error)) => {
                let ops: SmallVec<[Op<'_>; 4]> = owned.iter().map(Owned::take_or_hold).collect();
                let answered = self.outage(asked, error, &ops, reading);
                let local = owned.iter().filter_map(Owned::locally).collect();
                let answered = self.keep(answered, local, Ledger::Local);
                answered.without_local_receipts()
            }
        }
    }

    /// The answer with what it holds: one of `owned` for each decision.
    fn keep(&self, mut answered: Answered, owned: Vec<Owned>, ledger: Ledger) -> Answered {
        if !answered.allowed() {
            return answered;
        }
        let live = Arc::clone(&answered.live);
        let receipts = answered.parts.iter().map(|part| part.decision.receipt);
        let out: SmallVec<[Out; 1]> = owned
            .into_iter()
            .zip(receipts)
            .enumerate()
            .filter(|(_, (owned, receipt))| owned.settled_by.is_some() && receipt.cost > 0)
            .map(|(part, (owned, receipt))| Out {
                owned,
                receipt,
                part,
            })
            .collect();
        if out.is_empty() {
            return answered;
        }
        // What is held locally is nothing that a request could wait for which the store decides about.
        if ledger == Ledger::Store {
            for Out { owned, receipt, .. } in &out {
                let (id, key) = (owned.seed.id, &owned.key);
                self.0.open_holds.opened(id, key, receipt.cost);
            }
        }
        let renewing = Renewing::start(self, &out, ledger);
        let hold = Hold {
            gate: self.clone(),
            live,
            out,
            ledger,
            renewing,
        };
        answered.keep().hold = Some(hold);
        answered
    }
}

fn asked(live: Arc<Live>, owned: &[Owned], reading: Reading) -> Asked {
    Asked {
        live,
        is_metered: true,
        corrects: false,
        at: reading.at(),
        seeds: owned
            .iter()
            .map(|owned| owned.seed)
            .collect::<SmallVec<[Seed; 3]>>(),
    }
}

impl Hold {
    /// The head of the service's response is there. Brings the decisions of `answered`, if it is
    /// given, to what they are after the settling.
    pub fn answered(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        answered: Option<&mut Answered>,
    ) {
        let live = Arc::clone(&self.live);
        let policy = &live.policy;
        self.settle(answered, |owned, charged| match owned.settled_by {
            Some(SettledBy::Status) => {
                let counts = status_set(policy, owned)?.contains(status.as_u16());
                Some(if counts { charged } else { 0 })
            }
            Some(SettledBy::Response) => match response_cost(policy, owned)? {
                ResponseCost::Header(name) => units(headers, name),
                ResponseCost::Trailer(_) => None,
            },
            _ => None,
        });
    }

    /// The response has ended, and these are its trailers.
    pub fn ended(mut self, trailers: Option<&HeaderMap>) {
        let (Some(trailers), live) = (trailers, Arc::clone(&self.live)) else {
            return;
        };
        self.settle(None, |owned, _| match response_cost(&live.policy, owned)? {
            ResponseCost::Trailer(name) => units(trailers, name),
            ResponseCost::Header(_) => None,
        });
    }

    /// Whether the end of the response still matters: trailers that tell a cost, units in flight.
    pub fn is_open(&self) -> bool {
        !self.out.is_empty()
    }

    /// Settles the charges of which `actual` knows, in one step.
    fn settle(
        &mut self,
        answered: Option<&mut Answered>,
        actual: impl Fn(&Owned, u32) -> Option<u32>,
    ) {
        let mut known: SmallVec<[(Out, Cost); 1]> = SmallVec::new();
        self.out = std::mem::take(&mut self.out)
            .into_iter()
            .filter_map(|out| match actual(&out.owned, out.receipt.cost) {
                Some(units) => {
                    known.push((out, Cost::new(u64::from(units))));
                    None
                }
                None => Some(out),
            })
            .collect();
        if !known.is_empty() {
            self.gate.settle(&self.live, known, self.ledger, answered);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.renewing = None;
        for Out { owned, receipt, .. } in &self.out {
            if self.ledger == Ledger::Store && owned.settled_by != Some(SettledBy::End) {
                let (id, key) = (owned.seed.id, &owned.key);
                self.gate.0.open_holds.closed(id, key, receipt.cost);
            }
        }
        self.settle(None, |owned, _| {
            (owned.settled_by == Some(SettledBy::End)).then_some(0)
        });
    }
}

fn status_set<'p>(policy: &'p Policy, owned: &Owned) -> Option<&'p StatusSet> {
    policy.rules().get(owned.seed.rule)?.rule().count.as_ref()
}

fn response_cost<'p>(policy: &'p Policy, owned: &Owned) -> Option<&'p ResponseCost> {
    match &policy.rules().get(owned.seed.rule)?.rule().cost {
        CostSpec::Response { source, .. } => Some(source),
        _ => None,
    }
}

/// The units that a field tells; none if it tells no number, or stands several times with several.
/// Then the estimate stays.
fn units(headers: &HeaderMap, name: &str) -> Option<u32> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next()?;
    if lines.any(|line| line != first) {
        return None;
    }
    let digits = first.as_bytes().trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| {
        sum.saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    };
    Some(Cost::new(digits.iter().fold(0, add)).get())
}
