//! Several acts, of which all are carried out or none: by definition, on whole models.
//!
//! Each act is judged on its own, by the states before the plan. If each of those with a vote
//! passes, every act that passes is carried out. Otherwise none is; what is told of one that would
//! have passed is the state as it is. One that denies and charges for it takes what is left.

use super::{Act, Answer, Model, ModelQuota, Verdict};

/// One act of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Under which quota.
    pub quota: ModelQuota,
    /// What is asked.
    pub act: Act,
    /// Whether it can stop the plan.
    pub votes: bool,
    /// Whether a denial of its own takes what is left.
    pub denial_charges: bool,
}

/// What is said of a plan as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanVerdict {
    /// All acts with a vote passed.
    pub allowed: bool,
    /// One of them never can.
    pub impossible: bool,
    /// The longest wait of theirs in microseconds, if there is something to wait for.
    pub retry_us: Option<u64>,
}

const fn passes(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Allowed | Verdict::Settled { .. } | Verdict::Done
    )
}

/// Does a plan on the models of its states, one for each act.
pub fn act(ops: &[Op], models: &mut [&mut Model], now_us: u64) -> (PlanVerdict, Vec<Answer>) {
    let judge = |(op, model): (&Op, &&mut Model)| {
        let judged = Model::clone(model).act(&op.quota, &op.act, now_us);
        judged.verdict
    };
    let judged: Vec<Verdict> = ops.iter().zip(models.iter()).map(judge).collect();
    let stops = |(op, verdict): (&Op, &Verdict)| op.votes && !passes(*verdict);
    let stopped = ops.iter().zip(&judged).any(stops);
    let mut answers = Vec::new();
    for ((op, model), verdict) in ops.iter().zip(models).zip(judged) {
        answers.push(if stopped && passes(verdict) {
            withheld(op, model, verdict, now_us)
        } else {
            let answer = model.act(&op.quota, &op.act, now_us);
            let drains = stopped && op.votes && op.denial_charges;
            if drains {
                drained(op, model, answer, now_us)
            } else {
                answer
            }
        });
    }
    (verdict(ops, &answers), answers)
}

fn withheld(op: &Op, model: &mut Model, verdict: Verdict, now_us: u64) -> Answer {
    let looks = matches!(
        op.act,
        Act::Peek { .. } | Act::Take { cost: 0 } | Act::Hold { cost: 0 }
    );
    if !looks {
        model.act(&op.quota, &Act::Notice, now_us);
    }
    let present = model.act(&op.quota, &Act::Peek { cost: 0 }, now_us);
    Answer { verdict, ..present }
}

fn drained(op: &Op, model: &mut Model, answer: Answer, now_us: u64) -> Answer {
    let (Act::Take { cost } | Act::Hold { cost }, Verdict::Denied { .. }, false) =
        (op.act, answer.verdict, op.quota.is_held())
    else {
        return answer;
    };
    let left = answer.remaining;
    if left > 0 {
        model.act(&op.quota, &Act::Take { cost: left }, now_us);
    }
    model.act(&op.quota, &Act::Peek { cost }, now_us)
}

fn verdict(ops: &[Op], answers: &[Answer]) -> PlanVerdict {
    let votes = ops.iter().zip(answers).filter(|(op, _)| op.votes);
    let votes: Vec<Verdict> = votes.map(|(_, answer)| answer.verdict).collect();
    let any = |test: fn(&Verdict) -> bool| votes.iter().any(test);
    let allowed = !any(|&verdict| !passes(verdict));
    let moot = any(|verdict| matches!(verdict, Verdict::Repeated { .. } | Verdict::Unknown));
    let impossible = any(|verdict| *verdict == Verdict::Impossible) && !moot;
    let waits = votes.iter().map(|verdict| match verdict {
        Verdict::Denied { retry_us } => *retry_us,
        _ => 0,
    });
    let longest = waits.max().unwrap_or(0);
    PlanVerdict {
        allowed,
        impossible,
        retry_us: (!allowed && !impossible && !moot).then_some(longest),
    }
}
