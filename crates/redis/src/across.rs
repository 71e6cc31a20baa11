//! A plan whose keys lie in several slots of a cluster: no script can decide it in one step.
//!
//! Its parts are charged one after the other. When one denies, those before it are given back and
//! those after it are only looked at. So a concurrent request may be refused meanwhile, and whoever
//! dies in between leaves a charge, never an extra admission. Tickets go first: a reservation that was
//! settled already stops its plan before anything else is done.

use std::sync::Arc;

use jeton_core::{Act, Answers, Cost, Decision, Fit, Kind, StoreError, Verdict, When, Written};

use crate::reply::{self, BAD_ANSWER};
use crate::request::Request;
use crate::servers::Servers;
use crate::slots::slot_of;

/// Ops of one slot.
struct Part {
    /// Their numbers in the plan.
    numbers: Vec<usize>,
    request: Arc<Request>,
}

/// Decides a plan part by part and appends its answer to `out`.
pub(crate) async fn decide(
    servers: &Servers,
    request: &Request,
    when: When,
    out: &mut Answers,
) -> Result<(), StoreError> {
    let mut decisions: Vec<Option<Decision>> = vec![None; request.packed.len()];
    let mut charged: Vec<Part> = Vec::new();
    let mut parts = parts(request).into_iter();
    for part in parts.by_ref() {
        let answer = ask(servers, &part.request, when).await;
        let Ok((verdict, told)) = answer else {
            let written = give_back(servers, charged, &mut decisions, when).await;
            let error = answer.err().unwrap_or(BAD_ANSWER);
            return Err(StoreError {
                written: if written {
                    Written::Unknown
                } else {
                    error.written
                },
                ..error
            });
        };
        place(&part, &told, &mut decisions);
        if !verdict.allowed {
            give_back(servers, charged, &mut decisions, when).await;
            for part in parts.by_ref() {
                let look = Arc::new(part.request.with_acts(|act, _| look(act)));
                let (_, told) = ask(servers, &look, when).await?;
                place(&part, &told, &mut decisions);
            }
            return answer_all(request, decisions, out);
        }
        charged.push(part);
    }
    answer_all(request, decisions, out)
}

fn parts(request: &Request) -> Vec<Part> {
    let mut slots: Vec<(u16, Vec<usize>)> = Vec::new();
    for (number, packed) in request.packed.iter().enumerate() {
        let slot = slot_of(&packed.key);
        match slots.iter_mut().find(|(other, _)| *other == slot) {
            Some((_, numbers)) => numbers.push(number),
            None => slots.push((slot, vec![number])),
        }
    }
    let mut parts: Vec<Part> = slots
        .into_iter()
        .map(|(_, numbers)| Part {
            request: Arc::new(request.pick(&numbers)),
            numbers,
        })
        .collect();
    parts.sort_by_key(|part| {
        part.request
            .quotas()
            .all(|quota| quota.kind() != Kind::Ticket)
    });
    parts
}

async fn ask(
    servers: &Servers,
    request: &Arc<Request>,
    when: When,
) -> Result<(Verdict, Vec<Decision>), StoreError> {
    let told = servers
        .send(Arc::clone(request), when)
        .await
        .unwrap_or(Err(BAD_ANSWER))?;
    let mut out = Answers::new();
    reply::explain(request, &told, &mut out)?;
    let (verdict, decisions) = out.plan(0);
    Ok((verdict?, decisions.to_vec()))
}

fn place(part: &Part, told: &[Decision], decisions: &mut [Option<Decision>]) {
    for (number, decision) in part.numbers.iter().zip(told) {
        if let Some(place) = decisions.get_mut(*number) {
            *place = Some(*decision);
        }
    }
}

/// Gives back what these parts have charged; whether there was anything. They answer as ops that
/// passed in a plan that was denied: nothing is charged, and the state is shown as it is.
async fn give_back(
    servers: &Servers,
    charged: Vec<Part>,
    decisions: &mut [Option<Decision>],
    when: When,
) -> bool {
    let any = !charged.is_empty();
    for part in charged {
        let fits: Vec<Option<Decision>> = part
            .numbers
            .iter()
            .map(|number| decisions.get(*number).copied().flatten())
            .collect();
        let mut of = fits.iter();
        let undo = part
            .request
            .with_acts(|act, kind| undo(act, kind, of.next().copied().flatten()));
        // What cannot be given back stays charged.
        if let Ok((_, told)) = ask(servers, &Arc::new(undo), when).await {
            let as_before = |(told, before): (&Decision, &Option<Decision>)| Decision {
                fit: before.map_or(Fit::Allowed, |before| before.fit),
                ..*told
            };
            let told: Vec<Decision> = told.iter().zip(&fits).map(as_before).collect();
            place(&part, &told, decisions);
        }
    }
    any
}

/// What takes a charge back.
fn undo(act: &Act, kind: Kind, charged: Option<Decision>) -> Act {
    match (act, charged) {
        (Act::Take { .. } | Act::Hold { .. }, Some(Decision { receipt, .. }))
            if receipt.cost > 0 =>
        {
            if kind == Kind::Ticket {
                return Act::Reset;
            }
            Act::Settle {
                receipt,
                actual: Cost::ZERO,
                max_debt: Cost::ZERO,
            }
        }
        _ => Act::Peek { cost: Cost::ZERO },
    }
}

/// The same question without a charge.
fn look(act: &Act) -> Act {
    match *act {
        Act::Take { cost } | Act::Hold { cost } | Act::Peek { cost } => Act::Peek { cost },
        _ => Act::Peek { cost: Cost::ZERO },
    }
}

fn answer_all(
    request: &Request,
    decisions: Vec<Option<Decision>>,
    out: &mut Answers,
) -> Result<(), StoreError> {
    let decisions: Option<Vec<Decision>> = decisions.into_iter().collect();
    let decisions = decisions.ok_or(BAD_ANSWER)?;
    let votes = request
        .modes()
        .zip(decisions.iter().map(|decision| decision.fit));
    out.push(Verdict::of(votes), &decisions);
    Ok(())
}
