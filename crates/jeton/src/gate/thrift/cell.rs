//! What a process knows of one cell: the state of one key in one rule.

use jeton_core::{Decision, Fit, Micros, Quota, Span};
use smallvec::SmallVec;

use super::denials::Denials;
use super::place::Place;
use super::pool::{Pool, Unspent};
use super::pools::Pools;
use super::told::Told;

/// One cell, under the quota that it was last asked about.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) place: Place,
    quota: Quota,
    /// The latest instant that it has seen.
    seen: Micros,
    /// When units of it were last taken.
    used: Option<Micros>,
    told: Option<Told>,
    denials: Denials,
    /// Until when what was told and denied is worth a place.
    denied_until: Micros,
    pools: Pools,
    /// The number of the call in which units are being taken ahead.
    ahead: Option<u64>,
    /// None are taken ahead before that.
    rest_until: Micros,
    /// Units that were used since some were last taken ahead.
    used_since: u32,
    /// Units that were used while the last ones were on their way.
    used_on_way: u32,
}

/// Units on their way back, by the charge that they are of.
pub(super) type Back = SmallVec<[Unspent; 1]>;

/// How a cell stands to a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Units are there to be spent.
    Pays,
    /// It is denied, and has to wait.
    Denies(Span),
    /// The store would let it pass, as it has said of late.
    Passes,
    /// The store has to be asked.
    Unknown,
}

/// How much a cell is worth its place: more keeps it against less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// It was seen.
    Seen,
    /// Something is remembered of it.
    Denied,
    /// Units are there to be spent, or on their way.
    Pool,
}

impl Cell {
    pub(super) fn new(place: Place, quota: Quota, now: Micros) -> Self {
        Self {
            place,
            quota,
            seen: now,
            used: None,
            told: None,
            denials: Denials::default(),
            denied_until: Micros::ZERO,
            pools: Pools::default(),
            ahead: None,
            rest_until: Micros::ZERO,
            used_since: 0,
            used_on_way: 0,
        }
    }

    pub(super) const fn quota(&self) -> &Quota {
        &self.quota
    }

    pub(super) const fn seen(&self) -> Micros {
        self.seen
    }

    pub(super) fn see(&mut self, now: Micros) {
        self.seen = self.seen.max(now);
    }

    pub(super) fn worth(&self, now: Micros) -> Worth {
        if self.left(now) > 0 || (self.ahead.is_some() && now < self.rest_until) {
            Worth::Pool
        } else if now < self.denied_until {
            Worth::Denied
        } else {
            Worth::Seen
        }
    }

    fn left(&self, now: Micros) -> u32 {
        self.pools.left(now)
    }

    pub(super) fn standing(&self, cost: u32, now: Micros, fresh_for: Span) -> Standing {
        let Some(told) = self.told else {
            return Standing::Unknown;
        };
        if !self.pools.is_empty() {
            return if self.pools.pay(cost, now) {
                Standing::Pays
            } else {
                Standing::Unknown
            };
        }
        let fits = cost.max(1) <= told.at(&self.quota, now).remaining;
        match self.denials.wait(&self.quota, cost, now) {
            Some(wait) if !fits => Standing::Denies(wait),
            None if fits && told.is_within(fresh_for, now) => Standing::Passes,
            _ => Standing::Unknown,
        }
    }

    /// What the cell shows now, with its own units.
    pub(super) fn show(&self, fit: Fit, now: Micros) -> Option<Decision> {
        let mut decision = self.told?.at(&self.quota, now);
        decision.fit = fit;
        decision.remaining = decision
            .remaining
            .saturating_add(self.left(now))
            .min(decision.limit);
        Some(decision)
    }

    /// Spends `cost` of its own units.
    pub(super) fn spend(&mut self, cost: u32, now: Micros) -> Option<Decision> {
        self.used = Some(now);
        self.used_since = self.used_since.saturating_add(cost);
        let receipt = self.pools.spend(cost, now)?;
        let mut decision = self.show(Fit::Allowed, now)?;
        decision.receipt = receipt;
        Some(decision)
    }

    /// What is left of its own units and cannot pay for `cost`, to be given back before the store is
    /// asked for that.
    pub(super) fn short_of(&mut self, cost: u32, now: Micros) -> Back {
        if self.pools.pay(cost, now) {
            return Back::new();
        }
        self.give_back()
    }

    /// What is left of its own units. There are more in the store then: denials do not hold any more.
    pub(super) fn give_back(&mut self) -> Back {
        if self.pools.is_empty() {
            return Back::new();
        }
        self.denials.clear();
        self.pools.unspent().collect()
    }

    /// The same when another quota has come into force.
    pub(super) fn give_back_under(&mut self, quota: &Quota, now: Micros) -> Back {
        if self.pools.is_empty() {
            return Back::new();
        }
        self.denials.clear();
        self.pools.unspent_under(quota, now).collect()
    }

    /// The same of units that are too old to be spent.
    pub(super) fn give_back_old(&mut self, now: Micros) -> Back {
        let old: Back = self.pools.unspent_old(now).collect();
        if !old.is_empty() {
            self.denials.clear();
        }
        old
    }

    /// Something is done to it that is no plain take: what was known holds no more, and what is on its
    /// way is not to be spent.
    pub(super) fn disturb(&mut self) {
        (self.told, self.ahead) = (None, None);
        self.denials.clear();
    }

    /// It has been done. Units that came meanwhile may be gone as well, if it `lowers` the state whoever
    /// has charged it.
    pub(super) fn disturb_after(&mut self, lowers: bool) {
        self.denials.clear();
        if lowers {
            (self.pools, self.ahead, self.told) = (Pools::default(), None, None);
        }
    }

    /// Notes that the store is asked for `cost`; whether it is in use: the latest one was less than
    /// `span` ago.
    pub(super) fn ask(&mut self, cost: u32, span: Span, now: Micros) -> bool {
        let before = self.used.replace(now);
        let is_used = before.is_some_and(|before| now.since(before) < span);
        if !is_used {
            self.used_on_way = 0;
        }
        self.used_since = self.used_since.saturating_add(cost);
        is_used
    }

    /// Whether units may be taken ahead: none are on their way, and none were denied of late.
    pub(super) fn may_take_ahead(&self, now: Micros) -> bool {
        now >= self.rest_until
    }

    pub(super) const fn has_units(&self) -> bool {
        !self.pools.is_empty()
    }

    /// How many units it lacks, if `units` are taken at once and `most` may be there; `None` if what
    /// it has will do.
    ///
    /// What is left has to last until the next ones are there, and they have to make up for it.
    pub(super) fn lacks(&self, (units, most): (u32, u32), now: Micros) -> Option<u32> {
        let low = (units / 2).saturating_add(self.used_on_way).min(most / 2);
        let is_low = self.pools.is_empty() || self.pools.run_low(low, now);
        let wanted = units.saturating_add(self.used_on_way);
        is_low.then(|| wanted.min(most.saturating_sub(self.left(now))))
    }

    /// Units are being taken ahead by call number `call`, of which an answer is worth nothing after
    /// `until`.
    pub(super) fn take_ahead(&mut self, call: u64, until: Micros) {
        (self.ahead, self.rest_until, self.used_since) = (Some(call), until, 0);
    }

    /// Whether it still waits for what that call takes ahead.
    pub(super) fn awaits(&self, call: u64) -> bool {
        self.ahead == Some(call)
    }

    /// They have come.
    pub(super) fn fund(&mut self, pool: Pool, told: Told) {
        self.pools.add(pool);
        (self.told, self.ahead, self.rest_until) = (Some(told), None, Micros::ZERO);
        self.used_on_way = self.used_since;
    }

    /// They were denied.
    pub(super) fn rest(&mut self, until: Micros) {
        (self.ahead, self.rest_until, self.used_on_way) = (None, until, 0);
    }

    /// What the store has said of it. Answers may come in another order than they were given in.
    pub(super) fn learn(&mut self, decision: Decision, came: Micros) {
        if self.told.is_none_or(|told| !told.is_later_than(&decision)) {
            self.told = Some(Told::new(decision, came));
        }
        self.denials.retain_above(decision.remaining);
    }

    /// It is part of a plan that was denied; by itself, if `denied` says what, for how long.
    pub(super) fn remember(
        &mut self,
        denied: Option<(u32, Span)>,
        keep_for: Span,
        (sent, came): (Micros, Micros),
    ) {
        let until = match denied {
            Some((cost, wait)) => self.denials.remember(cost, wait, keep_for, (sent, came)),
            None => came.saturating_add(keep_for),
        };
        self.denied_until = self.denied_until.max(until);
    }
}
