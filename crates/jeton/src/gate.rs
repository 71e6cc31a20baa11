//! The one object that every door asks: policy, store, clock, outage rule and meters.

mod asked;
mod batch;
mod breaker;
mod deadline;
mod deciding;
mod descriptors;
mod drive;
mod explain;
mod guard;
#[cfg(feature = "settling")]
mod hold;
mod local;
#[cfg(feature = "settling")]
mod open_holds;
mod orders;
mod outage;
mod owned;
mod reserve;
mod scratch;
mod shedding;
mod thrift;
mod verdicts;

use std::fmt;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use jeton_core::{Answers, Cost, Op, Plan, Reading, Store};
use jeton_policy::{Charge, Facts, Fingerprints, Mode, Order, Orders, Policy, Settle};
use smallvec::SmallVec;

use crate::clock::Clock;
use crate::named::NamedKeys;
use crate::tally::Tally;
use crate::verb::{NamedCharge, Verb};
pub(crate) use asked::Seed;
use asked::{Asked, cost_of, op};
pub use batch::{Batch, BatchAnswer, BatchMemory, BatchReply, Brought, Decided};
pub use deciding::Deciding;
pub use descriptors::{
    Descriptor, DescriptorRequest, Hits, Ruled, RuledDescriptor, Ruling, Standing,
};
pub use explain::Explained;
pub use guard::StoreState;
use guard::{Guard, Reply};

#[cfg(feature = "settling")]
pub use hold::Hold;
use local::Local;
pub use local::table_settings;
pub use orders::{OrderError, OrderInForce};
use outage::Kept;
#[cfg(feature = "settling")]
use outage::Ledger;
pub use reserve::DEFAULT_TTL;
use scratch::{Scratch, with_scratch};
pub use shedding::{Asking, InFlight};

/// Decides about requests under a policy. Clones share everything. Reading a policy from text, as
/// here, needs the feature `policy-files`.
///
/// ```
/// use std::sync::Arc;
/// use jeton::policy::{NoReferences, Policy, Source};
/// use jeton::{Clock, Gate, NamedCharge, Settings, Table, Verb};
///
/// let file = Source::new("jeton.toml", r#"
///     [[rule]]
///     name = "api"
///     key = ["header:x-user"]
///     algorithm = "gcra"
///     rate = "5/s"
/// "#);
/// let policy = Policy::load(&file, &NoReferences)?.policy;
/// let gate = Gate::new(policy, Arc::new(Table::new(&Settings::default())?), Clock::system());
///
/// let charge = NamedCharge::new("api", &["alice"]);
/// if let Ok(answered) = gate.charge(Verb::Take, &[charge])?.now() {
///     assert!(answered.allowed());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Gate(Arc<Inner>, Option<Arc<InFlight>>);

struct Inner {
    live: ArcSwap<Live>,
    store: Guard,
    /// What decides while the store is away, for rules that say so.
    local: Local,
    clock: Clock,
    /// What operators have set, as last read from the store. Whoever puts another [`Live`] in
    /// place holds it.
    orders: Mutex<Vec<Order>>,
    fingerprints: Fingerprints,
    /// The rule whose quotas come with the calls.
    brought: jeton_policy::Brought,
    #[cfg(feature = "settling")]
    open_holds: open_holds::OpenHolds,
    /// Read by every task that settles; whoever can write waits for none.
    #[cfg(feature = "settling")]
    settling: Arc<tokio::sync::RwLock<()>>,
}

/// A policy in force, with its counters and what operators have set beside it.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) policy: Arc<Policy>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) orders: Orders,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("clock", &self.0.clock)
            .finish_non_exhaustive()
    }
}

/// Charges with what each asks for.
type Charges<'a> = SmallVec<[(Charge<'a>, Cost); 4]>;

impl Gate {
    /// A gate that keeps its states in `store` and goes by `clock`; or by the store's own, if it has
    /// one and `clock` does not move by hand.
    ///
    /// The store may take as long as `[store] timeout` of this policy says (feature `settling`; a
    /// policy that takes its place later changes nothing of that), and the table that decides in its
    /// absence, where a rule says `on_failure = { local = … }`, is bounded as `[store]` says. A store
    /// that answers later needs a tokio runtime with its timer.
    pub fn new(policy: Policy, store: Arc<dyn Store>, clock: Clock) -> Self {
        let settings = &policy.settings().store;
        let store = Guard::new(store, settings, clock.clone());
        let local = Local::new(table_settings(settings));
        let fingerprints = explain::fingerprints(&settings.kind);
        let tally = Arc::new(Tally::new(policy.rules().len()));
        let live = ArcSwap::from_pointee(Live {
            policy: Arc::new(policy),
            tally,
            orders: Orders::default(),
        });
        let inner = Inner {
            live,
            store,
            local,
            clock,
            orders: Mutex::default(),
            fingerprints,
            brought: jeton_policy::Brought::default(),
            #[cfg(feature = "settling")]
            open_holds: open_holds::OpenHolds::default(),
            #[cfg(feature = "settling")]
            settling: Arc::default(),
        };
        Self(Arc::new(inner), None)
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        self.0.live.load().policy.clone()
    }

    /// The counters of the policy in force.
    pub fn tally(&self) -> Arc<Tally> {
        self.0.live.load().tally.clone()
    }

    /// The clock it goes by.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// How secret keys are shown by this gate: the same key the same way, as long as it lives; and
    /// by all gates whose stores have the same `key_secret`.
    pub fn fingerprints(&self) -> &Fingerprints {
        &self.0.fingerprints
    }

    /// The mode of a rule (by its index in the file) that is in force: an operator's word before
    /// the policy's.
    pub fn mode(&self, rule: usize) -> Mode {
        self.0.live.load().mode(rule)
    }

    /// Whether both are clones of one gate.
    #[cfg(feature = "tower")]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Charges every rule that applies to a request, or none: one step.
    pub fn take(&self, facts: &dyn Facts) -> Deciding {
        self.decide(facts, Verb::Take, None)
    }

    /// Answers as [`Gate::take`] would, and changes nothing.
    pub fn check(&self, facts: &dyn Facts) -> Deciding {
        self.decide(facts, Verb::Check, None)
    }

    /// Does `verb` for every rule that applies to a request, with `cost` units each; without one,
    /// with what each rule says that a request costs.
    pub fn decide(&self, facts: &dyn Facts, verb: Verb, cost: Option<Cost>) -> Deciding {
        self.ask(
            facts,
            verb.is_metered(),
            |live, charges, reading, answers| {
                let charges: Charges<'_> = charges.map(|c| (c, cost_of(&c, cost))).collect();
                self.carry_out(live, charges, verb, reading, answers)
            },
        )
    }

    /// Does `verb` for charges that the caller names, all in one step. Two on one rule and key are
    /// one charge of their sum.
    ///
    /// # Errors
    /// [`ChargeError`](crate::ChargeError) names the charge and what is wrong with it; nothing is done.
    pub fn charge(
        &self,
        verb: Verb,
        charges: &[NamedCharge<'_>],
    ) -> Result<Deciding, crate::ChargeError> {
        let live = self.0.live.load_full();
        let reading = self.0.clock.reading();
        let keys = NamedKeys::resolve(&live, charges)?;
        let named = keys.judge(&live, verb, reading.at())?;
        if let Some(disposition) = named.refused {
            let is_metered = verb.is_metered();
            let answered = verdicts::without_counter(&live, disposition, is_metered, reading.at());
            return Ok(Deciding::Now(answered));
        }
        let acts = named.acts.iter();
        let ops: SmallVec<[Op<'_>; 4]> = acts.map(|(c, act, _)| op(c, *act)).collect();
        let asked = Asked {
            seeds: named
                .acts
                .iter()
                .map(|(c, ..)| Seed::of(&live, c))
                .collect(),
            is_metered: verb.is_metered(),
            corrects: verb.corrects(),
            at: reading.at(),
            live: Arc::clone(&live),
        };
        Ok(with_scratch(|Scratch { answers, .. }| {
            self.submit(asked, &ops, reading, answers)
        }))
    }

    /// Evaluates a request, answers it if no counter takes part, and hands its charges to `then`
    /// otherwise.
    fn ask(
        &self,
        facts: &dyn Facts,
        is_metered: bool,
        then: impl for<'a> FnOnce(
            &'a Arc<Live>,
            &mut dyn Iterator<Item = Charge<'a>>,
            Reading,
            &mut Answers,
        ) -> Deciding,
    ) -> Deciding {
        self.ask_under(&self.0.live.load_full(), facts, is_metered, then)
    }

    fn ask_under(
        &self,
        live: &Arc<Live>,
        facts: &dyn Facts,
        is_metered: bool,
        then: impl for<'a> FnOnce(
            &'a Arc<Live>,
            &mut dyn Iterator<Item = Charge<'a>>,
            Reading,
            &mut Answers,
        ) -> Deciding,
    ) -> Deciding {
        let reading = self.0.clock.reading();
        with_scratch(|scratch| {
            let Scratch {
                buffers, answers, ..
            } = scratch;
            let evaluation = live
                .policy
                .evaluate(facts, &live.orders, reading.at(), buffers);
            let aside = evaluation.shadow_denials();
            if is_metered {
                live.tally.refused_without_vote(live, aside);
            }
            let marked = aside.iter().map(|denied| denied.rule);
            let marked: SmallVec<[usize; 2]> = marked
                .filter(|rule| live.mode(*rule) == Mode::Mark)
                .collect();
            let mut deciding = match verdicts::of(&evaluation) {
                Some(disposition) => {
                    let at = reading.at();
                    let answered = verdicts::without_counter(live, disposition, is_metered, at);
                    Deciding::Now(answered)
                }
                None => then(live, &mut evaluation.charges(), reading, answers),
            };
            if !marked.is_empty() {
                deciding = deciding.map(move |answered| answered.keep().marked = marked);
            }
            deciding
        })
    }

    /// One plan of plain acts to the store.
    fn carry_out(
        &self,
        live: &Arc<Live>,
        mut charges: Charges<'_>,
        verb: Verb,
        reading: Reading,
        answers: &mut Answers,
    ) -> Deciding {
        if verb == Verb::Take {
            let in_flight = |charge: &Charge<'_>| matches!(charge.settle, Some(Settle::Lease));
            let voting = |(charge, _): &&(Charge<'_>, Cost)| {
                in_flight(charge) && charge.mode == Mode::Enforce
            };
            if let Some((charge, _)) = charges.iter().find(voting) {
                let disposition = crate::Disposition::NeedsHold { rule: charge.rule };
                let at = reading.at();
                return Deciding::Now(verdicts::without_counter(live, disposition, true, at));
            }
            // Without a vote there is nothing to refuse, and nobody who would give it back.
            charges.retain(|(charge, _)| !in_flight(charge));
        }
        let acts = charges
            .iter()
            .map(|(charge, cost)| op(charge, verb.act(*cost)));
        let ops: SmallVec<[Op<'_>; 4]> = acts.collect();
        let asked = Asked {
            seeds: charges.iter().map(|(c, _)| Seed::of(live, c)).collect(),
            is_metered: verb.is_metered(),
            corrects: verb.corrects(),
            at: reading.at(),
            live: Arc::clone(live),
        };
        self.submit(asked, &ops, reading, answers)
    }

    /// One plan to the store.
    fn submit(
        &self,
        asked: Asked,
        ops: &[Op<'_>],
        reading: Reading,
        answers: &mut Answers,
    ) -> Deciding {
        let Ok(plan) = Plan::new(ops) else {
            return Deciding::Now(asked.without_plan());
        };
        match self.ask_store(&[plan], reading, answers) {
            Reply::Done => Deciding::Now(match asked.decided(answers) {
                Ok(answered) => answered,
                Err((asked, error)) => self
                    .outage(asked, error, ops, reading)
                    .without_local_receipts(),
            }),
            Reply::Later(later) => {
                let kept = Kept::of(&asked.seeds, ops);
                let gate = self.clone();
                Deciding::later(async move {
                    let answers = later.answers().await;
                    match asked.decided(&answers) {
                        Ok(answered) => answered,
                        Err((asked, error)) => gate.outage_of_kept(asked, error, &kept, reading),
                    }
                })
            }
        }
    }
}

impl Live {
    /// The mode of a rule: an operator's word before its own.
    pub(crate) fn mode(&self, rule: usize) -> Mode {
        let own = || {
            self.policy
                .rules()
                .get(rule)
                .map(jeton_policy::CompiledRule::mode)
        };
        self.orders.mode(rule).or_else(own).unwrap_or_default()
    }
}
