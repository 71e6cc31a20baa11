//! Requests that come as descriptors, as those of the Envoy rate limit service do.
//!
//! The rules of the policy are asked as for every other request, the descriptors being the facts; and
//! each descriptor may have a limit of its own, from a file of descriptors or brought by the request. All
//! that apply are charged in one step, or none is. There are two exceptions with names:
//!
//! - *Quota mode*: such a limit refuses only if all of them do. What others were charged meanwhile is
//!   given back, so a concurrent request may be refused for it, and none passes too many.
//! - `on_deny = "charge"` of `[rls]`, as the reference service has it: each limit of a descriptor is
//!   charged for itself, whatever others say.
//!
//! Refunds are apart from both: they are always carried out.

mod draft;
mod explain;
mod facts;
mod finish;
mod outline;
mod part;
mod statuses;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jeton_core::{Cost, Decision, StoreError};
use jeton_policy::{AskedDescriptor, Unit};
use smallvec::SmallVec;

use super::guard::Reply;
use super::outage::Kept;
use super::scratch::{Scratch, with_scratch};
use super::{Gate, Live};
use crate::Answered;
use draft::{Draft, Intent};
use finish::Finished;
use outline::Outline;

/// What a descriptor asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// Charge so many units; 0 looks.
    Take(Cost),
    /// Give so many back.
    Refund(Cost),
}

/// One descriptor of a request.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor<'a> {
    /// Keys and values, in their order.
    pub entries: &'a [(&'a str, &'a str)],
    /// A limit that holds instead of that of the file: requests in a unit of time.
    pub limit: Option<(u32, Unit)>,
    /// What it asks for; none for what the request does.
    pub hits: Option<Hits>,
}

/// A request of descriptors.
#[derive(Clone, Copy, Debug)]
pub struct DescriptorRequest<'a> {
    /// The domain.
    pub domain: &'a str,
    /// The descriptors, at least one.
    pub descriptors: &'a [Descriptor<'a>],
    /// Units of each descriptor that does not say itself; without them, 1, or what a rule says that a
    /// request costs.
    pub cost: Option<Cost>,
}

impl DescriptorRequest<'_> {
    /// What limits of files of descriptors are asked.
    fn asked(&self) -> SmallVec<[AskedDescriptor<'_>; 4]> {
        let asked = self.descriptors.iter().map(|one| AskedDescriptor {
            entries: one.entries,
            limit: one.limit,
        });
        asked.collect()
    }

    /// What a descriptor asks of its own limit.
    fn hits(&self, descriptor: &Descriptor<'_>) -> Hits {
        let cost = self.cost.unwrap_or(Cost::ONE);
        descriptor.hits.unwrap_or(Hits::Take(cost))
    }
}

/// The answer to a request of descriptors.
#[derive(Debug)]
pub struct Ruled {
    /// The answer as a whole.
    pub answered: Answered,
    /// One for each descriptor, in their order.
    pub descriptors: SmallVec<[RuledDescriptor; 4]>,
}

/// What became of one descriptor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuledDescriptor {
    /// Whether it is over its limit.
    pub over: bool,
    /// How it stands with what limits it.
    pub standing: Standing,
    /// The limit of the file, by its number among
    /// [`Descriptors::limits`](jeton_policy::Descriptors::limits).
    pub limit: Option<usize>,
    /// Which of the charges is its own.
    line: Option<usize>,
}

/// How a descriptor stands with what limits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    /// Nothing does, or nothing is known: the store gave no decision.
    Free,
    /// A limit without end.
    Unlimited,
    /// A limit of none at all, or an operator's block: requests in the unit of time.
    Refused(Option<(u32, Unit)>),
    /// Its own limit decided.
    Decided {
        /// Requests in each unit of time.
        requests: u32,
        /// That unit.
        unit: Unit,
        /// The decision.
        decision: Decision,
    },
    /// A rule of the policy did, which speaks of it: by its number among
    /// [`Answered::decisions`].
    ByRule(usize),
}

/// An answer that is there, or will be.
#[must_use]
#[allow(clippy::large_enum_variant)] // a box would cost an allocation on the path that is taken
pub enum Ruling {
    /// The store answered at once: memory always does.
    Now(Ruled),
    /// It will.
    Later(Pin<Box<dyn Future<Output = Ruled> + Send>>),
}

impl fmt::Debug for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(ruled) => f.debug_tuple("Now").field(ruled).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

impl Ruling {
    /// Waits for the answer.
    pub async fn wait(self) -> Ruled {
        match self {
            Self::Now(ruled) => ruled,
            Self::Later(ruled) => ruled.await,
        }
    }
}

impl Gate {
    /// Decides about a request of descriptors: what applies is charged in one step, or none of it is.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jeton::policy::{NoReferences, Policy, Source};
    /// use jeton::{Clock, Descriptor, DescriptorRequest, Gate, Ruling, Settings, Table};
    ///
    /// let file = Source::new("jeton.toml", r#"
    ///     [rls]
    ///     listen = "127.0.0.1:8081"
    ///     [[rule]]
    ///     name = "user"
    ///     key = ["descriptor:user"]
    ///     algorithm = "gcra"
    ///     rate = "1/min"
    /// "#);
    /// let policy = Policy::load(&file, &NoReferences)?.policy;
    /// let gate = Gate::new(policy, Arc::new(Table::new(&Settings::default())?), Clock::system());
    ///
    /// let entries = [("user", "anna")];
    /// let descriptors = [Descriptor { entries: &entries, limit: None, hits: None }];
    /// let request = DescriptorRequest { domain: "shop", descriptors: &descriptors, cost: None };
    /// let over = || match gate.rule(&request) {
    ///     Ruling::Now(ruled) => ruled.descriptors[0].over,
    ///     Ruling::Later(_) => unreachable!("memory answers at once"),
    /// };
    /// assert_eq!((over(), over()), (false, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rule(&self, request: &DescriptorRequest<'_>) -> Ruling {
        let live = self.0.live.load_full();
        self.rule_under(&live, request, self.0.clock.reading(), Intent::Decide)
    }

    fn rule_under(
        &self,
        live: &Arc<Live>,
        request: &DescriptorRequest<'_>,
        reading: jeton_core::Reading,
        intent: Intent,
    ) -> Ruling {
        with_scratch(|scratch| {
            let Scratch {
                buffers,
                answers,
                rulings,
            } = scratch;
            let when = (reading.at(), intent);
            let draft = Draft::of(live, request, when, buffers, rulings);
            let ops = draft.ops();
            let outline = draft.outline;
            if outline.is_empty() {
                return Ruling::Now(outline.settled(reading.at()));
            }
            let Some(plans) = outline.plans(&ops) else {
                return Ruling::Now(outline.too_many(reading.at()));
            };
            match self.ask_store(&plans, reading, answers) {
                Reply::Done => match outline.finish(answers) {
                    Ok(finished) => self.given_back(finished, reading),
                    Err((outline, error)) => {
                        Ruling::Now(self.without_store(outline, error, &ops, reading))
                    }
                },
                Reply::Later(later) => {
                    let kept = Kept::of(outline.seeds(), &ops);
                    let gate = self.clone();
                    Ruling::Later(Box::pin(async move {
                        let answers = later.answers().await;
                        match outline.finish(&answers) {
                            Ok(finished) => gate.given_back(finished, reading).wait().await,
                            Err((outline, error)) => {
                                gate.without_store_kept(outline, error, &kept, reading)
                            }
                        }
                    }))
                }
            }
        })
    }

    /// A request that was refused only by quota: what others were charged goes back.
    fn given_back(&self, finished: Finished, reading: jeton_core::Reading) -> Ruling {
        let Finished { mut ruled, back } = finished;
        if back.is_empty() {
            return Ruling::Now(ruled);
        }
        let mut answers = jeton_core::Answers::new();
        let reply = {
            let ops: SmallVec<[_; 4]> = back.iter().map(finish::Back::op).collect();
            match jeton_core::Plan::new(&ops) {
                Ok(plan) => self.0.store.submit(&[plan], reading, &mut answers),
                Err(_) => return Ruling::Now(ruled),
            }
        };
        match reply {
            Reply::Done => {
                finish::told_anew(&mut ruled, &back, &answers);
                Ruling::Now(ruled)
            }
            Reply::Later(later) => Ruling::Later(Box::pin(async move {
                // Lost on the way it stays charged, which admits nobody.
                finish::told_anew(&mut ruled, &back, &later.answers().await);
                ruled
            })),
        }
    }

    fn without_store(
        &self,
        outline: Outline,
        error: StoreError,
        ops: &[jeton_core::Op<'_>],
        reading: jeton_core::Reading,
    ) -> Ruled {
        let (asked, count) = outline.into_asked(reading.at());
        // Refunds are lost with the store.
        let takes = ops.get(..asked.seeds.len()).unwrap_or_default();
        let answered = self.outage(asked, error, takes, reading);
        finish::degraded(answered.without_local_receipts(), count)
    }

    fn without_store_kept(
        &self,
        outline: Outline,
        error: StoreError,
        kept: &[Kept],
        reading: jeton_core::Reading,
    ) -> Ruled {
        let (asked, count) = outline.into_asked(reading.at());
        finish::degraded(self.outage_of_kept(asked, error, kept, reading), count)
    }
}
