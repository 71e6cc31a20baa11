//! How long a client is waited for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// How long the rest of a command may take to come, or answers to be taken.
const STALL: Duration = Duration::from_secs(10);

/// What a client is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// To ask something.
    ForCommand,
    /// To send the rest of a command.
    ForRest,
    /// To take what is sent.
    ToSend,
}

/// How long a client has been waited for. Its timer is set anew when it rings, not whenever something
/// comes.
pub(super) struct Patience {
    idle: Duration,
    /// What the timer was set for.
    since: Option<(Waiting, Instant)>,
    timer: Pin<Box<Sleep>>,
}

impl Patience {
    pub(super) fn new(idle: Duration) -> Self {
        Self {
            idle,
            since: None,
            timer: Box::pin(sleep(idle)),
        }
    }

    /// A command was read, or some answer was taken.
    pub(super) const fn progressed(&mut self) {
        self.since = None;
    }

    /// Whether the client has been waited for long enough. Else it will be asked again in time.
    pub(super) fn poll_lost(&mut self, waiting: Waiting, cx: &mut Context<'_>) -> bool {
        let since = match self.since {
            Some((what, since)) if what == waiting => since,
            _ => {
                let now = Instant::now();
                self.since = Some((waiting, now));
                now
            }
        };
        let patience = match waiting {
            Waiting::ForCommand => self.idle,
            Waiting::ForRest | Waiting::ToSend => STALL.min(self.idle),
        };
        let deadline = since + patience;
        if self.timer.deadline() > deadline {
            self.timer.as_mut().reset(deadline);
        }
        while self.timer.as_mut().poll(cx) == Poll::Ready(()) {
            if Instant::now() >= deadline {
                return true;
            }
            self.timer.as_mut().reset(deadline);
        }
        false
    }
}
