//! Sliding-window counter: this window's count plus the previous one's, weighted by how much of it
//! still overlaps.
//!
//! The weighted count is compared as a fraction and never rounded, so a decision is exact by its
//! own definition. Against a log it errs both ways: fewer than twice the limit can pass in the
//! length of one window.

use super::{Algorithm, Levels, room_and_debt};
use crate::quota::SlidingCounter;
use crate::{Cell, Edit, Micros, Receipt, Span, TailEdit, View};

pub(super) struct State {
    now: Micros,
    rewound: bool,
    start: u64,
    prev: u32,
    cur: u32,
    debt: u32,
    /// What the previous window still weighs, rounded up; only ever added to whole units.
    carried: u32,
}

impl State {
    fn used(&self) -> u32 {
        self.carried
            .saturating_add(self.cur)
            .saturating_add(self.debt)
    }
}

/// ceil(a * b / c)
#[inline]
fn mul_div_ceil(a: u32, b: u64, c: u64) -> u64 {
    if let Some(product) = u64::from(a).checked_mul(b) {
        product.div_ceil(c)
    } else {
        let wide = (u128::from(a) * u128::from(b)).div_ceil(u128::from(c));
        u64::try_from(wide).unwrap_or(u64::MAX)
    }
}

impl SlidingCounter {
    /// Brings the state to the window that holds `now`: each one passed makes the current count
    /// the previous one and pays off debt by one limit.
    #[inline]
    fn roll(&self, s: &mut State) {
        let elapsed = s.now.get() - s.start;
        if elapsed < self.window.as_micros() {
            return;
        }
        let passed = elapsed / self.window.as_micros();
        if passed == 1 {
            s.prev = s.cur;
        } else {
            let paid = u64::from(self.limit).saturating_mul(passed - 2);
            s.debt = u32::try_from(u64::from(s.debt).saturating_sub(paid)).unwrap_or(0);
            s.prev = s.debt.min(self.limit);
            s.debt -= s.prev;
        }
        s.cur = s.debt.min(self.limit);
        s.debt -= s.cur;
        s.start += passed * self.window.as_micros();
    }

    /// What the previous window still weighs at `now`, rounded up.
    #[inline]
    fn carried(&self, s: &State) -> u32 {
        if s.prev == 0 {
            return 0;
        }
        let w = self.window.as_micros();
        let left = w - (s.now.get() - s.start).min(w);
        u32::try_from(mul_div_ceil(s.prev, left, w)).unwrap_or(u32::MAX)
    }

    /// The first instant at which the weighted count is down to `most`, which it is not yet.
    fn down_to(&self, s: &State, most: u32) -> u64 {
        let w = self.window.as_micros();
        // In window j (0 is the present one) `whole` units do not fade, and `fading` ones do.
        let (j, fading, whole) = if s.cur.saturating_add(s.debt) <= most {
            (0, s.prev, s.cur + s.debt)
        } else if s.debt <= most {
            (1, s.cur, s.debt)
        } else {
            let paid = (s.debt - most).div_ceil(self.limit);
            let before = s.debt.saturating_sub((paid - 1).saturating_mul(self.limit));
            let fading = before.min(self.limit);
            (u64::from(paid) + 1, fading, before - fading)
        };
        let over = fading.saturating_sub(most - whole);
        let faded = if over == 0 {
            0
        } else {
            mul_div_ceil(over, w, u64::from(fading))
        };
        s.start
            .saturating_add(w.saturating_mul(j))
            .saturating_add(faded)
    }

    fn wait_down_to(&self, s: &State, most: u32) -> Span {
        Micros::stored(self.down_to(s, most)).since(s.now)
    }
}

impl Algorithm for SlidingCounter {
    type State<'a> = State;

    #[inline]
    fn limit(&self) -> u32 {
        self.limit
    }

    #[inline]
    fn load(&self, view: View<'_>, now: Micros) -> State {
        let Cell {
            at,
            words: [prev, cur, debt],
        } = view.cell.unwrap_or_default();
        let mut s = State {
            now,
            rewound: now < at,
            start: at.min(now).get(),
            prev,
            cur,
            debt,
            carried: 0,
        };
        if view.cell.is_some() {
            self.roll(&mut s);
        }
        if s.prev == 0 && s.cur == 0 && s.debt == 0 {
            s.start = now.get() - now.get() % self.window.as_micros();
        }
        s.carried = self.carried(&s);
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
        self.wait_down_to(s, self.limit - cost)
    }

    #[inline]
    fn charge(&self, s: &mut State, cost: u32) {
        s.cur += cost;
    }

    fn give(&self, s: &mut State, units: u32) -> u32 {
        let debt = units.min(s.debt);
        let cur = (units - debt).min(s.cur);
        let prev = (units - debt - cur).min(s.prev);
        s.debt -= debt;
        s.cur -= cur;
        s.prev -= prev;
        s.carried = self.carried(s);
        debt + cur + prev
    }

    fn lower(&self, s: &mut State, receipt: &Receipt, units: u32) -> u32 {
        let mark = receipt.mark.get();
        if mark == s.start {
            let given = units.min(s.debt.saturating_add(s.cur));
            return self.give(s, given);
        }
        if mark.saturating_add(self.window.as_micros()) != s.start {
            return 0;
        }
        let prev = units.min(s.prev);
        s.prev -= prev;
        s.carried = self.carried(s);
        prev
    }

    fn raise(&self, s: &mut State, units: u32, most_debt: u32) -> u32 {
        let (cur, debt) = room_and_debt(units, self.room(s), s.debt, most_debt);
        s.cur += cur;
        s.debt += debt;
        cur + debt
    }

    #[inline]
    fn levels(&self, s: &State) -> Levels {
        let wait = s
            .used()
            .checked_sub(1)
            .map_or(Span::ZERO, |less| self.wait_down_to(s, less));
        let mark = Micros::stored(s.start);
        Levels {
            reset_after: wait,
            next_after: wait,
            mark,
            part: 0,
        }
    }

    #[inline]
    fn edit(&self, s: &State) -> Edit {
        let windows = match (s.debt, s.cur, s.prev) {
            (0, 0, 0) => return Edit::Erase,
            (0, 0, _) => 1,
            (debt, _, _) => u64::from(debt.div_ceil(self.limit)) + 2,
        };
        let until = s
            .start
            .saturating_add(self.window.as_micros().saturating_mul(windows));
        Edit::Put {
            cell: Cell {
                at: Micros::stored(s.start),
                words: [s.prev, s.cur, s.debt],
            },
            until: Micros::stored(until),
            tail: TailEdit::None,
        }
    }
}
