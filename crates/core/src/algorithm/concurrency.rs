//! Concurrency: units in flight, each held by somebody until it is given back or its lease ends.
//!
//! Every holder has an entry: the end of its lease, its units, and the id by which its receipt
//! finds it again. Entries stand in no order, and one that is over is replaced by the next holder,
//! so that there are never more of them than there were holders at once. A decision looks at all of
//! them: it takes time in proportion to the holders, not to the limit.
//!
//! Ends are raw time as in a log: a clock that steps back moves all of them with one write. There is
//! no debt, and nobody can say when a holder is done: the wait of a denial is advice.

use crate::quota::Concurrency;
use crate::{
    Act, Cell, Cost, Decision, Edit, Entry, Fit, Micros, Outcome, Receipt, Span, TailEdit, View,
};

/// The wait that a denial advises.
const ADVICE: Span = Span::SECOND;

/// Ids more than this ahead of another count as behind it.
const HALF: u32 = 1 << 31;

/// What some holders have in hand, and when the first and the last lease of theirs ends.
#[derive(Clone, Copy)]
struct Held {
    units: u64,
    first: u64,
    last: u64,
}

impl Held {
    const NOTHING: Self = Self {
        units: 0,
        first: u64::MAX,
        last: 0,
    };

    fn and(self, entry: &Entry) -> Self {
        Self {
            units: self.units + u64::from(entry.cost),
            first: self.first.min(entry.stamp),
            last: self.last.max(entry.stamp),
        }
    }

    fn by<'a>(entries: impl Iterator<Item = &'a Entry>) -> Self {
        entries.fold(Self::NOTHING, Self::and)
    }
}

struct State<'a> {
    now: Micros,
    rewound: bool,
    /// `now` in the raw time of the ends.
    raw: u64,
    tail: &'a [Entry],
    held: Held,
}

impl<'a> State<'a> {
    fn load(view: View<'a>, now: Micros) -> Self {
        let (seen, raw) = match view.cell {
            Some(Cell {
                at,
                words: [low, high, _],
            }) => (at, Cell::wide(low, high)),
            None => (now, now.get()),
        };
        let raw = raw.saturating_add(now.since(seen).as_micros());
        let held = Held::by(view.tail.iter().filter(|e| e.stamp > raw));
        // With nobody left it starts over, and raw time is real time again.
        let idle = held.units == 0;
        Self {
            now,
            rewound: !idle && now < seen,
            raw: if idle { now.get() } else { raw },
            tail: if idle { &[] } else { view.tail },
            held,
        }
    }

    fn live(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        let (tail, raw) = (self.tail, self.raw);
        tail.iter().enumerate().filter(move |(_, e)| e.stamp > raw)
    }

    fn find(&self, receipt: &Receipt) -> Option<(usize, Entry)> {
        if receipt.cost == 0 {
            return None;
        }
        let mut live = self.live();
        live.find(|(_, e)| e.sum == receipt.part)
            .map(|(i, e)| (i, *e))
    }

    /// The low half of now, or, if somebody has that, what follows the furthest one ahead of it.
    #[allow(clippy::cast_possible_truncation)] // the low half is meant
    fn free_id(&self) -> u32 {
        let mut id = self.now.get() as u32;
        while self.live().any(|(_, e)| e.sum == id) {
            let ahead = |(_, e): (usize, &Entry)| e.sum.wrapping_sub(id);
            let furthest = self.live().map(ahead).filter(|far| *far < HALF).max();
            id = id.wrapping_add(furthest.unwrap_or(0)).wrapping_add(1);
        }
        id
    }

    /// The state once `held` is what is in hand.
    fn put(&self, held: Held, tail: TailEdit) -> Edit {
        if held.units == 0 {
            return Edit::Erase;
        }
        let (low, high) = Cell::split(self.raw);
        Edit::Put {
            cell: Cell {
                at: self.now,
                words: [low, high, 0],
            },
            until: self.now.saturating_add(self.until(held.last)),
            tail,
        }
    }

    fn until(&self, raw: u64) -> Span {
        Span(raw.saturating_sub(self.raw))
    }
}

pub(super) fn decide(quota: Concurrency, view: View<'_>, act: &Act, now: Micros) -> Outcome {
    let s = State::load(view, now);
    match *act {
        Act::Hold { cost } if cost != Cost::ZERO => quota.hold(&s, cost.get(), view.tail.len()),
        Act::Take { cost } if cost != Cost::ZERO => quota.kept(&s, Fit::Impossible),
        Act::Take { cost } | Act::Hold { cost } | Act::Peek { cost } => {
            quota.kept(&s, quota.fit(&s, cost.get()))
        }
        Act::Settle {
            receipt, actual, ..
        } => quota.settle(&s, &receipt, actual.get()),
        Act::Renew { receipt } => quota.renew(&s, &receipt),
        Act::Give { .. } => quota.kept(&s, Fit::Settled { actual: 0 }),
        Act::Reset => {
            let absent = State::load(View::ABSENT, now);
            Outcome {
                edit: Edit::Erase,
                ..quota.kept(&absent, Fit::Settled { actual: 0 })
            }
        }
    }
}

pub(super) fn reanchor(view: View<'_>, now: Micros) -> Edit {
    let s = State::load(view, now);
    if s.rewound {
        s.put(s.held, TailEdit::None)
    } else {
        Edit::Keep
    }
}

impl Concurrency {
    fn room(self, held: Held) -> Option<u32> {
        let used = u32::try_from(held.units).ok()?;
        self.limit.checked_sub(used)
    }

    fn fit(self, s: &State<'_>, cost: u32) -> Fit {
        match self.room(s.held) {
            _ if cost > self.limit => Fit::Impossible,
            Some(room) if cost <= room => Fit::Allowed,
            _ => Fit::Denied {
                retry_after: ADVICE,
            },
        }
    }

    /// Lets somebody in: in the place of one whose lease is over, if there is one.
    fn hold(self, s: &State<'_>, cost: u32, stored: usize) -> Outcome {
        let fit = self.fit(s, cost);
        if fit != Fit::Allowed {
            let rewound = s.rewound && fit != Fit::Impossible;
            return Outcome {
                edit: if rewound {
                    s.put(s.held, TailEdit::None)
                } else {
                    Edit::Keep
                },
                ..self.kept(s, fit)
            };
        }
        let entry = Entry {
            stamp: s.raw.saturating_add(self.lease.as_micros()),
            sum: s.free_id(),
            cost,
        };
        let over = s.tail.iter().position(|e| e.stamp <= s.raw);
        let tail = match over {
            Some(index) => TailEdit::Set {
                index: number(index),
                entry,
            },
            None => TailEdit::Splice {
                drop_front: number(stored - s.tail.len()),
                keep: number(stored),
                append: [Some(entry), None],
            },
        };
        let held = s.held.and(&entry);
        let receipt = Receipt {
            cost,
            part: entry.sum,
            at: s.now,
            mark: Micros::stored(entry.stamp),
        };
        Outcome {
            decision: Decision {
                receipt,
                ..self.answer(s, held, fit)
            },
            edit: s.put(held, tail),
        }
    }

    /// Lowers a holder to `actual`, never raises it. Who is gone has given everything back.
    fn settle(self, s: &State<'_>, receipt: &Receipt, actual: u32) -> Outcome {
        let Some((index, entry)) = s.find(receipt) else {
            return self.kept(s, Fit::Settled { actual: 0 });
        };
        if actual >= entry.cost {
            return self.kept(s, Fit::Settled { actual: entry.cost });
        }
        let lowered = Entry {
            cost: actual,
            ..entry
        };
        let fit = Fit::Settled { actual };
        self.replace(s, index, Some(lowered).filter(|e| e.cost > 0), fit)
    }

    /// Starts the lease of a holder anew.
    fn renew(self, s: &State<'_>, receipt: &Receipt) -> Outcome {
        let Some((index, entry)) = s.find(receipt) else {
            return self.kept(s, Fit::Unknown);
        };
        let stamp = s.raw.saturating_add(self.lease.as_micros());
        let fit = Fit::Settled { actual: entry.cost };
        self.replace(s, index, Some(Entry { stamp, ..entry }), fit)
    }

    fn replace(self, s: &State<'_>, index: usize, by: Option<Entry>, fit: Fit) -> Outcome {
        let others = s.live().filter(|(i, _)| *i != index).map(|(_, e)| e);
        let held = Held::by(others.chain(by.as_ref()));
        let index = number(index);
        let tail = match by {
            Some(entry) => TailEdit::Set { index, entry },
            None => TailEdit::Remove { index },
        };
        Outcome {
            decision: self.answer(s, held, fit),
            edit: s.put(held, tail),
        }
    }

    fn kept(self, s: &State<'_>, fit: Fit) -> Outcome {
        Outcome {
            decision: self.answer(s, s.held, fit),
            edit: Edit::Keep,
        }
    }

    fn answer(self, s: &State<'_>, held: Held, fit: Fit) -> Decision {
        let left = if held.units == 0 {
            Span::ZERO
        } else {
            s.until(held.first)
        };
        Decision {
            fit,
            limit: self.limit,
            remaining: self.room(held).unwrap_or(0),
            reset_after: left,
            next_after: left,
            at: s.now,
            receipt: Receipt {
                cost: 0,
                part: 0,
                at: s.now,
                mark: s.now,
            },
            approximate: false,
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
