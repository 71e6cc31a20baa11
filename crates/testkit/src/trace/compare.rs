//! Runs a subject and the model side by side until they differ.

use std::fmt;
use std::ops::Range;

use super::difference::cut_down;
use super::pair::{Pair, Step};
use super::{Difference, Family, Subject, Traffic};

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
    /// Settles and renewals done.
    pub settled: u64,
    /// Those of tickets that had been settled before.
    pub repeated: u64,
    /// Those of tickets and holders that were not there.
    pub unknown: u64,
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
            repeated,
            unknown,
            clock_back,
            waits_tried,
            forgotten,
            ..
        } = self;
        write!(
            f,
            "{traces} traces, {steps} steps: {allowed} allowed, {denied} denied, {impossible} \
             impossible, {settled} settled, {repeated} repeated, {unknown} unknown; clock back {clock_back} times, {waits_tried} waits \
             tried, state forgotten {forgotten} times"
        )
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::model::{Act, Model, ModelQuota, Receipt};
    use crate::trace::{Ask, Event, Told};

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
            let act = event.ask.act(|of| self.receipts[&of]);
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
                until_us: None,
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
    fn a_model_of_what_is_held_agrees_with_itself_on_all_kinds_of_events() {
        for family in Family::HELD {
            let figures = compare(family, 0..60, 200, Faulty::default).unwrap();
            assert_eq!(figures.steps, 12_000, "{family:?}");
            let Figures {
                allowed,
                denied,
                settled,
                unknown,
                ..
            } = figures;
            let least = allowed.min(denied).min(settled).min(unknown);
            assert!(least > 500, "{family:?}: {figures}");
            let of_tickets = family != Family::Ticket || figures.repeated > 500;
            assert!(of_tickets && figures.clock_back > 100, "{figures}");
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
