//! What the script answers, and how it is explained.
//!
//! The script decides and writes, and tells its verdict, the instant, and the states as they were. The
//! engine decides the same once more on those and gives what the script does not say: what remains,
//! the waits, the receipts. One explains, two must concur: a verdict that differs is an error and
//! never an answer.

use bytes::Bytes;
use jeton_core::{
    Answers, Cell, Cells, Decision, Edit, Entry, Fit, Kind, Micros, Plan, Quota, StoreError,
    StoreErrorKind, Verdict, View, Written, decide_all,
};

use crate::request::Request;
use crate::state::decode_told;

const DENIED: u8 = 0;
const ALLOWED: u8 = 1;
const BAD: u8 = 2;

/// What the script said of one plan.
#[derive(Debug)]
pub(crate) struct Told {
    now: Micros,
    answer: u8,
    /// How each op fits, and its old state.
    ops: Vec<(u8, Bytes)>,
}

/// Takes the reply to several plans apart, each of so many ops.
pub(crate) fn split(reply: Bytes, sizes: &[usize]) -> Option<Vec<Told>> {
    let mut rest = reply;
    let now = Micros::new(u64::from_le_bytes(
        take(&mut rest, 8)?.as_ref().try_into().ok()?,
    ));
    let mut told = Vec::with_capacity(sizes.len());
    for size in sizes {
        let (mut answer, mut ops) = (ALLOWED, Vec::with_capacity(*size));
        for _ in 0..*size {
            let head = take(&mut rest, 6)?;
            let (answered, rest_of_head) = head.split_first()?;
            let (fit, length) = rest_of_head.split_first()?;
            let length = u32::from_le_bytes(length.try_into().ok()?);
            answer = *answered;
            ops.push((*fit, take(&mut rest, length as usize)?));
        }
        told.push(Told { now, answer, ops });
    }
    rest.is_empty().then_some(told)
}

fn take(rest: &mut Bytes, bytes: usize) -> Option<Bytes> {
    (bytes <= rest.len()).then(|| rest.split_to(bytes))
}

/// Appends the answer to a plan to `out`.
pub(crate) fn explain(request: &Request, told: &Told, out: &mut Answers) -> Result<(), StoreError> {
    if told.answer == BAD {
        return Err(StoreError {
            kind: StoreErrorKind::BadState,
            written: Written::No,
        });
    }
    let kinds = request.quotas().map(Quota::kind);
    let states = kinds
        .zip(&told.ops)
        .map(|(kind, (_, bytes))| State::read(kind, bytes));
    let states: Option<Vec<State>> = states.collect();
    let mut cells = Replay(states.ok_or(BAD_ANSWER)?);
    let mut answers = Answers::new();
    let decide = |plan: Plan<'_>| decide_all(plan, &mut cells, told.now, &mut answers);
    request.with_plan(decide).map_err(|_| BAD_ANSWER)?;
    let (verdict, decisions) = answers.plan(0);
    let verdict = verdict?;
    let decisions = decisions.get(..told.ops.len()).unwrap_or_default();
    if !concur(told, &verdict, decisions) {
        return Err(BAD_ANSWER);
    }
    out.push(verdict, decisions);
    Ok(())
}

/// The script has decided, and written if it was to.
pub(crate) const BAD_ANSWER: StoreError = StoreError {
    kind: StoreErrorKind::BadAnswer,
    written: Written::Unknown,
};

fn concur(told: &Told, verdict: &Verdict, decisions: &[Decision]) -> bool {
    let expected = if verdict.allowed { ALLOWED } else { DENIED };
    let fits = decisions.iter().map(|decision| number(decision.fit));
    told.answer == expected && fits.eq(told.ops.iter().map(|(fit, _)| *fit))
}

/// How an op fits, as `algorithm.lua` numbers it.
const fn number(fit: Fit) -> u8 {
    match fit {
        Fit::Denied { .. } => 0,
        Fit::Allowed => 1,
        Fit::Impossible => 2,
        Fit::Settled { .. } => 3,
        Fit::Repeated { .. } => 4,
        Fit::Unknown => 5,
    }
}

#[derive(Default)]
struct State {
    cell: Option<Cell>,
    tail: Vec<Entry>,
}

impl State {
    fn read(kind: Kind, bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let (cell, tail) = decode_told(kind, bytes).ok()?;
        Some(Self {
            cell: Some(cell),
            tail,
        })
    }
}

/// The old states of one plan's ops.
struct Replay(Vec<State>);

impl Cells for Replay {
    fn view(&self, op: usize) -> View<'_> {
        self.0.get(op).map_or(View::ABSENT, |state| View {
            cell: state.cell,
            tail: &state.tail,
        })
    }

    fn apply(&mut self, op: usize, edit: Edit) {
        let Some(state) = self.0.get_mut(op) else {
            return;
        };
        match edit {
            Edit::Keep => {}
            Edit::Erase => *state = State::default(),
            Edit::Put { cell, tail, .. } => {
                state.cell = Some(cell);
                tail.apply(&mut state.tail);
            }
        }
    }
}
