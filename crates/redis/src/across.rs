//! A plan whose keys lie in several slots of a cluster: no script can decide it in one step.
//!
//! All its parts are tried first, and nothing is written. When all pass, they are charged; when one
//! denies all the same, because somebody was faster, the others are given back. So a concurrent request
//! may be refused meanwhile, and whoever dies in between leaves a charge, never an extra admission.
//! Tickets are charged before anything else: who settles a reservation second does nothing.

use std::collections::HashSet;
use std::sync::Arc;

use jeton_core::{Act, Answers, Cost, Decision, Fit, Kind, StoreError, Verdict, When, Written};

use crate::reply::{self, BAD_ANSWER, Told};
use crate::request::{Request, Stance};
use crate::servers::Servers;
use crate::slots::slot_of;

/// Ops of one slot.
struct Part {
    /// Their numbers in the plan.
    numbers: Vec<usize>,
    request: Request,
    has_ticket: bool,
}

/// Decides a plan part by part and appends its answer to `out`.
pub(crate) async fn decide(
    servers: &Servers,
    request: &Request,
    when: When,
    out: &mut Answers,
) -> Result<(), StoreError> {
    let parts = parts(request);
    let mut decisions: Vec<Option<Decision>> = vec![None; request.packed.len()];
    if parts.len() > 1 {
        ask(servers, &parts, Stance::Try, when, &mut decisions)
            .await
            .error
            .map_or(Ok(()), Err)?;
        if !verdict(request, &decisions)?.0.allowed {
            let said = ask(servers, &parts, Stance::Denied, when, &mut decisions).await;
            said.error.map_or(Ok(()), Err)?;
            // What denied may have been given back meanwhile: then nobody denies any more.
            if !verdict(request, &decisions)?.0.allowed {
                return answer(request, &decisions, out);
            }
        }
    }
    let (tickets, others) = parts.split_at(parts.partition_point(|part| part.has_ticket));
    let mut charged = Vec::new();
    for (stage, left) in [(tickets, others), (others, &[][..])] {
        let said = ask(servers, stage, Stance::Decide, when, &mut decisions).await;
        charged.extend(said.passed);
        if let Some(error) = said.error {
            give_back(servers, &charged, &mut decisions, when).await;
            let written = if charged.is_empty() {
                error.written
            } else {
                Written::Unknown
            };
            return Err(StoreError { written, ..error });
        }
        if said.denied {
            give_back(servers, &charged, &mut decisions, when).await;
            ask(servers, left, Stance::Denied, when, &mut decisions)
                .await
                .error
                .map_or(Ok(()), Err)?;
            break;
        }
    }
    answer(request, &decisions, out)
}

/// The numbers of requests in rows: those that share a key, directly or through others, stand in one.
pub(crate) fn rows(requests: &[Arc<Request>]) -> Vec<Vec<usize>> {
    let mut rows: Vec<(HashSet<&[u8]>, Vec<usize>)> = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let keys: HashSet<&[u8]> = request
            .packed
            .iter()
            .map(|packed| packed.key.as_slice())
            .collect();
        let joins = |row: &mut (HashSet<&[u8]>, Vec<usize>)| !row.0.is_disjoint(&keys);
        let joined: Vec<_> = rows.extract_if(.., joins).collect();
        let mut row = (keys, vec![number]);
        for (keys, numbers) in joined {
            row.0.extend(keys);
            row.1.extend(numbers);
        }
        row.1.sort_unstable();
        rows.push(row);
    }
    rows.into_iter().map(|(_, numbers)| numbers).collect()
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
    let part = |(_, numbers): (u16, Vec<usize>)| {
        let request = request.pick(&numbers);
        let has_ticket = request.quotas().any(|quota| quota.kind() == Kind::Ticket);
        Part {
            numbers,
            request,
            has_ticket,
        }
    };
    let mut parts: Vec<Part> = slots.into_iter().map(part).collect();
    parts.sort_by_key(|part| !part.has_ticket);
    parts
}

/// What several parts said.
#[derive(Default)]
struct Said<'a> {
    passed: Vec<&'a Part>,
    denied: bool,
    error: Option<StoreError>,
}

/// Asks parts, all at once.
async fn ask<'a>(
    servers: &Servers,
    parts: &'a [Part],
    stance: Stance,
    when: When,
    decisions: &mut [Option<Decision>],
) -> Said<'a> {
    let send = |part: &'a Part| {
        let request = Arc::new(part.request.with_stance(stance));
        (part, Arc::clone(&request), servers.send(request, when))
    };
    let asked: Vec<_> = parts.iter().map(send).collect();
    let mut said = Said::default();
    for (part, request, told) in asked {
        match explain(&request, told.await.unwrap_or(Err(BAD_ANSWER))) {
            Ok((verdict, told)) => {
                place(part, &told, decisions);
                if verdict.allowed {
                    said.passed.push(part);
                }
                said.denied |= !verdict.allowed;
            }
            Err(error) => said.error = Some(error),
        }
    }
    said
}

fn explain(
    request: &Request,
    told: Result<Told, StoreError>,
) -> Result<(Verdict, Vec<Decision>), StoreError> {
    let mut out = Answers::new();
    reply::explain(request, &told?, &mut out)?;
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

/// Gives back what these parts have charged. They answer as ops that passed in a plan that was denied:
/// nothing is charged, and the state is shown as it is. What cannot be given back stays charged.
async fn give_back(
    servers: &Servers,
    charged: &[&Part],
    decisions: &mut [Option<Decision>],
    when: When,
) {
    for part in charged {
        let of = |number: &usize| decisions.get(*number).copied().flatten();
        let before: Vec<Option<Decision>> = part.numbers.iter().map(of).collect();
        let mut each = before.iter().copied();
        let undo = part
            .request
            .with_acts(|act, kind| undo(act, kind, each.next().flatten()));
        let undo = Arc::new(undo);
        let told = servers
            .send(Arc::clone(&undo), when)
            .await
            .unwrap_or(Err(BAD_ANSWER));
        if let Ok((_, told)) = explain(&undo, told) {
            let as_before = |(told, before): (&Decision, &Option<Decision>)| Decision {
                fit: before.map_or(Fit::Allowed, |before| before.fit),
                ..*told
            };
            let told: Vec<Decision> = told.iter().zip(&before).map(as_before).collect();
            place(part, &told, decisions);
        }
    }
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

fn verdict(
    request: &Request,
    decisions: &[Option<Decision>],
) -> Result<(Verdict, Vec<Decision>), StoreError> {
    let decisions: Option<Vec<Decision>> = decisions.iter().copied().collect();
    let decisions = decisions.ok_or(BAD_ANSWER)?;
    let votes = request
        .modes()
        .zip(decisions.iter().map(|decision| decision.fit));
    Ok((Verdict::of(votes), decisions))
}

fn answer(
    request: &Request,
    decisions: &[Option<Decision>],
    out: &mut Answers,
) -> Result<(), StoreError> {
    let (verdict, decisions) = verdict(request, decisions)?;
    out.push(verdict, &decisions);
    Ok(())
}
