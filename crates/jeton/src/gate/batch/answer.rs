//! The answer to one call of a batch.

use jeton_core::{Decision, Micros, Span, StoreErrorKind};

use super::{BatchMemory, Decided};
use crate::answered::{Answered, Disposition};

/// The answer to one call of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchAnswer<'b> {
    disposition: Disposition,
    decision: Option<&'b Decision>,
    at: Micros,
    store_error: Option<StoreErrorKind>,
}

impl<'b> BatchAnswer<'b> {
    /// Whether it may pass; whether what was to be corrected is.
    pub const fn allowed(&self) -> bool {
        self.disposition.allowed()
    }

    /// Whether the cost is above what the rule can ever hold.
    pub const fn impossible(&self) -> bool {
        self.disposition.impossible()
    }

    /// The wait after which the same passes if nobody else competes.
    pub const fn retry_after(&self) -> Option<Span> {
        self.disposition.retry_after(self.at)
    }

    /// What became of it.
    pub const fn disposition(&self) -> Disposition {
        self.disposition
    }

    /// The decision of the rule's own counter; none where none was asked, or none answered.
    pub const fn decision(&self) -> Option<&'b Decision> {
        self.decision
    }

    /// Why there is no decision of the store's, if there is none: the outage rule spoke.
    pub const fn store_error(&self) -> Option<StoreErrorKind> {
        self.store_error
    }

    fn of(answered: &'b Answered) -> Self {
        Self {
            disposition: answered.disposition,
            decision: answered.parts.first().map(|part| &part.decision),
            at: answered.at,
            store_error: answered.store_error(),
        }
    }
}

impl Decided {
    /// The answer to call number `call`.
    pub(super) fn answer(&self, call: usize) -> BatchAnswer<'_> {
        let BatchMemory {
            calls,
            answers,
            outages,
            ..
        } = &self.memory;
        let said = outages.binary_search_by_key(&call, |(number, _)| *number);
        if let Some((_, answered)) = said.ok().and_then(|at| outages.get(at)) {
            return BatchAnswer::of(answered);
        }
        let call = calls.get(call);
        let plan = call.and_then(|call| call.plan);
        let (verdict, decisions) = plan.map_or((None, &[][..]), |plan| {
            let (verdict, decisions) = answers.plan(plan);
            (verdict.ok(), decisions)
        });
        let refused = call.and_then(|call| call.refused);
        let disposition = verdict.map(Disposition::Decided).or(refused);
        let decision = decisions.first();
        BatchAnswer {
            disposition: disposition.unwrap_or(Disposition::TooManyRules),
            decision,
            at: decision.map_or(self.reading.at(), |decision| decision.at),
            store_error: None,
        }
    }
}
