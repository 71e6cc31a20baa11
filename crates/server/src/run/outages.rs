//! What the log says of a store that goes away and comes back: one line for each change, and one for
//! each reason that comes to light meanwhile.

use std::time::Duration;

use jeton::redis::Trouble;
use jeton::{Gate, StoreErrorKind, StoreState};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::store::Backend;

/// What comes and goes within less is no outage.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Follows how the store fares.
pub(super) struct Outages {
    store: Backend,
    told: Told,
}

impl Outages {
    /// From the start on, of which a store may be away already: that is told at once.
    pub(super) fn beginning(store: Backend, away: Option<&Trouble>) -> Self {
        let mut told = Told::default();
        if let Some(trouble) = away {
            let place = store.place();
            tracing::error!(
                "started without its store, {place}: {trouble}; on_failure decides until it answers"
            );
            told.away_since = Some(Instant::now());
            told.reasons.push(Reason::of(trouble.kind.into()));
        }
        Self { store, told }
    }

    /// Tells the log whenever the store of `gate` goes away or comes back. Never ends.
    pub(super) async fn tell(self, gate: Gate) {
        let Self { store, mut told } = self;
        // As long as nobody has asked it, the gate knows of no failure.
        let mut is_unproven = told.away_since.is_some();
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = looks.tick().await;
            is_unproven = is_unproven && !store.decides().await;
            match told.about(gate.store_state(), is_unproven, now) {
                Some(News::Away(why)) => tracing::error!(
                    "{}: it is not asked for now, and on_failure decides",
                    store.words(why)
                ),
                Some(News::Still(why)) => tracing::error!("{}", store.words(why)),
                Some(News::Back(after)) => {
                    let after_s = after.as_secs_f64();
                    tracing::info!("the store answers again, after {after_s:.1} s");
                }
                None => {}
            }
        }
    }
}

/// What the log was last told.
#[derive(Debug, Default)]
struct Told {
    away_since: Option<Instant>,
    /// Of the present outage.
    reasons: Vec<Reason>,
}

#[derive(Debug, PartialEq, Eq)]
enum News {
    Away(StoreErrorKind),
    /// Away as before, for another reason.
    Still(StoreErrorKind),
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
    fn about(&mut self, state: StoreState, is_unproven: bool, now: Instant) -> Option<News> {
        match (state, self.away_since) {
            (StoreState::Away { why }, None) => {
                self.away_since = Some(now);
                self.reasons = vec![Reason::of(why)];
                Some(News::Away(why))
            }
            (StoreState::Away { why }, Some(_)) => {
                let reason = Reason::of(why);
                if self.reasons.contains(&reason) {
                    return None;
                }
                self.reasons.push(reason);
                Some(News::Still(why))
            }
            (StoreState::Ready, Some(since)) if !is_unproven => {
                self.away_since = None;
                Some(News::Back(now.duration_since(since)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(told: &mut Told, state: StoreState, s: u64, start: Instant) -> Option<News> {
        told.about(state, false, start + Duration::from_secs(s))
    }

    #[test]
    fn each_change_is_told_once() {
        let (start, mut told) = (Instant::now(), Told::default());
        let why = StoreErrorKind::Timeout;
        let (ready, away) = (StoreState::Ready, StoreState::Away { why });
        let failing = StoreState::Failing { why };
        let mut at = |state, s| at(&mut told, state, s, start);
        assert_eq!(
            [at(ready, 0), at(failing, 1), at(ready, 2)],
            [None, None, None]
        );
        assert_eq!(at(away, 3), Some(News::Away(why)));
        assert_eq!(
            [at(away, 4), at(failing, 5), at(away, 6)],
            [None, None, None]
        );
        assert_eq!(at(ready, 9), Some(News::Back(Duration::from_secs(6))));
        assert_eq!(at(ready, 10), None);
        assert_eq!(at(away, 11), Some(News::Away(why)));
    }

    #[test]
    fn so_is_each_reason_of_an_outage() {
        use StoreErrorKind::{Timeout, Unauthenticated, Unavailable};
        let (start, mut told) = (Instant::now(), Told::default());
        let mut away = |why, s| at(&mut told, StoreState::Away { why }, s, start);
        assert_eq!(away(Timeout, 0), Some(News::Away(Timeout)));
        assert_eq!(away(Unavailable, 1), None);
        assert_eq!(away(Unauthenticated, 2), Some(News::Still(Unauthenticated)));
        assert_eq!(
            [away(Unavailable, 3), away(Unauthenticated, 4)],
            [None, None]
        );
        assert!(at(&mut told, StoreState::Ready, 5, start).is_some());
        let why = Unauthenticated;
        let again = at(&mut told, StoreState::Away { why }, 6, start);
        assert_eq!(again, Some(News::Away(why)));
    }

    #[test]
    fn a_store_that_was_not_there_at_the_start_is_not_back_before_it_is() {
        let start = Instant::now();
        let mut told = Told {
            away_since: Some(start),
            reasons: vec![Reason::Silent],
        };
        let why = StoreErrorKind::Unavailable;
        assert_eq!(told.about(StoreState::Ready, true, start), None);
        assert_eq!(told.about(StoreState::Away { why }, true, start), None);
        assert_eq!(
            told.about(StoreState::Ready, false, start),
            Some(News::Back(Duration::ZERO))
        );
    }
}
