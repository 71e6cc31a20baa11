//! Random plans of several acts against the models: every verb, every kind of state, with and
//! without a vote, charging denials or not.

use jeton_core::{Mode, OnDeny, Op, Receipt, RuleId, Span};

use super::desk::{DAY, Desk, HOUR, SECOND};
use super::threads::on_threads;
use super::translate::{act_of, quota_of, told_of};
use super::{Make, repeats};
use crate::model::plan::{Op as ModelOp, PlanVerdict, act};
use crate::model::{self, Answer, Model, ModelQuota};
use crate::random::Random;
use crate::trace::Ask;

/// Kinds of state, with `NAMES` keys each.
const KINDS: u64 = 7;
const NAMES: u64 = 3;
/// Charges that can still be settled, of each state.
const RECEIPTS: usize = 6;

/// How time goes by in a trace.
#[derive(Clone, Copy)]
enum Time {
    /// Forward, past ends of all kinds.
    Forward,
    /// To and fro, within the life of every state: whether a store has forgotten one that was over
    /// cannot be told.
    ToAndFro,
}

/// Each answer to a random plan is the one that the models give, and so is its verdict.
pub fn random_plans_equal_the_models(make: Make<'_>) {
    let traces = repeats(make, 60, 2000);
    let desk = Desk::with_keys(make, 100_000);
    let start = desk.at(desk.now_us + 10 * DAY);
    for trace in 0..traces {
        let time = [Time::Forward, Time::ToAndFro][usize::from(trace % 2 == 0)];
        Trace::new(trace, time).run(&start, 120);
    }
}

/// The same by eight threads at once, on keys of their own in one store.
pub fn threads_of_random_plans_equal_the_models(make: Make<'_>) {
    let traces = repeats(make, 8, 200);
    let desk = Desk::with_keys(make, 100_000);
    let start = desk.at(desk.now_us + 10 * DAY);
    on_threads(|thread| {
        for trace in 0..traces {
            Trace::new(thread << 32 | trace, Time::ToAndFro).run(&start, 120);
        }
    });
}

/// One key of one rule: its quota, its model, and what it can still be asked to settle.
struct State {
    quota: ModelQuota,
    model: Model,
    name: Vec<u8>,
    receipts: Vec<(Receipt, model::Receipt)>,
}

struct Trace {
    random: Random,
    time: Time,
    states: Vec<State>,
}

impl Trace {
    fn new(seed: u64, time: Time) -> Self {
        let mut random = Random::new(seed);
        let states = (0..KINDS * NAMES)
            .map(|number| State {
                quota: quota(number % KINDS, time, &mut random),
                model: Model::default(),
                name: [seed, number].map(u64::to_be_bytes).concat(),
                receipts: Vec::new(),
            })
            .collect();
        Self {
            random,
            time,
            states,
        }
    }

    fn run(&mut self, start: &Desk, steps: u64) {
        let mut now_us = start.now_us;
        for _ in 0..steps {
            let step_us = match self.random.below(4) {
                0 => self.random.scaled(1, HOUR),
                1 => self.random.below(3),
                _ => 0,
            };
            now_us = match self.time {
                Time::ToAndFro if self.random.once_in(3) => now_us - step_us,
                _ => now_us + step_us,
            };
            self.step(&start.at(now_us));
        }
    }

    /// One plan of acts on different states.
    fn step(&mut self, desk: &Desk) {
        let many = [1, 2, 2, 3, 4, 8][self.random.index(6)];
        let mut numbers: Vec<usize> = (0..self.states.len()).collect();
        for place in 0..many {
            let other = place + self.random.index(numbers.len() - place);
            numbers.swap(place, other);
        }
        // In the order of the states, so that the models can be lent all at once.
        numbers.truncate(many);
        numbers.sort_unstable();
        let asked: Vec<Asked> = numbers.iter().map(|&number| self.draw(number)).collect();

        let quotas: Vec<_> = asked.iter().map(|one| quota_of(&one.op.quota)).collect();
        let ops: Vec<Op<'_>> = asked
            .iter()
            .zip(&quotas)
            .map(|(one, quota)| Op {
                rule: RuleId::new(5),
                key: &self.states[one.number].name,
                quota,
                act: one.act,
                mode: if one.op.votes {
                    Mode::Enforce
                } else {
                    Mode::Shadow
                },
                on_deny: if one.op.denial_charges {
                    OnDeny::Charge
                } else {
                    OnDeny::Keep
                },
            })
            .collect();
        let (verdict, decisions) = desk.plan(&ops);

        let model_ops: Vec<ModelOp> = asked.iter().map(|one| one.op).collect();
        let states = self.states.iter_mut().enumerate();
        let mut models: Vec<&mut Model> = states
            .filter(|(number, _)| numbers.contains(number))
            .map(|(_, state)| &mut state.model)
            .collect();
        let (by_model, answers) = act(&model_ops, &mut models, desk.now_us);

        let told = PlanVerdict {
            allowed: verdict.allowed,
            impossible: verdict.impossible,
            retry_us: verdict.retry_after.map(Span::as_micros),
        };
        assert_eq!(told, by_model, "{asked:?}");
        for ((one, decision), answer) in asked.iter().zip(&decisions).zip(&answers) {
            let told = told_of(&one.ask, decision);
            assert!(
                equal(&told, answer),
                "{one:?}: {told:?}, not {answer:?}, in {asked:?}"
            );
            let receipts = &mut self.states[one.number].receipts;
            if let (true, Some(receipt)) = (decision.receipt.cost > 0, answer.receipt) {
                receipts.push((decision.receipt, receipt));
            }
            if receipts.len() > RECEIPTS {
                receipts.swap_remove(self.random.index(RECEIPTS));
            }
        }
    }

    fn draw(&mut self, number: usize) -> Asked {
        let random = &mut self.random;
        let State {
            quota, receipts, ..
        } = &self.states[number];
        let of = (!receipts.is_empty()).then(|| random.index(receipts.len()));
        let limit = quota.limit();
        let cost = match random.below(12) {
            0 => 0,
            1 => limit + 1,
            2..4 => random.between(1, limit),
            _ => 1,
        };
        let ask = match (random.below(20), of) {
            (0, _) => Ask::Reset,
            (1, _) => Ask::Give { units: cost },
            (2, _) => Ask::Peek { cost },
            (3..8, Some(of)) => Ask::Settle {
                of,
                actual: random.below(limit + 3),
                max_debt: *random.pick(&[0, 1, limit, u64::MAX]),
            },
            (8..11, Some(of)) => Ask::Renew { of },
            (11..13, _) => Ask::Hold { cost },
            _ if quota.is_held() && !random.once_in(9) => Ask::Hold { cost },
            _ => Ask::Take { cost },
        };
        let by_model = |of: usize| receipts[of].1;
        let op = ModelOp {
            quota: *quota,
            act: ask.act(by_model),
            votes: !random.once_in(5),
            denial_charges: random.once_in(4),
        };
        Asked {
            number,
            ask,
            act: act_of(&ask, |of| receipts[of].0),
            op,
        }
    }
}

/// One act of a plan, as asked of the store and of the model.
#[derive(Debug)]
struct Asked {
    number: usize,
    ask: Ask,
    act: jeton_core::Act,
    op: ModelOp,
}

fn equal(told: &crate::trace::Told, answer: &Answer) -> bool {
    told.verdict == answer.verdict
        && told.limit == answer.limit
        && told.remaining == answer.remaining
        && told.reset_us == answer.reset_us
        && told.next_us.is_none_or(|next_us| next_us == answer.next_us)
}

/// A small quota of this kind; where time goes to and fro, no state of it is over within the trace.
fn quota(kind: u64, time: Time, random: &mut Random) -> ModelQuota {
    let limit = random.between(1, 5);
    let window_us = match time {
        Time::ToAndFro => 30 * DAY,
        Time::Forward => *random.pick(&[SECOND, 60 * SECOND, HOUR, 7 * HOUR]),
    };
    match kind {
        0 => ModelQuota::Bucket {
            units: limit,
            per_us: window_us,
            burst: limit,
        },
        1 | 2 => ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch: kind == 1,
        },
        3 => ModelQuota::SlidingCounter { limit, window_us },
        4 => ModelQuota::SlidingLog { limit, window_us },
        5 => ModelQuota::Concurrency {
            limit,
            lease_us: window_us,
        },
        _ => ModelQuota::Ticket { ttl_us: window_us },
    }
}
