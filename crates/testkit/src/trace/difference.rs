//! A trace on which subject and model differ, cut down to what it needs.

use std::fmt;

use super::pair::{Pair, Step};
use super::{Event, Family, Subject, Told};
use crate::model::Answer;

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

/// Leaves out as many events as the difference can do without, in ever smaller pieces.
pub(super) fn cut_down<S: Subject>(
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
