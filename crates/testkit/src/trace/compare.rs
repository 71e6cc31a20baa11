//! Runs a subject and the model side by side until they differ, then cuts the trace down.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use super::{Ask, Event, Family, Traffic};
use crate::model::{Act, Answer, Model, Receipt, Verdict};

/// What a subject answered; the fields are those of [`Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The answer to the act itself.
    pub verdict: Verdict,
    /// The limit it was judged by.
    pub limit: u64,
    /// The largest cost that would be allowed now, after the act.
    pub remaining: u64,
    /// Time until the reset instant.
    pub reset_us: u64,
    /// Time until something comes back, where the subject tells it.
    pub next_us: Option<u64>,
}

/// Something that decides, with one key's state in it: the engine, or a store.
pub trait Subject {
    /// Does what the event asks. The subject keeps the receipts of its own takes and holds by
    /// [`Event::number`]; a settle only ever names one that it allowed.
    fn answer(&mut self, event: &Event) -> Told;

    /// Whether the subject has forgotten its state by the time of this event, as it may once the
    /// state is fresh again. Asked before [`Subject::answer`].
    fn has_forgotten(&mut self, _event: &Event) -> bool {
        false
    }
}

/// What a comparison went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Traces run.
    pub traces: u64,
    /// Events compared.
    pub steps: u64,
    /// Takes, holds and peeks allowed.
    pub allowed: u64,
    /// Those denied, each with a true wait.
    pub denied: u64,
    /// Those that can never fit.
    pub impossible: u64,
    /// Settles done.
    pub settled: u64,
    /// Events at which the clock had gone back.
    pub clock_back: u64,
    /// Waits tried: denied one microsecond before the stated instant, allowed at it.
    pub waits_tried: u64,
    /// Times at which the subject forgot its state.
    pub forgotten: u64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            traces,
            steps,
            allowed,
            denied,
            impossible,
            settled,
            ..
        } = self;
        let Self {
            clock_back,
            waits_tried,
            forgotten,
            ..
        } = self;
        write!(
            f,
            "{traces} traces, {steps} steps: {allowed} allowed, {denied} denied, {impossible} \
             impossible, {settled} settled; clock back {clock_back} times, {waits_tried} waits \
             tried, state forgotten {forgotten} times"
        )
    }
}

/// The shortest trace found on which subject and model differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The family of the trace.
    pub family: Family,
    /// The seed it came from.
    pub seed: u64,
    /// The events that are left after cutting down; the last one is answered differently.
    pub events: Vec<Event>,
    /// What the model says to the last event.
    pub model: Answer,
    /// What the subject says, `None` when it has forgotten what still counts.
    pub subject: Option<Told>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:?}, seed {}: the last of these is answered differently",
            self.family, self.seed
        )?;
        for event in &self.events {
            let Event {
                number,
                now_us,
                quota,
                ask,
            } = event;
            writeln!(f, "  #{number} at {now_us}: {ask:?} under {quota:?}")?;
        }
        writeln!(f, "  model:   {:?}", self.model)?;
        match &self.subject {
            Some(told) => write!(f, "  subject: {told:?}"),
            None => write!(f, "  subject: forgot a state that is not fresh yet"),
        }
    }
}

/// Runs one trace of `steps` events for every seed and compares every answer.
///
/// # Errors
///
/// The first difference, cut down to the events it needs.
pub fn compare<S: Subject>(
    family: Family,
    seeds: Range<u64>,
    steps: u64,
    make: impl Fn() -> S,
) -> Result<Figures, Box<Difference>> {
    let mut figures = Figures::default();
    for seed in seeds {
        let mut pair = Pair::new(make());
        let mut traffic = Traffic::new(family, seed);
        let mut events = Vec::new();
        for _ in 0..steps {
            let event = traffic.next_event();
            events.push(event);
            match pair.step(&event) {
                Step::Same(answer) => traffic.hear(&event, &answer),
                Step::Skipped => {}
                Step::Differs(..) => return Err(Box::new(cut_down(family, seed, &events, &make))),
            }
        }
        figures.traces += 1;
        pair.count_into(&mut figures);
    }
    Ok(figures)
}

/// Runs the events of one trace, such as one that a [`Difference`] has cut down.
///
/// # Errors
///
/// The first difference; the events up to it are left as they are.
pub fn replay<S: Subject>(
    family: Family,
    events: &[Event],
    make: impl Fn() -> S,
) -> Result<(), Box<Difference>> {
    match differing_prefix(events, &make) {
        None => Ok(()),
        Some((events, model, subject)) => {
            let seed = 0;
            Err(Box::new(Difference {
                family,
                seed,
                events,
                model,
                subject,
            }))
        }
    }
}

enum Step {
    Same(Answer),
    /// A settle of something that was not allowed in a trace that has been cut down.
    Skipped,
    Differs(Answer, Option<Told>),
}

struct Pair<S> {
    model: Model,
    subject: S,
    receipts: HashMap<usize, Receipt>,
    last: Option<(Event, Answer)>,
    /// From when on the state may be forgotten.
    fresh_us: Option<u64>,
    figures: Figures,
}

impl<S: Subject> Pair<S> {
    fn new(subject: S) -> Self {
        let (model, receipts) = (Model::default(), HashMap::new());
        Self {
            model,
            subject,
            receipts,
            last: None,
            fresh_us: None,
            figures: Figures::default(),
        }
    }

    fn step(&mut self, event: &Event) -> Step {
        let act = match event.ask {
            Ask::Take { cost } => Act::Take { cost },
            Ask::Peek { cost } => Act::Peek { cost },
            Ask::Hold { cost } => Act::Hold { cost },
            Ask::Give { units } => Act::Give { units },
            Ask::Settle { of, actual } => match self.receipts.get(&of) {
                Some(&receipt) => Act::Settle { receipt, actual },
                None => return Step::Skipped,
            },
            Ask::Reset => Act::Reset,
            Ask::Block { until_us } => Act::Block { until_us },
        };
        if self.subject.has_forgotten(event) {
            self.figures.forgotten += 1;
            if !self.may_forget(event) {
                return Step::Differs(self.model.act(&event.quota, &act, event.now_us), None);
            }
            self.model.forget();
            self.fresh_us = None;
        }
        let before = self.model.clone();
        let answer = self.model.act(&event.quota, &act, event.now_us);
        self.note_write(event, &answer, &before);
        let told = self.subject.answer(event);
        if !same(&answer, &told) {
            return Step::Differs(answer, Some(told));
        }
        if let Some(receipt) = answer.receipt {
            self.receipts.insert(event.number, receipt);
        }
        self.count(event, &answer);
        self.last = Some((*event, answer));
        Step::Same(answer)
    }

    /// A state may be forgotten from the instant on from which the quota it was last written under
    /// answers as if it had never been.
    fn may_forget(&self, event: &Event) -> bool {
        self.fresh_us
            .is_none_or(|fresh_us| fresh_us <= event.now_us)
    }

    fn note_write(&mut self, event: &Event, answer: &Answer, before: &Model) {
        let charged = answer.receipt.is_some_and(|receipt| receipt.cost > 0);
        let written = match event.ask {
            Ask::Take { .. } | Ask::Hold { .. } => charged || *before != self.model,
            Ask::Peek { .. } => false,
            _ => true,
        };
        if written {
            self.fresh_us = self.model.fresh_at_us(&event.quota, event.now_us);
        }
    }

    fn count(&mut self, event: &Event, answer: &Answer) {
        let figures = &mut self.figures;
        figures.steps += 1;
        match answer.verdict {
            Verdict::Allowed => figures.allowed += 1,
            Verdict::Denied { .. } => figures.denied += 1,
            Verdict::Impossible => figures.impossible += 1,
            Verdict::Settled { .. } => figures.settled += 1,
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

    fn count_into(&self, total: &mut Figures) {
        total.steps += self.figures.steps;
        total.allowed += self.figures.allowed;
        total.denied += self.figures.denied;
        total.impossible += self.figures.impossible;
        total.settled += self.figures.settled;
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

/// Leaves out as many events as the difference can do without, in ever smaller pieces.
fn cut_down<S: Subject>(
    family: Family,
    seed: u64,
    events: &[Event],
    make: &impl Fn() -> S,
) -> Difference {
    let (mut events, mut model, mut subject) =
        differing_prefix(events, make).expect("a trace differs every time it is run");
    let mut piece = events.len() / 2;
    while piece > 0 {
        let mut start = 0;
        while start < events.len() {
            let mut shorter = events.clone();
            shorter.drain(start..(start + piece).min(events.len()));
            match differing_prefix(&shorter, make) {
                Some(found) => (events, model, subject) = found,
                None => start += piece,
            }
        }
        piece /= 2;
    }
    Difference {
        family,
        seed,
        events,
        model,
        subject,
    }
}

type Differing = (Vec<Event>, Answer, Option<Told>);

fn differing_prefix<S: Subject>(events: &[Event], make: &impl Fn() -> S) -> Option<Differing> {
    let mut pair = Pair::new(make());
    for (index, event) in events.iter().enumerate() {
        if let Step::Differs(model, subject) = pair.step(event) {
            return Some((events[..=index].to_vec(), model, subject));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelQuota;

    /// The model as its own subject, with a fault that shows from the third charge at one instant.
    #[derive(Default)]
    struct Faulty {
        model: Model,
        receipts: HashMap<usize, Receipt>,
        charges: HashMap<u64, u32>,
        overstates: bool,
    }

    impl Subject for Faulty {
        fn answer(&mut self, event: &Event) -> Told {
            let act = match event.ask {
                Ask::Take { cost } => Act::Take { cost },
                Ask::Peek { cost } => Act::Peek { cost },
                Ask::Hold { cost } => Act::Hold { cost },
                Ask::Give { units } => Act::Give { units },
                Ask::Settle { of, actual } => Act::Settle {
                    receipt: self.receipts[&of],
                    actual,
                },
                Ask::Reset => Act::Reset,
                Ask::Block { until_us } => Act::Block { until_us },
            };
            let answer = self.model.act(&event.quota, &act, event.now_us);
            let mut remaining = answer.remaining;
            if let Some(receipt) = answer.receipt {
                self.receipts.insert(event.number, receipt);
                let charges = self.charges.entry(event.now_us).or_default();
                *charges += 1;
                if self.overstates && *charges > 2 {
                    remaining += 1;
                }
            }
            Told {
                verdict: answer.verdict,
                limit: answer.limit,
                remaining,
                reset_us: answer.reset_us,
                next_us: Some(answer.next_us),
            }
        }
    }

    #[test]
    fn a_model_agrees_with_itself_on_all_kinds_of_events() {
        for family in Family::ALL {
            let figures = compare(family, 0..60, 200, Faulty::default).unwrap();
            assert_eq!((figures.traces, figures.steps), (60, 12_000), "{family:?}");
            let Figures {
                allowed,
                denied,
                impossible,
                settled,
                ..
            } = figures;
            let least = allowed.min(denied).min(impossible).min(settled);
            assert!(least > 300, "{family:?}: {figures}");
            let rare = figures.clock_back.min(figures.waits_tried);
            assert!(rare > 100, "{family:?}: {figures}");
        }
    }

    #[test]
    fn a_fault_is_found_and_cut_down_to_what_it_needs() {
        let make = || Faulty {
            overstates: true,
            ..Faulty::default()
        };
        let difference = compare(Family::EpochWindow, 0..50, 200, make).unwrap_err();
        assert_eq!(difference.events.len(), 3, "{difference}");
        let same_instant = difference
            .events
            .windows(2)
            .all(|two| two[0].now_us == two[1].now_us);
        assert!(same_instant, "{difference}");
        assert!(
            difference
                .to_string()
                .contains(&format!("seed {}", difference.seed))
        );
    }

    #[test]
    fn traces_follow_from_their_seed() {
        let run = |seed| {
            let mut traffic = Traffic::new(Family::Bucket, seed);
            let mut model = Model::default();
            let mut events = Vec::new();
            for _ in 0..50 {
                let event = traffic.next_event();
                if let Ask::Take { cost } = event.ask {
                    let answer = model.act(&event.quota, &Act::Take { cost }, event.now_us);
                    traffic.hear(&event, &answer);
                }
                events.push(event);
            }
            events
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
        assert!(
            run(5)
                .iter()
                .all(|event| matches!(event.quota, ModelQuota::Bucket { .. }))
        );
    }
}
