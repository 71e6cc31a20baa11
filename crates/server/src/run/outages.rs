//! What the log says of a store that fails, goes away and comes back: one line for each change, and one
//! for each reason that comes to light meanwhile.

mod failures;
mod rule_words;

use std::time::Duration;

use jeton::policy::Policy;
use jeton::redis::Trouble;
use jeton::{Gate, StoreErrorKind, StoreState};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::store::Backend;
use failures::{Failure, Failures};
use rule_words::{list, without_store};

/// What comes and goes within less is no outage.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A reason that has not come up for so long is news again.
const QUIET: Duration = Duration::from_secs(60);

/// Follows how the store fares.
pub(super) struct Outages {
    store: Backend,
    told: Told,
}

impl Outages {
    /// From the start on, of which a store may be away already: that is told at once.
    pub(super) fn beginning(store: Backend, away: Option<&Trouble>, policy: &Policy) -> Self {
        let mut told = Told::default();
        if let Some(trouble) = away {
            let (place, rule) = (store.place(), without_store(policy));
            tracing::error!(
                "started without its store, {place}: {trouble}; until it answers {rule}"
            );
            told.goes_away(trouble.kind.into(), Instant::now());
        }
        Self { store, told }
    }

    /// Tells the log whenever the store of `gate` fails, goes away or comes back. Never ends.
    pub(super) async fn tell(self, gate: Gate) {
        let Self { store, mut told } = self;
        // As long as nobody has asked it, the gate knows of no failure.
        let mut is_unproven = told.away_since.is_some();
        let mut failures = Failures::default();
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = looks.tick().await;
            is_unproven = is_unproven && !store.decides().await;
            let failed = failures.since(&gate);
            let state = store.state(gate.store_state());
            for news in told.about(state, failed, is_unproven, now) {
                tell(&news, &store, &gate.policy());
            }
        }
    }
}

fn tell(news: &News, store: &Backend, policy: &Policy) {
    match news {
        News::Away(why) => {
            let (words, rule) = (store.words(*why), without_store(policy));
            let so = match store {
                Backend::Disk(kept) if kept.trouble().is_some() => {
                    "nothing more can be kept; until it can"
                }
                _ => "it is not asked for now; until it answers",
            };
            tracing::error!("{words}: {so} {rule}");
        }
        News::Still(why) => tracing::error!("{}", store.words(*why)),
        News::Failing(Failure { why, rules }) => {
            let about = match rules.as_slice() {
                [] => "a look at what operators have set got no answer".to_owned(),
                rules => format!("no answer about {}, so on_failure decided", list(rules)),
            };
            if *why == StoreErrorKind::Saturated {
                return tracing::warn!("{why}: {about}; raise `max_in_flight`, or add nodes");
            }
            let keys = match why {
                StoreErrorKind::BadState => store.where_to_look(policy, rules),
                _ => String::new(),
            };
            let words = store.words(*why);
            tracing::warn!("{words}: {about}; it is still asked{keys}");
        }
        News::Back(after) => {
            let after_s = after.as_secs_f64();
            tracing::info!("the store answers again, after {after_s:.1} s");
        }
    }
}

/// What the log was last told.
#[derive(Debug, Default)]
struct Told {
    away_since: Option<Instant>,
    /// Of the present outage, or of the last minute; with when each came up last.
    reasons: Vec<(Reason, Instant)>,
}

#[derive(Debug, PartialEq, Eq)]
enum News {
    Away(StoreErrorKind),
    /// Away as before, for another reason.
    Still(StoreErrorKind),
    /// Asked as before.
    Failing(Failure),
    Back(Duration),
}

/// A reason as people tell them apart.
#[derive(Debug, PartialEq, Eq)]
enum Reason {
    /// No word of it.
    Silent,
    /// It says something else than answers.
    Says(StoreErrorKind),
}

impl Reason {
    const fn of(kind: StoreErrorKind) -> Self {
        match kind {
            StoreErrorKind::Timeout | StoreErrorKind::Unavailable => Self::Silent,
            kind => Self::Says(kind),
        }
    }
}

impl Told {
    fn about(
        &mut self,
        state: StoreState,
        failed: Vec<Failure>,
        is_unproven: bool,
        now: Instant,
    ) -> Vec<News> {
        let was_away = self.away_since.is_some();
        if !was_away {
            let is_fresh = |latest: Instant| now.duration_since(latest) < QUIET;
            self.reasons.retain(|(_, latest)| is_fresh(*latest));
        }
        let mut news: Vec<News> = self.change(state, is_unproven, now).into_iter().collect();
        for failure in failed {
            let is_new = self.comes_up(Reason::of(failure.why), now);
            if is_new && !was_away && self.away_since.is_none() {
                news.push(News::Failing(failure));
            }
        }
        news
    }

    fn change(&mut self, state: StoreState, is_unproven: bool, now: Instant) -> Option<News> {
        match (state, self.away_since) {
            (StoreState::Away { why }, None) => {
                self.goes_away(why, now);
                Some(News::Away(why))
            }
            (StoreState::Away { why }, Some(_)) => {
                let is_new = self.comes_up(Reason::of(why), now);
                is_new.then_some(News::Still(why))
            }
            (StoreState::Ready, Some(since)) if !is_unproven => {
                self.away_since = None;
                Some(News::Back(now.duration_since(since)))
            }
            _ => None,
        }
    }

    fn goes_away(&mut self, why: StoreErrorKind, now: Instant) {
        self.away_since = Some(now);
        self.reasons = vec![(Reason::of(why), now)];
    }

    /// Whether it was not there yet.
    fn comes_up(&mut self, reason: Reason, now: Instant) -> bool {
        if let Some((_, latest)) = self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            *latest = now;
            return false;
        }
        self.reasons.push((reason, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use StoreErrorKind::{BadState, Forbidden, Timeout, Unauthenticated, Unavailable};

    const READY: StoreState = StoreState::Ready;

    /// What a log is told of states and failures, at seconds since its start.
    struct Log {
        start: Instant,
        told: Told,
    }

    impl Log {
        fn new() -> Self {
            let (start, told) = (Instant::now(), Told::default());
            Self { start, told }
        }

        fn state(&mut self, s: u64, state: StoreState) -> Vec<News> {
            self.at(s, state, &[])
        }

        fn away(&mut self, s: u64, why: StoreErrorKind) -> Vec<News> {
            self.at(s, StoreState::Away { why }, &[why])
        }

        fn at(&mut self, s: u64, state: StoreState, failed: &[StoreErrorKind]) -> Vec<News> {
            let failed = failed.iter().map(|why| failure(*why)).collect();
            let now = self.start + Duration::from_secs(s);
            self.told.about(state, failed, false, now)
        }
    }

    fn failure(why: StoreErrorKind) -> Failure {
        let rules = vec!["r".to_owned()];
        Failure { why, rules }
    }

    fn failing(why: StoreErrorKind) -> News {
        News::Failing(failure(why))
    }

    #[test]
    fn each_change_is_told_once() {
        let mut log = Log::new();
        let failing = StoreState::Failing { why: Timeout };
        assert_eq!(log.state(0, READY), []);
        assert_eq!(log.state(1, failing), []);
        assert_eq!(log.away(3, Timeout), [News::Away(Timeout)]);
        assert_eq!(log.away(4, Timeout), []);
        assert_eq!(log.state(5, failing), []);
        assert_eq!(log.away(6, Timeout), []);
        let back = News::Back(Duration::from_secs(6));
        assert_eq!(log.at(9, READY, &[Timeout]), [back]);
        assert_eq!(log.state(10, READY), []);
        assert_eq!(log.away(11, Timeout), [News::Away(Timeout)]);
    }

    #[test]
    fn so_is_each_reason_of_an_outage() {
        let mut log = Log::new();
        assert_eq!(log.away(0, Timeout), [News::Away(Timeout)]);
        assert_eq!(log.away(1, Unavailable), []);
        let other = [News::Still(Unauthenticated)];
        assert_eq!(log.away(2, Unauthenticated), other);
        assert_eq!(log.away(3, Unavailable), []);
        assert_eq!(log.away(400, Unauthenticated), []);
        assert_eq!(log.state(500, READY).len(), 1);
        assert_eq!(
            log.away(600, Unauthenticated),
            [News::Away(Unauthenticated)]
        );
    }

    /// A breaker never opens for one key, nor as long as probes pass.
    #[test]
    fn failures_of_a_store_that_is_asked_are_told_once_until_a_minute_passes_without() {
        let mut log = Log::new();
        assert_eq!(log.at(0, READY, &[BadState]), [failing(BadState)]);
        let why = Forbidden;
        let uneasy = StoreState::Failing { why };
        assert_eq!(log.at(1, uneasy, &[why, BadState]), [failing(why)]);
        for s in 2..200 {
            assert_eq!(log.at(s, READY, &[why]), [], "{s}");
        }
        assert_eq!(log.at(200, READY, &[BadState]), [failing(BadState)]);
        assert_eq!(log.at(258, READY, &[why]), []);
        assert_eq!(log.at(318, READY, &[why]), [failing(why)]);
        // What leads to an outage is told with it.
        assert_eq!(log.at(319, READY, &[Timeout]), [failing(Timeout)]);
        assert_eq!(log.away(320, Timeout), [News::Away(Timeout)]);
    }

    #[test]
    fn a_store_that_was_not_there_at_the_start_is_not_back_before_it_is() {
        let mut log = Log::new();
        log.told.goes_away(Unavailable, log.start);
        let why = Unavailable;
        let mut unproven = |state, failed| log.told.about(state, failed, true, log.start);
        assert_eq!(unproven(READY, vec![failure(why)]), []);
        assert_eq!(unproven(StoreState::Away { why }, vec![]), []);
        assert_eq!(log.state(0, READY), [News::Back(Duration::ZERO)]);
    }
}
