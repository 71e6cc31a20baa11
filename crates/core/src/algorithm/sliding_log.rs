//! Sliding-window log: every charge keeps its stamp and leaves exactly one window later.
//!
//! A stamp s counts while now - W < s <= now. Entries carry running sums, so that a decision is a
//! binary search and leaving needs no write. Units above the limit (a settle can cost more than was
//! held) are debt: one entry stamped a window later, always the last, counted from the start.

use super::{Algorithm, Levels, room_and_debt};
use crate::quota::SlidingLog;
use crate::{Cell, Edit, Entry, Micros, Receipt, Span, TailEdit, View};

pub(super) struct State<'a> {
    now: Micros,
    rewound: bool,
    /// `now` in the raw time of the stamps.
    raw: u64,
    /// Entries still in force.
    live: &'a [Entry],
    /// Entries before them.
    gone: usize,
    /// The running sum before the first in force.
    base: u32,
    used: u32,
    tail: TailEdit,
    /// The last stamp once `tail` is applied.
    last: u64,
    /// When the first unit leaves once `tail` is applied; none if nothing is in force.
    oldest: Option<u64>,
}

impl State<'_> {
    /// The debt whose stamp still lies ahead.
    fn debt(&self) -> Option<&Entry> {
        self.live.last().filter(|entry| entry.stamp > self.raw)
    }

    fn index(&self, live: usize) -> u32 {
        u32::try_from(self.gone + live).unwrap_or(u32::MAX)
    }

    /// The stamp of the entry with which `units` units have left.
    fn stamp_of(&self, units: u32) -> Option<u64> {
        let i = first_not(self.live, |e| e.sum.wrapping_sub(self.base) < units);
        self.live.get(i).map(|e| e.stamp)
    }

    /// Appends `units` at now, before a debt of `debt` units stamped `debt_stamp`.
    fn append(&mut self, units: u32, debt: u32, debt_stamp: u64) {
        let plain = self.live.len() - usize::from(self.debt().is_some());
        let same = plain
            .checked_sub(1)
            .and_then(|i| self.live.get(i))
            .filter(|e| e.stamp == self.raw);
        let keep = plain - usize::from(same.is_some());
        let before = match keep.checked_sub(1).and_then(|i| self.live.get(i)) {
            Some(entry) => entry.sum,
            None => self.base,
        };
        let cost = units + same.map_or(0, |e| e.cost);
        let sum = before.wrapping_add(cost);
        let plain = (cost > 0).then_some(Entry {
            stamp: self.raw,
            sum,
            cost,
        });
        let owed = (debt > 0).then_some(Entry {
            stamp: debt_stamp,
            sum: sum.wrapping_add(debt),
            cost: debt,
        });
        self.tail = TailEdit::Splice {
            drop_front: self.index(0),
            keep: self.index(keep),
            append: [plain, owed],
        };
        let newest = owed.or(plain).map_or(self.raw, |e| e.stamp);
        // A debt is written anew, and a charge at now leaves before it.
        let charged = self.oldest.filter(|stamp| *stamp <= self.raw);
        self.oldest = charged.or(plain.or(owed).map(|e| e.stamp));
        self.last = newest;
    }
}

/// The index of the first entry for which this no longer holds. A search by halves would first read from
/// the middle, memory that nothing else asks for; most often the very first entry is the one.
#[inline]
fn first_not(entries: &[Entry], holds: impl Fn(&Entry) -> bool) -> usize {
    let holds = |entry: &Entry| {
        #[cfg(test)]
        tests::LOOKS.with(|looks| looks.set(looks.get() + 1));
        holds(entry)
    };
    match entries.first() {
        Some(first) if holds(first) => entries.partition_point(holds),
        _ => 0,
    }
}

impl SlidingLog {
    fn leaves(&self, stamp: u64, s: &State<'_>) -> Span {
        Span(
            stamp
                .saturating_add(self.window.as_micros())
                .saturating_sub(s.raw),
        )
    }
}

impl Algorithm for SlidingLog {
    type State<'a> = State<'a>;

    #[inline]
    fn limit(&self) -> u32 {
        self.limit
    }

    #[inline]
    fn load<'a>(&self, view: View<'a>, now: Micros) -> State<'a> {
        let (seen, raw) = match view.cell {
            Some(Cell {
                at,
                words: [low, high, _],
            }) => (at, Cell::wide(low, high)),
            None => (now, now.get()),
        };
        let raw = raw.saturating_add(now.since(seen).as_micros());
        let w = self.window.as_micros();
        let gone = first_not(view.tail, |e| e.stamp.saturating_add(w) <= raw);
        let live = view.tail.get(gone..).unwrap_or_default();
        let base = live.first().map_or(0, Entry::base);
        let used = live.last().map_or(0, |e| e.sum.wrapping_sub(base));
        // With nothing in force the log starts over, and raw time is real time again.
        let raw = if used == 0 { now.get() } else { raw };
        let mut s = State {
            now,
            rewound: used > 0 && now < seen,
            raw,
            live: if used == 0 { &[] } else { live },
            gone,
            base,
            used,
            tail: TailEdit::None,
            last: live.last().map_or(raw, |e| e.stamp),
            oldest: None,
        };
        s.oldest = s.stamp_of(1);
        s
    }

    #[inline]
    fn rewound(s: &State<'_>) -> bool {
        s.rewound
    }

    #[inline]
    fn room(&self, s: &State<'_>) -> Option<u32> {
        self.limit.checked_sub(s.used)
    }

    #[inline]
    fn wait_for(&self, s: &State<'_>, cost: u32) -> Span {
        let excess = s.used + cost - self.limit;
        s.stamp_of(excess)
            .map_or(Span::ZERO, |stamp| self.leaves(stamp, s))
    }

    #[inline]
    fn charge(&self, s: &mut State<'_>, cost: u32) {
        let (debt, stamp) = s.debt().map_or((0, 0), |e| (e.cost, e.stamp));
        s.append(cost, debt, stamp);
        s.used += cost;
    }

    fn give(&self, s: &mut State<'_>, units: u32) -> u32 {
        let given = units.min(s.used);
        if given == 0 {
            return 0;
        }
        s.used -= given;
        // The newest go first: what stays is everything up to the unit numbered `used`.
        let i = first_not(s.live, |e| e.sum.wrapping_sub(s.base) <= s.used);
        let before = match i.checked_sub(1).and_then(|i| s.live.get(i)) {
            Some(entry) => entry.sum,
            None => s.base,
        };
        let stays = s.base.wrapping_add(s.used).wrapping_sub(before);
        let part = s.live.get(i).filter(|_| stays > 0).map(|e| Entry {
            stamp: e.stamp,
            sum: before.wrapping_add(stays),
            cost: stays,
        });
        s.last = part
            .as_ref()
            .or(i.checked_sub(1).and_then(|i| s.live.get(i)))
            .map_or(s.raw, |e| e.stamp);
        s.tail = TailEdit::Splice {
            drop_front: s.index(0),
            keep: s.index(i),
            append: [part, None],
        };
        if s.used == 0 {
            s.oldest = None;
        }
        given
    }

    fn lower(&self, s: &mut State<'_>, receipt: &Receipt, units: u32) -> u32 {
        // The latest stamp that the mark can stand for.
        let ago = s.raw.wrapping_sub(receipt.mark.get()) % Micros::HORIZON.get();
        let Some(named) = s.raw.checked_sub(ago) else {
            return 0;
        };
        let i = first_not(s.live, |e| e.stamp < named);
        let found = s.live.get(i).filter(|e| e.stamp == named);
        let given = found.map_or(0, |e| units.min(e.cost));
        if given == 0 {
            return 0;
        }
        s.tail = TailEdit::Lower {
            index: s.index(i),
            units: given,
        };
        s.used -= given;
        // If the oldest is emptied, the next one with units is the oldest.
        let emptied = s.oldest == Some(named) && s.live.get(i).is_some_and(|e| e.cost == given);
        if emptied {
            s.oldest = s.stamp_of(given + 1);
        }
        given
    }

    fn raise(&self, s: &mut State<'_>, units: u32, most_debt: u32) -> u32 {
        let (old_debt, stamp) = s.debt().map_or((0, 0), |e| (e.cost, e.stamp));
        let (plain, debt) = room_and_debt(units, self.room(s), old_debt, most_debt);
        let stamp = if debt > 0 {
            s.raw + self.window.as_micros()
        } else {
            stamp
        };
        s.append(plain, old_debt + debt, stamp);
        s.used += plain + debt;
        plain + debt
    }

    #[inline]
    fn levels(&self, s: &State<'_>) -> Levels {
        let wait = s.oldest.map_or(Span::ZERO, |stamp| self.leaves(stamp, s));
        Levels {
            reset_after: wait,
            next_after: wait,
            // A clock that goes to and fro by decades takes raw time past the horizon.
            mark: Micros::stored(s.raw % Micros::HORIZON.get()),
            part: 0,
        }
    }

    #[inline]
    fn edit(&self, s: &State<'_>) -> Edit {
        if s.used == 0 {
            return Edit::Erase;
        }
        let (low, high) = Cell::split(s.raw);
        Edit::Put {
            cell: Cell {
                at: s.now,
                words: [low, high, 0],
            },
            until: s.now.saturating_add(self.leaves(s.last, s)),
            tail: s.tail,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counter;
    use std::vec::Vec;

    use crate::{Act, Cell, Cost, Edit, Entry, Fit, Micros, Quota, Span, View};

    std::thread_local! {
        /// Entries that were looked at.
        pub(super) static LOOKS: Counter<u32> = const { Counter::new(0) };
    }

    /// A log of `limit` charges of one unit.
    fn full(limit: u32) -> (Quota, Cell, Vec<Entry>) {
        let quota = Quota::sliding_log(u64::from(limit), Span::from_micros(1 << 36).unwrap());
        let quota = quota.unwrap();
        let (mut cell, mut tail) = (None, Vec::new());
        for us in 0..u64::from(limit) {
            let view = View { cell, tail: &tail };
            let act = Act::Take { cost: Cost::ONE };
            let outcome = quota.decide(view, &act, Micros::new(us));
            let Edit::Put {
                cell: now,
                tail: edit,
                ..
            } = outcome.edit
            else {
                panic!("there is room for {limit}")
            };
            cell = Some(now);
            edit.apply(&mut tail);
        }
        assert_eq!(tail.len(), limit as usize);
        (quota, cell.unwrap(), tail)
    }

    /// The most entries of a full log that one act looks at.
    fn most_looks(limit: u32) -> u32 {
        let (quota, cell, tail) = full(limit);
        let view = View {
            cell: Some(cell),
            tail: &tail,
        };
        let receipt = |us| {
            let mark = Micros::new(us);
            crate::Receipt {
                cost: 1,
                part: 0,
                at: mark,
                mark,
            }
        };
        let some = [1, 2, limit / 3, limit - 1, limit];
        let costs = || some.map(|units| Cost::new(u64::from(units))).into_iter();
        let mut acts: Vec<Act> = costs().map(|cost| Act::Take { cost }).collect();
        acts.extend(costs().map(|cost| Act::Peek { cost }));
        acts.extend(costs().map(|units| Act::Give { units }));
        acts.extend(some.map(|us| Act::Settle {
            receipt: receipt(u64::from(us)),
            actual: Cost::ZERO,
            max_debt: Cost::MAX,
        }));
        let mut most = 0;
        // All in force, some, and none.
        for us in [0, 1 << 35, (1 << 36) + u64::from(limit) / 2, 1 << 37] {
            for act in &acts {
                LOOKS.set(0);
                let outcome = quota.decide(view, act, Micros::new(us + u64::from(limit)));
                assert!(
                    us > 0
                        || !matches!(act, Act::Take { .. })
                        || outcome.decision.fit != Fit::Allowed
                );
                most = most.max(LOOKS.get());
            }
        }
        most
    }

    #[test]
    fn f56_a_check_looks_at_a_handful_of_entries_at_70_and_at_70_000() {
        let (few, many) = (most_looks(70), most_looks(70_000));
        // The case allows three times the cost for a thousand times the entries.
        assert!(few >= 7 && many <= 3 * few, "{few} at 70, {many} at 70 000");
    }
}
