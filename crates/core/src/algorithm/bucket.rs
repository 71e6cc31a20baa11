//! Token bucket, which is GCRA: units owed, and the anchor after which they come back.
//!
//! One unit comes back each unit time (d/n µs) after the anchor, and the anchor moves with it,
//! so that no fraction of a unit is ever lost or invented. GCRA's theoretical arrival time is the
//! anchor plus the time of the units owed; keeping the two apart lets a state be read under
//! another quota and survive a clock that steps back.
//!
//! Source: ITU-T I.371 (the virtual scheduling and the leaky bucket algorithm, equivalent).

use super::{Algorithm, Levels};
use crate::quota::Bucket;
use crate::{Cell, Edit, Micros, Receipt, Span, TailEdit, View};

pub(super) struct State {
    now: Micros,
    rewound: bool,
    /// Whole µs of the anchor.
    at: u64,
    /// N-ths of a µs past `at`.
    part: u32,
    owed: u32,
    /// When all that is owed has come back, as whole µs and n-ths: GCRA's theoretical arrival
    /// time. It stays where it is while the anchor advances, so it is worked out once.
    full: (u64, u32),
}

impl State {
    /// Nothing is owed.
    fn settle_at_now(&mut self) {
        (self.at, self.part, self.owed) = (self.now.get(), 0, 0);
        self.full = (self.at, 0);
    }

    fn full_us(&self) -> u64 {
        self.full.0 + u64::from(self.full.1 > 0)
    }
}

impl Bucket {
    /// An instant that was written under any quota. Another one has other n-ths: what does not fit
    /// counts as one µs more.
    #[inline]
    fn read_instant(&self, at: Micros, part: u32) -> (u64, u32) {
        if part >= self.rate.units() {
            (at.get() + 1, 0)
        } else {
            (at.get(), part)
        }
    }

    /// The instant `k` unit times after another, as whole µs and n-ths.
    #[inline]
    fn later(&self, (at, part): (u64, u32), k: u32) -> (u64, u32) {
        let (us, part) = self.rate.span_of(k, part);
        let due = at.saturating_add(us);
        if due < Micros::HORIZON.get() {
            (due, part)
        } else {
            (Micros::HORIZON.get(), 0)
        }
    }

    /// The instant at which `k` units have come back.
    #[inline]
    fn due(&self, s: &State, k: u32) -> (u64, u32) {
        self.later((s.at, s.part), k)
    }

    /// The wait until `k` units have come back, rounded up.
    #[inline]
    fn wait(&self, s: &State, k: u32) -> Span {
        let (us, part) = self.due(s, k);
        Span((us + u64::from(part > 0)).saturating_sub(s.now.get()))
    }

    /// Moves the anchor over every unit that has come back by now.
    #[inline]
    fn advance(&self, s: &mut State) {
        let now = s.now.get();
        if s.full_us() <= now {
            return s.settle_at_now();
        }
        let back = self.rate.units_in(now.saturating_sub(s.at), s.part);
        if back == 0 {
            return;
        }
        let back = u32::try_from(back).unwrap_or(s.owed).min(s.owed);
        (s.at, s.part) = self.due(s, back);
        s.owed -= back;
    }
}

impl Algorithm for Bucket {
    type State<'a> = State;

    #[inline]
    fn limit(&self) -> u32 {
        self.burst
    }

    #[inline]
    fn load(&self, view: View<'_>, now: Micros) -> State {
        let mut s = State {
            now,
            rewound: false,
            at: now.get(),
            part: 0,
            owed: 0,
            full: (now.get(), 0),
        };
        let Some(Cell {
            at,
            words: [part, owed, _],
        }) = view.cell
        else {
            return s;
        };
        if owed == 0 {
            return s;
        }
        s.owed = owed;
        let (at, part) = self.read_instant(at, part);
        s.rewound = now.get() < at;
        if !s.rewound {
            (s.at, s.part) = (at, part);
        }
        s.full = self.due(&s, owed);
        self.advance(&mut s);
        s
    }

    #[inline]
    fn rewound(s: &State) -> bool {
        s.rewound
    }

    #[inline]
    fn room(&self, s: &State) -> Option<u32> {
        self.burst.checked_sub(s.owed)
    }

    #[inline]
    fn wait_for(&self, s: &State, cost: u32) -> Span {
        self.wait(s, s.owed + cost - self.burst)
    }

    #[inline]
    fn charge(&self, s: &mut State, cost: u32) {
        s.owed += cost;
        s.full = self.later(s.full, cost);
    }

    fn give(&self, s: &mut State, units: u32) -> u32 {
        let given = units.min(s.owed);
        s.owed -= given;
        if s.owed == 0 {
            s.settle_at_now();
        } else {
            s.full = self.due(s, s.owed);
        }
        given
    }

    fn lower(&self, s: &mut State, receipt: &Receipt, units: u32) -> u32 {
        // Plain subtraction would hand out units that have come back already: take, wait, cancel
        // would let a burst pass twice. A clock that went back counts as standing still.
        let from = s.now.max(receipt.at).get();
        let (due, part) = self.read_instant(receipt.mark, receipt.part);
        let out = match due.checked_sub(from) {
            Some(ahead) => self.rate.units_begun_in(ahead, part),
            None => 0,
        };
        self.give(s, units.min(u32::try_from(out).unwrap_or(u32::MAX)))
    }

    fn raise(&self, s: &mut State, units: u32, most_debt: u32) -> u32 {
        let most = self.burst.saturating_add(most_debt).saturating_sub(s.owed);
        let raised = units.min(most);
        self.charge(s, raised);
        raised
    }

    #[inline]
    fn levels(&self, s: &State) -> Levels {
        let next = s
            .owed
            .saturating_sub(self.burst)
            .saturating_add(1)
            .min(s.owed);
        Levels {
            reset_after: Span(s.full_us().saturating_sub(s.now.get())),
            next_after: self.wait(s, next),
            mark: Micros::stored(s.full.0),
            part: s.full.1,
        }
    }

    #[inline]
    fn edit(&self, s: &State) -> Edit {
        if s.owed == 0 {
            return Edit::Erase;
        }
        Edit::Put {
            cell: Cell {
                at: Micros::stored(s.at),
                words: [s.part, s.owed, 0],
            },
            until: Micros::stored(s.full_us()),
            tail: TailEdit::None,
        }
    }
}
