//! A subject and the model, step by step side by side.

use std::collections::HashMap;

use super::{Ask, Event, Figures, Memory, Subject, Told};
use crate::model::{Answer, Model, ModelQuota, Receipt, Verdict};

pub(super) enum Step {
    Same(Answer),
    /// A settle of something that was not allowed in a trace that has been cut down.
    Skipped,
    Differs(Answer, Option<Told>),
}

/// One way in which everything can have come about that the subject has said so far.
#[derive(Clone, Default, PartialEq, Eq)]
struct World {
    model: Model,
    receipts: HashMap<usize, Receipt>,
    /// From when on the state may be forgotten; `None` when there is none.
    fresh_us: Option<u64>,
    /// What the subject may have but does not see, and from when on it may be forgotten.
    overlooked: Option<(Model, Option<u64>)>,
}

impl World {
    fn act(&mut self, event: &Event) -> Answer {
        let act = event.ask.act(|of| self.receipts[&of]);
        let before = self.model.clone();
        let answer = self.model.act(&event.quota, &act, event.now_us);
        let charged = answer.receipt.is_some_and(|receipt| receipt.cost > 0);
        let settles = matches!(event.ask, Ask::Give { .. } | Ask::Settle { .. });
        let written = charged
            || before != self.model
            || event.ask == Ask::Reset
            || (settles && !event.quota.is_held());
        if written {
            self.overlooked = None;
            self.fresh_us = self.model.fresh_at_us(&event.quota, event.now_us);
        }
        if let Some(receipt) = answer.receipt {
            self.receipts.insert(event.number, receipt);
        }
        answer
    }

    /// A state may be forgotten from the instant on from which the quota it was last written under
    /// answers as if it had never been.
    fn may_forget(&self, event: &Event) -> bool {
        self.fresh_us
            .is_none_or(|fresh_us| fresh_us <= event.now_us)
    }

    /// A state lives as long as it counts and not longer, except that a log need not notice that
    /// its newest entry has been given back.
    fn lives_until(&self, event: &Event, told: &Told) -> bool {
        let is_log = matches!(event.quota, ModelQuota::SlidingLog { .. });
        match (self.fresh_us, told.until_us) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(fresh_us), Some(until_us)) => {
                until_us == fresh_us || (is_log && until_us > fresh_us)
            }
        }
    }

    fn forget(&mut self) {
        self.model.forget();
        self.fresh_us = None;
    }

    /// The same world in which the subject does not see its state for the time of one event.
    fn overlooking(&self) -> Self {
        let mut blind = self.clone();
        blind.forget();
        blind.overlooked = Some((self.model.clone(), self.fresh_us));
        blind
    }

    /// A state that was not seen is gone once something else has been written; until then it may
    /// be seen again by a clock that has gone back.
    fn after_overlooking(mut self) -> Vec<Self> {
        let Some((model, fresh_us)) = self.overlooked.take() else {
            return vec![self];
        };
        let seen_again = Self {
            model,
            fresh_us,
            ..self.clone()
        };
        vec![self, seen_again]
    }
}

pub(super) struct Pair<S> {
    worlds: Vec<World>,
    subject: S,
    last: Option<(Event, Answer)>,
    figures: Figures,
}

impl<S: Subject> Pair<S> {
    pub(super) fn new(subject: S) -> Self {
        let worlds = vec![World::default()];
        Self {
            worlds,
            subject,
            last: None,
            figures: Figures::default(),
        }
    }

    pub(super) fn step(&mut self, event: &Event) -> Step {
        if let Some(of) = event.ask.of()
            && self
                .worlds
                .iter()
                .any(|world| !world.receipts.contains_key(&of))
        {
            return Step::Skipped;
        }
        let too_early = self.remember(event);
        let mut said: Vec<(World, Answer)> = std::mem::take(&mut self.worlds)
            .into_iter()
            .map(|mut world| {
                let answer = world.act(event);
                (world, answer)
            })
            .collect();
        let first = said.first().map(|(_, answer)| *answer);
        let first = first.expect("there is always a world");
        if too_early {
            return Step::Differs(first, None);
        }
        let told = self.subject.answer(event);
        said.retain(|(world, answer)| same(answer, &told) && world.lives_until(event, &told));
        let Some(&(_, answer)) = said.first() else {
            return Step::Differs(first, Some(told));
        };
        let possible = said
            .into_iter()
            .flat_map(|(world, _)| world.after_overlooking());
        for world in possible {
            if !self.worlds.contains(&world) {
                self.worlds.push(world);
            }
        }
        self.count(event, &answer);
        self.last = Some((*event, answer));
        Step::Same(answer)
    }

    /// Follows what the subject says of its memory; true when it has forgotten too early.
    fn remember(&mut self, event: &Event) -> bool {
        match self.subject.memory(event) {
            Memory::Kept => {}
            Memory::Forgotten => {
                self.figures.forgotten += 1;
                self.worlds.retain(|world| world.may_forget(event));
                if self.worlds.is_empty() {
                    self.worlds.push(World::default());
                    return true;
                }
                self.worlds.iter_mut().for_each(World::forget);
            }
            Memory::Unknown => {
                let fresh = self.worlds.iter().filter(|world| world.may_forget(event));
                let overlooking: Vec<World> = fresh.map(World::overlooking).collect();
                self.worlds.extend(overlooking);
            }
        }
        false
    }

    fn count(&mut self, event: &Event, answer: &Answer) {
        let figures = &mut self.figures;
        figures.steps += 1;
        match answer.verdict {
            Verdict::Allowed => figures.allowed += 1,
            Verdict::Denied { .. } => figures.denied += 1,
            Verdict::Impossible => figures.impossible += 1,
            Verdict::Settled { .. } => figures.settled += 1,
            Verdict::Repeated { .. } => figures.repeated += 1,
            Verdict::Unknown => figures.unknown += 1,
            Verdict::Done => {}
        }
        let Some((last, last_answer)) = &self.last else {
            return;
        };
        figures.clock_back += u64::from(event.now_us < last.now_us);
        let tried = answer.allowed()
            && last.ask == event.ask
            && last_answer.retry_us() == Some(1)
            && event.now_us == last.now_us + 1;
        figures.waits_tried += u64::from(tried);
    }

    pub(super) fn count_into(&self, total: &mut Figures) {
        total.steps += self.figures.steps;
        total.allowed += self.figures.allowed;
        total.denied += self.figures.denied;
        total.impossible += self.figures.impossible;
        total.settled += self.figures.settled;
        total.repeated += self.figures.repeated;
        total.unknown += self.figures.unknown;
        total.clock_back += self.figures.clock_back;
        total.waits_tried += self.figures.waits_tried;
        total.forgotten += self.figures.forgotten;
    }
}

fn same(answer: &Answer, told: &Told) -> bool {
    told.verdict == answer.verdict
        && told.limit == answer.limit
        && told.remaining == answer.remaining
        && told.reset_us == answer.reset_us
        && told.next_us.is_none_or(|next_us| next_us == answer.next_us)
}
