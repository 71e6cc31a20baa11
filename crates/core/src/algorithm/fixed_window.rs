//! Fixed window: a count that starts over when its window ends.
//!
//! Exact in each window, and up to twice the limit around an edge. Units above the limit (a settle
//! can cost more than was held) are debt: they count in the windows that follow.

use super::{Algorithm, Levels, room_and_debt};
use crate::quota::{Anchor, FixedWindow};
use crate::{Cell, Edit, Micros, Receipt, Span, TailEdit, View};

pub(super) struct State {
    now: Micros,
    rewound: bool,
    end: u64,
    count: u32,
    debt: u32,
}

impl State {
    fn used(&self) -> u32 {
        self.count.saturating_add(self.debt)
    }
}

impl FixedWindow {
    /// The end of the window that a first charge at `now` would fall into.
    #[inline]
    fn fresh_end(&self, now: Micros) -> u64 {
        let (now, w) = (now.get(), self.window.as_micros());
        match self.anchor {
            Anchor::Epoch => now - now % w + w,
            Anchor::FirstRequest => now + w,
        }
    }

    /// Moves on to the window that holds `now`; each one passed pays off debt by one limit.
    #[inline]
    fn roll(&self, s: &mut State) {
        let now = s.now.get();
        if now < s.end {
            return;
        }
        let passed = (now - s.end) / self.window.as_micros();
        let paid = u64::from(self.limit).saturating_mul(passed);
        let debt = u32::try_from(u64::from(s.debt).saturating_sub(paid)).unwrap_or(0);
        s.count = debt.min(self.limit);
        s.debt = debt - s.count;
        s.end += (passed + 1) * self.window.as_micros();
    }

    /// A window stored ahead of now, or left by another quota, counts as the present one.
    #[inline]
    fn reanchor(&self, s: &mut State) {
        let fresh = self.fresh_end(s.now);
        if s.count == 0 && s.debt == 0 {
            s.end = fresh;
            return;
        }
        let ahead = s.end > s.now.get() + self.window.as_micros();
        // Another quota's end is not on this grid. Written as well, or the window would end there
        // for the next one who looks, before the wait that was stated is over.
        let off_grid = self.anchor == Anchor::Epoch && s.end != fresh;
        if ahead || off_grid {
            (s.end, s.rewound) = (fresh, true);
        }
    }

    /// The first instant at which debt and the count are down to `most` units, after the window
    /// that now runs.
    fn down_to(&self, s: &State, most: u32) -> u64 {
        let windows = u64::from(s.debt.saturating_sub(most).div_ceil(self.limit));
        s.end
            .saturating_add(windows.saturating_mul(self.window.as_micros()))
    }
}

impl Algorithm for FixedWindow {
    type State<'a> = State;

    #[inline]
    fn limit(&self) -> u32 {
        self.limit
    }

    #[inline]
    fn load(&self, view: View<'_>, now: Micros) -> State {
        let mut s = State {
            now,
            rewound: false,
            end: 0,
            count: 0,
            debt: 0,
        };
        if let Some(Cell {
            at,
            words: [count, debt, _],
        }) = view.cell
        {
            (s.end, s.count, s.debt) = (at.get(), count, debt);
            self.roll(&mut s);
        }
        self.reanchor(&mut s);
        s
    }

    #[inline]
    fn rewound(s: &State) -> bool {
        s.rewound
    }

    #[inline]
    fn room(&self, s: &State) -> Option<u32> {
        self.limit.checked_sub(s.used())
    }

    #[inline]
    fn wait_for(&self, s: &State, cost: u32) -> Span {
        Micros::stored(self.down_to(s, self.limit - cost)).since(s.now)
    }

    #[inline]
    fn charge(&self, s: &mut State, cost: u32) {
        s.count += cost;
    }

    fn give(&self, s: &mut State, units: u32) -> u32 {
        let debt = units.min(s.debt);
        let count = (units - debt).min(s.count);
        s.debt -= debt;
        s.count -= count;
        debt + count
    }

    fn lower(&self, s: &mut State, receipt: &Receipt, units: u32) -> u32 {
        if receipt.mark.get() == s.end {
            self.give(s, units)
        } else {
            0
        }
    }

    fn raise(&self, s: &mut State, units: u32, most_debt: u32) -> u32 {
        let (count, debt) = room_and_debt(units, self.room(s), s.debt, most_debt);
        s.count += count;
        s.debt += debt;
        count + debt
    }

    #[inline]
    fn levels(&self, s: &State) -> Levels {
        let end = Micros::stored(s.end);
        let left = if s.used() == 0 {
            Span::ZERO
        } else {
            end.since(s.now)
        };
        Levels {
            reset_after: left,
            next_after: left,
            mark: end,
            part: 0,
        }
    }

    #[inline]
    fn edit(&self, s: &State) -> Edit {
        if s.used() == 0 {
            return Edit::Erase;
        }
        Edit::Put {
            cell: Cell {
                at: Micros::stored(s.end),
                words: [s.count, s.debt, 0],
            },
            until: Micros::stored(self.down_to(s, 0)),
            tail: TailEdit::None,
        }
    }
}
