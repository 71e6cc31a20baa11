//! What the log says of a store that goes away and comes back: one line for each change.

use std::time::Duration;

use jeton::{Gate, StoreErrorKind, StoreState};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// What comes and goes within less is no outage.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Tells the log whenever the store of `gate` goes away or comes back. Never ends.
pub(super) async fn tell(gate: Gate) {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Told::default();
    loop {
        let now = looks.tick().await;
        match told.about(gate.store_state(), now) {
            Some(News::Away(why)) => {
                tracing::error!("{why}: it is not asked for now, and on_failure decides");
            }
            Some(News::Back(after)) => {
                tracing::info!(
                    "the store answers again, after {:.1} s",
                    after.as_secs_f64()
                );
            }
            None => {}
        }
    }
}

/// What the log was last told.
#[derive(Debug, Default)]
struct Told {
    away_since: Option<Instant>,
}

#[derive(Debug, PartialEq, Eq)]
enum News {
    Away(StoreErrorKind),
    Back(Duration),
}

impl Told {
    fn about(&mut self, state: StoreState, now: Instant) -> Option<News> {
        match (state, self.away_since) {
            (StoreState::Away { why }, None) => {
                self.away_since = Some(now);
                Some(News::Away(why))
            }
            (StoreState::Ready, Some(since)) => {
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

    #[test]
    fn each_change_is_told_once() {
        let (start, mut told) = (Instant::now(), Told::default());
        let why = StoreErrorKind::Timeout;
        let (ready, away) = (StoreState::Ready, StoreState::Away { why });
        let failing = StoreState::Failing { why };
        let mut at = |state, s| told.about(state, start + Duration::from_secs(s));
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
}
