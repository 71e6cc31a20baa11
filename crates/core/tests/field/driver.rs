//! One state under one quota, moved by hand.

use jeton_core::{
    Act, Anchor, Cell, Cost, Decision, Edit, Entry, Fit, Micros, Quota, Rate, Receipt, Span, View,
};

pub(crate) const MS: u64 = 1_000;
pub(crate) const S: u64 = 1_000_000;
pub(crate) const MIN: u64 = 60 * S;
pub(crate) const H: u64 = 60 * MIN;
pub(crate) const DAY: u64 = 24 * H;

pub(crate) fn span(us: u64) -> Span {
    Span::from_micros(us).unwrap()
}

pub(crate) fn bucket(burst: u64, units: u64, per_us: u64) -> Quota {
    Quota::bucket(Rate::new(units, span(per_us)).unwrap(), burst).unwrap()
}

pub(crate) fn fixed(limit: u64, window_us: u64) -> Quota {
    Quota::fixed_window(limit, span(window_us), Anchor::Epoch).unwrap()
}

pub(crate) fn first(limit: u64, window_us: u64) -> Quota {
    Quota::fixed_window(limit, span(window_us), Anchor::FirstRequest).unwrap()
}

pub(crate) fn log(limit: u64, window_us: u64) -> Quota {
    Quota::sliding_log(limit, span(window_us)).unwrap()
}

pub(crate) fn counter(limit: u64, window_us: u64) -> Quota {
    Quota::sliding_counter(limit, span(window_us)).unwrap()
}

pub(crate) fn concurrency(limit: u64, lease_us: u64) -> Quota {
    Quota::concurrency(limit, span(lease_us)).unwrap()
}

pub(crate) fn ticket(ttl_us: u64) -> Quota {
    Quota::ticket(span(ttl_us)).unwrap()
}

/// Every algorithm with this limit over (about) this window.
pub(crate) fn all(limit: u64, window_us: u64) -> [Quota; 5] {
    [
        bucket(limit, limit, window_us),
        fixed(limit, window_us),
        first(limit, window_us),
        log(limit, window_us),
        counter(limit, window_us),
    ]
}

#[derive(Clone, Debug)]
pub(crate) struct One {
    pub(crate) quota: Quota,
    pub(crate) cell: Option<Cell>,
    pub(crate) tail: Vec<Entry>,
}

impl One {
    pub(crate) fn new(quota: Quota) -> Self {
        Self {
            quota,
            cell: None,
            tail: Vec::new(),
        }
    }

    pub(crate) fn act(&mut self, at_us: u64, act: &Act) -> Decision {
        let view = View {
            cell: self.cell,
            tail: &self.tail,
        };
        let outcome = self.quota.decide(view, act, Micros::new(at_us));
        match outcome.edit {
            Edit::Keep => {}
            Edit::Put { cell, tail, .. } => {
                self.cell = Some(cell);
                tail.apply(&mut self.tail);
            }
            Edit::Erase => {
                self.cell = None;
                self.tail.clear();
            }
        }
        outcome.decision
    }

    pub(crate) fn take(&mut self, at_us: u64, cost: u64) -> Decision {
        self.act(
            at_us,
            &Act::Take {
                cost: Cost::new(cost),
            },
        )
    }

    pub(crate) fn peek(&mut self, at_us: u64, cost: u64) -> Decision {
        self.act(
            at_us,
            &Act::Peek {
                cost: Cost::new(cost),
            },
        )
    }

    pub(crate) fn give(&mut self, at_us: u64, units: u64) -> Decision {
        self.act(
            at_us,
            &Act::Give {
                units: Cost::new(units),
            },
        )
    }

    pub(crate) fn hold(&mut self, at_us: u64, cost: u64) -> Decision {
        self.act(
            at_us,
            &Act::Hold {
                cost: Cost::new(cost),
            },
        )
    }

    pub(crate) fn renew(&mut self, at_us: u64, receipt: Receipt) -> Decision {
        self.act(at_us, &Act::Renew { receipt })
    }

    pub(crate) fn settle(&mut self, at_us: u64, receipt: Receipt, actual: u64) -> Decision {
        self.act(
            at_us,
            &Act::Settle {
                receipt,
                actual: Cost::new(actual),
                max_debt: Cost::MAX,
            },
        )
    }

    pub(crate) fn passes(&mut self, at_us: u64, cost: u64) -> bool {
        self.take(at_us, cost).fit == Fit::Allowed
    }

    /// How many of `tries` takes of 1 at one instant pass.
    pub(crate) fn passed(&mut self, at_us: u64, tries: usize) -> usize {
        (0..tries).filter(|_| self.passes(at_us, 1)).count()
    }

    /// The wait of a denial in µs.
    pub(crate) fn wait(&mut self, at_us: u64, cost: u64) -> u64 {
        self.take(at_us, cost)
            .fit
            .retry_after()
            .expect("denied with a wait")
            .as_micros()
    }
}
