//! Many calls at one reading of the clock: each decided by itself, all with one call to the store.
//!
//! For doors through which calls come in a row. Once its memory has grown, it allocates nothing but
//! where a row is long, a store answers later or not at all.

mod answer;
mod call;
mod finish;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jeton_core::{Answers, Cost, OnDeny, Plan, Quota, Reading};
use jeton_policy::{Counter, Mode};
use smallvec::SmallVec;

use super::asked::Seed;
use super::guard::Reply;
use super::{Gate, Live};
use crate::answered::Answered;
use crate::named::{ChargeError, Slot};
use crate::tally::BROUGHT;
use crate::verb::{NamedCharge, Verb};
pub use answer::BatchAnswer;
use call::{Call, Counted};

/// A charge under a quota that its caller brings, in the reserved rule. Its key alone says whose counter
/// it is: under another quota, what was used stays used.
#[derive(Clone, Copy, Debug)]
pub struct Brought<'a> {
    /// Bytes of any content.
    pub key: &'a [u8],
    /// How much may be used.
    pub quota: Quota,
    /// Units asked for.
    pub cost: Cost,
}

/// Memory that batches use again.
#[derive(Default)]
pub struct BatchMemory {
    /// The keys of all counters, one behind the other.
    keys: Vec<u8>,
    counted: Vec<Counted>,
    calls: Vec<Call>,
    answers: Answers,
    /// What the outage rule said, by the number of the call.
    outages: Vec<(usize, Answered)>,
}

impl fmt::Debug for BatchMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchMemory").finish_non_exhaustive()
    }
}

impl BatchMemory {
    fn clear(&mut self) {
        self.keys.clear();
        self.counted.clear();
        self.calls.clear();
        self.outages.clear();
    }
}

/// Calls that are going to be decided.
///
/// ```
/// # use std::sync::Arc;
/// # use jeton::policy::{NoReferences, Policy, Source};
/// # use jeton::{Clock, Gate, Settings, Table};
/// use jeton::{BatchMemory, BatchReply, Brought, Cost, NamedCharge, Quota, Rate, Span, Verb};
///
/// # let file = Source::new("jeton.toml", r#"
/// #     [[rule]]
/// #     name = "api"
/// #     key = ["header:x-user"]
/// #     algorithm = "gcra"
/// #     rate = "5/s"
/// # "#);
/// # let policy = Policy::load(&file, &NoReferences)?.policy;
/// # let gate = Gate::new(policy, Arc::new(Table::new(&Settings::default())?), Clock::system());
/// let mut batch = gate.batch(BatchMemory::default());
/// batch.named(Verb::Take, NamedCharge::new("api", &["alice"]))?;
/// let quota = Quota::bucket(Rate::new(1, Span::SECOND)?, 1)?;
/// batch.brought(Verb::Take, &Brought { key: b"bob", quota, cost: Cost::ONE });
/// if let BatchReply::Now(decided) = batch.decide(usize::MAX) {
///     assert!(decided.answers().all(|answer| answer.allowed()));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch {
    gate: Gate,
    live: Arc<Live>,
    reading: Reading,
    memory: BatchMemory,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("calls", &self.len())
            .finish_non_exhaustive()
    }
}

/// Whether the answers are there.
#[must_use]
pub enum BatchReply {
    /// They are.
    Now(Decided),
    /// They will come.
    Later(Pin<Box<dyn Future<Output = Decided> + Send>>),
}

impl fmt::Debug for BatchReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Now(_) => "Now",
            Self::Later(_) => "Later",
        })
    }
}

/// A batch that was decided.
#[derive(Debug)]
pub struct Decided {
    live: Arc<Live>,
    reading: Reading,
    memory: BatchMemory,
}

impl Gate {
    /// Begins a batch under the policy in force now.
    pub fn batch(&self, mut memory: BatchMemory) -> Batch {
        memory.clear();
        Batch {
            gate: self.clone(),
            live: self.0.live.load_full(),
            reading: self.0.clock.reading(),
            memory,
        }
    }
}

impl Batch {
    /// How many calls it has.
    pub fn len(&self) -> usize {
        self.memory.calls.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.memory.calls.is_empty()
    }

    /// Adds `verb` for one charge.
    ///
    /// # Errors
    /// [`ChargeError`] says what is wrong with it; then nothing is added.
    pub fn named(&mut self, verb: Verb, charge: NamedCharge<'_>) -> Result<(), ChargeError> {
        let BatchMemory {
            keys,
            counted,
            calls,
            ..
        } = &mut self.memory;
        let (live, start) = (&self.live, counted.len());
        let slot = Slot::alone(live, charge, keys)?;
        let named = slot.judge_alone(live, verb, self.reading.at(), keys)?;
        if named.refused.is_none() {
            let acts = named.acts.iter();
            counted
                .extend(acts.map(|(charge, act, _)| Counted::of(live, charge, slot.key(), *act)));
        }
        calls.push(Call {
            counted: start..counted.len(),
            plan: None,
            refused: named.refused,
            verb,
        });
        Ok(())
    }

    /// Adds `verb` for one charge under its caller's own quota.
    pub fn brought(&mut self, verb: Verb, charge: &Brought<'_>) {
        let BatchMemory {
            keys,
            counted,
            calls,
            ..
        } = &mut self.memory;
        let (key, start) = (keys.len(), counted.len());
        let reserved = self.gate.0.brought;
        reserved.push_key(charge.key, keys);
        counted.push(Counted {
            seed: Seed {
                rule: BROUGHT,
                counter: Counter::Requests,
                id: reserved.id(),
                plan: None,
                mode: Mode::Enforce,
                quota: charge.quota,
                on_failure: self.live.policy.settings().store.on_failure,
            },
            key: key..keys.len(),
            act: verb.act(charge.cost),
            on_deny: OnDeny::Keep,
        });
        calls.push(Call {
            counted: start..counted.len(),
            plan: None,
            refused: None,
            verb,
        });
    }

    /// Decides the calls in their order; `room` of them at most by asking counters: the outage rule answers
    /// what comes behind those.
    pub fn decide(mut self, room: usize) -> BatchReply {
        let reply = self.submit(room);
        let Self {
            gate,
            live,
            reading,
            memory,
        } = self;
        let mut decided = Decided {
            live,
            reading,
            memory,
        };
        match reply {
            Reply::Done => {
                decided.finish(&gate);
                BatchReply::Now(decided)
            }
            Reply::Later(later) => BatchReply::Later(Box::pin(async move {
                decided.memory.answers = later.answers().await;
                decided.finish(&gate);
                decided
            })),
        }
    }

    /// One plan for each call that counters decide about.
    fn submit(&mut self, room: usize) -> Reply {
        let BatchMemory {
            keys,
            counted,
            calls,
            answers,
            ..
        } = &mut self.memory;
        answers.clear();
        let ops: SmallVec<[_; 32]> = counted.iter().map(|counted| counted.op(keys)).collect();
        let mut plans: SmallVec<[Plan<'_>; 32]> = SmallVec::new();
        for call in calls.iter_mut().filter(|call| call.refused.is_none()) {
            if plans.len() >= room {
                break;
            }
            let ops = ops.get(call.counted.clone()).unwrap_or_default();
            if let Ok(plan) = Plan::new(ops) {
                call.plan = Some(plans.len());
                plans.push(plan);
            } else {
                // The counters of one rule are told apart; should they ever not be, refusing is safe.
                call.refused = Some(crate::Disposition::TooManyRules);
            }
        }
        if plans.is_empty() {
            return Reply::Done;
        }
        self.gate.ask_store(&plans, self.reading, answers)
    }
}

impl Decided {
    /// The answers, in the order of the calls.
    pub fn answers(&self) -> impl Iterator<Item = BatchAnswer<'_>> {
        (0..self.memory.calls.len()).map(|call| self.answer(call))
    }

    /// Its memory, for the next batch.
    pub fn into_memory(self) -> BatchMemory {
        self.memory
    }
}
