//! What is said and done about connections that cannot be accepted.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Pause after a failed accept: out of file descriptors, most likely.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepting works again once it has not failed for so long: at the limit of open files every
/// client that leaves lets one in, and the next one fails.
const CALM: Duration = Duration::from_secs(5);

/// How accepting goes on one listener. The log speaks once for each change.
pub(crate) struct Accepting {
    /// Whose listener it is.
    whose: &'static str,
    /// The last failure of those that have not ended yet.
    failed_at: Option<Instant>,
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    Fails,
    Works,
}

impl Accepting {
    pub(crate) const fn new(whose: &'static str) -> Self {
        Self {
            whose,
            failed_at: None,
        }
    }

    /// Takes note of one attempt, and rests if it failed.
    pub(crate) async fn note(&mut self, accepted: io::Result<()>) {
        let error = match accepted {
            // The client was gone before its turn: no fault of ours.
            Err(error) if error.kind() != io::ErrorKind::ConnectionAborted => Some(error),
            _ => None,
        };
        let whose = self.whose;
        match (self.change(error.is_some()), &error) {
            (Some(Change::Fails), Some(error)) => tracing::warn!(
                %error,
                "connections to {whose} are not accepted, and tried again until they are"
            ),
            (Some(Change::Works), _) => {
                tracing::info!("connections to {whose} are accepted again");
            }
            _ => {}
        }
        if error.is_some() {
            sleep(PAUSE).await;
        }
    }

    fn change(&mut self, has_failed: bool) -> Option<Change> {
        if has_failed {
            let before = self.failed_at.replace(Instant::now());
            return before.is_none().then_some(Change::Fails);
        }
        self.failed_at.take_if(|at| at.elapsed() >= CALM)?;
        Some(Change::Works)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_change_is_told_once() {
        let mut accepting = Accepting::new("a test");
        assert_eq!(accepting.change(false), None);
        assert_eq!(accepting.change(true), Some(Change::Fails));
        for _ in 0..100 {
            tokio::time::advance(PAUSE).await;
            assert_eq!(accepting.change(true), None);
            assert_eq!(accepting.change(false), None, "one in between is no change");
        }
        tokio::time::advance(CALM).await;
        assert_eq!(accepting.change(false), Some(Change::Works));
        assert_eq!(accepting.change(false), None);
        assert_eq!(accepting.change(true), Some(Change::Fails));
    }
}
