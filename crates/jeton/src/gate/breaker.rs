//! Whether the store is asked at all: not after several failures in a row, until a probe passes.
//!
//! Pure: it knows neither clocks nor stores. Three phases:
//!
//! ```text
//! closed --5 failures in a row--> open --a probe in the background passes--> trial
//!    ^                             |  ^                                       |  |
//!    |<--------an answer-----------+  +-------------a failure-----------------+  |
//!    +<------------------an answer, or another probe-----------------------------+
//! ```
//!
//! On trial requests are asked again, and one failure is enough. Seen from outside the store is away
//! until a plan of somebody's passes, or two probes in a row: one that fails for requests and not
//! for probes does not seem to come and go.
//!
//! Of a store that fails in parts, one failure says nothing about the next plan: it never opens, and
//! remembers for a while that something failed.

use jeton_core::{Micros, Span, StoreErrorKind};

/// Failures in a row after which the store is not asked.
const FAILURES: u32 = 5;

/// How often a request is the probe while nobody else probes.
const PROBE_EVERY: Span = Span::SECOND;

/// How long after its last failure a store that fails in parts counts as failing.
const QUIET: Span = match Span::from_micros(3_000_000) {
    Ok(quiet) => quiet,
    Err(_) => Span::SECOND,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Open,
    Trial,
}

/// How the store has fared.
#[derive(Debug)]
pub(super) struct Breaker {
    phase: Phase,
    /// Failures in a row.
    failures: u32,
    /// The kind of the latest failure.
    why: StoreErrorKind,
    /// From when on a request may be the probe.
    next_probe: Micros,
    /// Of a store that fails in parts: when one last did.
    part_failed: Option<Micros>,
    in_parts: bool,
}

/// How sure it is of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Mood {
    /// No failure since the latest answer.
    Calm = 0,
    /// Some failures.
    Uneasy = 1,
    /// The store is away.
    Away = 2,
}

impl Breaker {
    /// For a store that fails as a whole, or `in_parts`.
    pub(super) const fn new(in_parts: bool) -> Self {
        Self {
            phase: Phase::Closed,
            failures: 0,
            why: StoreErrorKind::Unavailable,
            next_probe: Micros::ZERO,
            part_failed: None,
            in_parts,
        }
    }

    pub(super) fn mood(&self) -> Mood {
        match self.phase {
            Phase::Closed if self.failures == 0 => Mood::Calm,
            Phase::Closed => Mood::Uneasy,
            Phase::Open | Phase::Trial => Mood::Away,
        }
    }

    /// The kind of the latest failure.
    pub(super) const fn why(&self) -> StoreErrorKind {
        self.why
    }

    /// Why the store is not to be asked at `now`; none if it is.
    pub(super) fn refuses(&mut self, now: Micros) -> Option<StoreErrorKind> {
        if self.phase != Phase::Open {
            return None;
        }
        // Further ahead than it ever was set: the clock went back.
        let is_due = self.next_probe <= now || self.next_probe.since(now) > PROBE_EVERY;
        if is_due {
            self.probed_elsewhere(now);
            return None;
        }
        Some(self.why)
    }

    /// Somebody probes: no request need be the probe for a while.
    pub(super) fn probed_elsewhere(&mut self, now: Micros) {
        self.next_probe = now.saturating_add(PROBE_EVERY);
    }

    /// The store has answered somebody.
    pub(super) fn answered(&mut self, now: Micros) {
        let is_fresh = |failed: Micros| failed <= now && now.since(failed) < QUIET;
        if self.part_failed.is_some_and(is_fresh) {
            return;
        }
        self.phase = Phase::Closed;
        self.failures = 0;
        self.part_failed = None;
    }

    /// The store has answered a probe.
    pub(super) fn probe_passed(&mut self, now: Micros) {
        match self.phase {
            Phase::Open => self.phase = Phase::Trial,
            Phase::Trial | Phase::Closed => self.answered(now),
        }
    }

    /// The store has failed.
    pub(super) fn failed(&mut self, why: StoreErrorKind, now: Micros) {
        self.why = why;
        self.failures = self.failures.saturating_add(1);
        if self.in_parts {
            self.part_failed = Some(now);
            return;
        }
        let opens = match self.phase {
            Phase::Closed => self.failures >= FAILURES,
            Phase::Trial => true,
            Phase::Open => false,
        };
        if opens {
            self.phase = Phase::Open;
            self.probed_elsewhere(now);
        }
    }
}

/// Whether a failure is the store's, and not that of one key or of a plan that it cannot carry out.
pub(super) const fn is_of_store(kind: StoreErrorKind) -> bool {
    !matches!(
        kind,
        StoreErrorKind::BadState | StoreErrorKind::Unsupported | StoreErrorKind::Saturated
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHY: StoreErrorKind = StoreErrorKind::Timeout;
    const S: u64 = 1_000_000;

    fn at(us: u64) -> Micros {
        Micros::new(1_000 * S + us)
    }

    fn open(now: Micros) -> Breaker {
        let mut breaker = Breaker::new(false);
        for _ in 0..FAILURES {
            assert_eq!(breaker.refuses(now), None);
            breaker.failed(WHY, now);
        }
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_four_do_not() {
        let mut breaker = Breaker::new(false);
        for _ in 0..3 {
            for _ in 1..FAILURES {
                breaker.failed(WHY, at(0));
                assert_eq!(breaker.mood(), Mood::Uneasy);
            }
            breaker.answered(at(0));
            assert_eq!(breaker.mood(), Mood::Calm);
        }
        let mut breaker = open(at(0));
        assert_eq!((breaker.mood(), breaker.why()), (Mood::Away, WHY));
        assert_eq!(breaker.refuses(at(0)), Some(WHY));
    }

    #[test]
    fn where_nobody_probes_one_request_a_second_does() {
        let mut breaker = open(at(0));
        let asked = |breaker: &mut Breaker, us| breaker.refuses(at(us)).is_none();
        assert!(!asked(&mut breaker, S - 1));
        assert!(asked(&mut breaker, S));
        assert!(!asked(&mut breaker, S));
        breaker.failed(WHY, at(S + 20_000));
        assert!(!asked(&mut breaker, 2 * S - 1));
        assert!(asked(&mut breaker, 2 * S));
        breaker.answered(at(0));
        assert!(asked(&mut breaker, 2 * S) && asked(&mut breaker, 2 * S));
    }

    #[test]
    fn whoever_probes_spares_the_requests() {
        let mut breaker = open(at(0));
        for tick in 0..20 {
            breaker.probed_elsewhere(at(tick * S / 2));
            assert!(breaker.refuses(at(tick * S / 2 + S / 2 - 1)).is_some());
        }
    }

    #[test]
    fn a_clock_that_went_back_does_not_keep_it_open() {
        let mut breaker = open(at(900 * S));
        assert!(breaker.refuses(at(0)).is_none());
        assert!(breaker.refuses(at(0)).is_some());
        assert!(breaker.refuses(at(S)).is_none());
    }

    #[test]
    fn on_trial_one_failure_is_enough_and_nobody_outside_sees_it() {
        let mut breaker = open(at(0));
        for _ in 0..3 {
            breaker.probe_passed(at(0));
            assert_eq!(breaker.mood(), Mood::Away);
            assert_eq!(breaker.refuses(at(0)), None);
            breaker.failed(WHY, at(0));
            assert_eq!(breaker.refuses(at(0)), Some(WHY));
        }
        breaker.probe_passed(at(0));
        breaker.answered(at(0));
        assert_eq!(breaker.mood(), Mood::Calm);
        let mut breaker = open(at(0));
        breaker.probe_passed(at(0));
        breaker.probe_passed(at(0));
        assert_eq!(breaker.mood(), Mood::Calm);
        breaker.failed(WHY, at(0));
        breaker.probe_passed(at(0));
        assert_eq!(breaker.mood(), Mood::Calm);
    }

    #[test]
    fn of_a_store_that_fails_in_parts_others_are_asked_and_it_is_remembered_for_a_while() {
        let mut breaker = Breaker::new(true);
        for _ in 0..100 {
            breaker.failed(WHY, at(S));
            assert_eq!(breaker.refuses(at(S)), None);
        }
        assert_eq!((breaker.mood(), breaker.why()), (Mood::Uneasy, WHY));
        breaker.answered(at(2 * S));
        breaker.probe_passed(at(4 * S - 1));
        assert_eq!(breaker.mood(), Mood::Uneasy);
        breaker.answered(at(4 * S));
        assert_eq!(breaker.mood(), Mood::Calm);
        // A clock that went back does not keep it waiting.
        breaker.failed(WHY, at(9 * S));
        breaker.answered(at(S));
        assert_eq!(breaker.mood(), Mood::Calm);
    }

    /// What the words above promise, from the history alone: it shares nothing with the breaker.
    #[derive(Default)]
    struct History {
        /// Failures since the latest answer.
        failures: u32,
        /// Probes that passed since the latest failure.
        passed: u32,
        /// When somebody last probed, or it opened.
        probed: Option<u64>,
    }

    impl History {
        fn is_away(&self) -> bool {
            self.failures >= FAILURES
        }

        fn may_refuse(&self, now: u64) -> bool {
            let is_fresh = self.probed.is_some_and(|probed| now - probed < S);
            self.is_away() && self.passed == 0 && is_fresh
        }

        fn answered(&mut self) {
            *self = Self::default();
        }
    }

    #[test]
    fn it_does_what_its_history_says_and_nothing_else() {
        // A linear congruential generator (Knuth's MMIX): the same run every time.
        let mut state = 1_u64;
        let mut below = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut breaker, mut history) = (Breaker::new(false), History::default());
        let (mut now, mut refusals, mut away) = (0, 0, 0);
        for _ in 0..200_000 {
            now += below(200_000);
            match below(20) {
                0 => {
                    breaker.answered(at(now));
                    history.answered();
                }
                1..=7 => {
                    let was_away = history.is_away();
                    breaker.failed(WHY, at(now));
                    let reopens = history.passed > 0 && was_away;
                    history.failures += 1;
                    if history.is_away() && (!was_away || reopens) {
                        history.probed = Some(now);
                    }
                    history.passed = 0;
                }
                8 if history.is_away() => {
                    breaker.probed_elsewhere(at(now));
                    history.probed = Some(now);
                }
                9 => {
                    breaker.probe_passed(at(now));
                    history.passed += 1;
                    if !history.is_away() || history.passed == 2 {
                        history.answered();
                    }
                }
                _ => {
                    let is_refused = breaker.refuses(at(now)).is_some();
                    assert_eq!(is_refused, history.may_refuse(now), "at {now}");
                    if history.is_away() && history.passed == 0 && !is_refused {
                        history.probed = Some(now);
                    }
                    refusals += u32::from(is_refused);
                }
            }
            let is_away = breaker.mood() == Mood::Away;
            assert_eq!(is_away, history.is_away(), "at {now}");
            assert_eq!(breaker.mood() == Mood::Calm, history.failures == 0);
            away += u32::from(is_away);
        }
        assert!(refusals > 1_000 && away > 1_000 && away < 150_000);
    }
}
