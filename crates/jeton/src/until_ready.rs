//! Waiting for one's turn.

use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use jeton_core::{Act, Cost, Decision, Fit, Span};
use tokio::time::{Instant, sleep};

use crate::Limiter;

/// Why waiting was given up, or not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReady {
    /// The turn comes later than the caller would wait.
    TooLong {
        /// The wait from now after which the unit can be taken if nobody else competes.
        retry_after: Span,
    },
    /// No wait helps: the limit can never hold what is asked for.
    Never,
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { retry_after } => {
                let ms = retry_after.as_millis_ceil();
                write!(
                    f,
                    "the limit has no room for another {ms} ms, longer than may be waited"
                )
            }
            Self::Never => f.write_str("the limit can never hold what is asked for"),
        }
    }
}

impl std::error::Error for NotReady {}

impl Limiter {
    /// Takes one unit, as soon as there is one, if that is within `max_wait`.
    ///
    /// It sleeps for exactly the wait that the limiter states (in the timer's grain: full
    /// milliseconds, rounded up) and then asks again. A turn that would come after `max_wait` is
    /// refused at once, not at its end. Needs a tokio runtime with its timer on.
    ///
    /// *Cancellation*: dropping the future before it completes leaves the key as it is. Nothing
    /// is charged or reserved while it waits.
    ///
    /// *Fairness*: there is no queue. Whoever asks first once there is room gets it, so a waiter
    /// can be overtaken by callers of [`Limiter::take`] and by other waiters, up to `max_wait`. Of
    /// many waiters on one key all wake for each unit: where more than some dozens wait, a queue
    /// in front is better.
    ///
    /// ```
    /// use std::time::Duration;
    /// use jeton::{Limiter, NotReady};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limiter = Limiter::bucket("100/s", 1)?;
    /// limiter.until_ready("alice", Duration::ZERO).await?;
    /// limiter.until_ready("alice", Duration::from_secs(1)).await?; // 10 ms later
    /// let refused = limiter.until_ready("alice", Duration::from_millis(1)).await;
    /// assert!(matches!(refused, Err(NotReady::TooLong { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NotReady`] says whether a longer wait would help.
    pub fn until_ready<K: Hash + ?Sized>(
        &self,
        key: &K,
        max_wait: Duration,
    ) -> impl Future<Output = Result<Decision, NotReady>> + Send + use<'_, K> {
        let place = self.place(key);
        async move {
            // No deadline at all if it lies beyond what the clock can say.
            let deadline = Instant::now().checked_add(max_wait);
            loop {
                let decision = self.act_at(place, Act::Take { cost: Cost::ONE });
                let retry_after = match decision.fit {
                    Fit::Denied { retry_after } => retry_after,
                    Fit::Impossible => return Err(NotReady::Never),
                    _ => return Ok(decision),
                };
                let wait = Duration::from(retry_after);
                let wakes = Instant::now().checked_add(wait);
                if deadline.is_some_and(|deadline| wakes.is_none_or(|wakes| wakes > deadline)) {
                    return Err(NotReady::TooLong { retry_after });
                }
                sleep(wait).await;
            }
        }
    }
}
