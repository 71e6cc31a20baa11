//! What the system tells this process.

use std::future::pending;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals, caught from the moment this exists.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Option<Signal>,
    /// Caught, so that a file that may not grow is an error of its write, and not the end.
    _file_too_large: Signal,
}

/// SIGXFSZ, which has the same number on every Linux but MIPS and PA-RISC.
const FILE_TOO_LARGE: i32 = 25;

/// Every SIGHUP of this process.
#[derive(Debug)]
pub struct HangUps(Signal);

impl HangUps {
    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        recv(Some(&mut self.0)).await;
    }
}

impl Signals {
    /// Catches SIGTERM, SIGINT, SIGHUP and SIGXFSZ from now on.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: Some(signal(SignalKind::hangup())?),
            _file_too_large: signal(SignalKind::from_raw(FILE_TOO_LARGE))?,
        })
    }

    /// SIGHUP, for whoever does something about it; none if it has been taken before.
    pub fn take_hang_ups(&mut self) -> Option<HangUps> {
        self.hang_up.take().map(HangUps)
    }

    /// Waits until the process is told to stop; gives the signal's name.
    ///
    /// A SIGHUP that nobody took does not end the process, as it would by default: it is how
    /// reloads are asked for, and who asks must not be left without a service.
    pub async fn stop(&mut self) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                () = recv(self.hang_up.as_mut()) => tracing::warn!(
                    "SIGHUP: there is no policy file to read again; to change the limits while \
                     serving, start with jeton serve --config FILE"
                ),
            }
        }
    }
}

/// Waits for a signal that may not be there, or not come again.
async fn recv(signal: Option<&mut Signal>) {
    let received = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if received.is_none() {
        pending::<()>().await;
    }
}
