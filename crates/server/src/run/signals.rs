//! What the system tells this process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals, caught from the moment this exists.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Catches SIGTERM, SIGINT and SIGHUP from now on.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits until the process is told to stop; gives the signal's name.
    ///
    /// A SIGHUP does not end the process, as it would by default: it is how reloads will be asked
    /// for, and who asks must not be left without a service.
    pub async fn stop(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hang_up.recv() => tracing::warn!(
                    "SIGHUP: reloading is not supported by this version; restart to read the policy \
                     again"
                ),
            }
        }
    }
}
