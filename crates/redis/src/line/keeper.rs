//! The side that opens a line, and opens it again.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::{Open, State};
use crate::names::Names;
use crate::trouble::{Trouble, TroubleKind};
use crate::way::Way;

/// Between two attempts to open a line: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// The least time that opening may take: a handshake is several round trips.
const LEAST_TO_OPEN: Duration = Duration::from_secs(1);
/// An idle line is looked at this often, so that one that was cut is noticed before it is needed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Keeps a line open, and tells those who call how it is.
pub(super) struct Keeper {
    pub(super) way: Way,
    pub(super) names: Names,
    pub(super) timeout: Duration,
    pub(super) told: watch::Sender<State>,
    pub(super) hears: mpsc::Receiver<(u64, Trouble)>,
}

impl Keeper {
    pub(super) async fn run(mut self) {
        let mut pause = PAUSES.0;
        for number in 0.. {
            match self.open(number).await {
                Ok(open) => {
                    pause = PAUSES.0;
                    self.told.send_replace(State::Up(open.clone()));
                    let Some(trouble) = self.watch(open).await else {
                        return;
                    };
                    let state = if trouble.kind == TroubleKind::Hangs {
                        State::Down(trouble)
                    } else {
                        State::Connecting
                    };
                    self.told.send_replace(state);
                }
                Err(trouble) => {
                    self.told.send_replace(State::Down(trouble));
                    tokio::select! {
                        () = sleep(pause) => {}
                        () = self.told.closed() => return,
                    }
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    /// Opens a line and tries it out. Callers wait for it no longer than a call may take.
    async fn open(&self, number: u64) -> Result<Open, Trouble> {
        let is_there = AtomicBool::new(false);
        let opening = async {
            let connection = self.way.go().await?;
            is_there.store(true, Ordering::Relaxed);
            let mut open = Open { number, connection };
            let tried = open.try_out(&self.way, &self.names).await;
            tried.map(|()| open)
        };
        let mut opening = pin!(opening);
        if let Ok(opened) = timeout(self.timeout, &mut opening).await {
            return opened.map_err(|trouble| self.named(trouble));
        }
        self.told.send_if_modified(|state| {
            let they_wait = matches!(state, State::Connecting);
            if they_wait {
                *state = State::Down(self.named(Trouble::hangs()));
            }
            they_wait
        });
        let opened = timeout(LEAST_TO_OPEN, opening).await;
        let opened = opened.unwrap_or_else(|_| {
            Err(if is_there.load(Ordering::Relaxed) {
                Trouble::hangs()
            } else {
                self.way.silence()
            })
        });
        opened.map_err(|trouble| self.named(trouble))
    }

    /// Says whose trouble it is.
    fn named(&self, trouble: Trouble) -> Trouble {
        self.way.whom().name(trouble)
    }

    /// Waits until a caller has lost this line, or it is found cut; none when nobody calls any more.
    async fn watch(&mut self, mut open: Open) -> Option<Trouble> {
        loop {
            tokio::select! {
                heard = self.hears.recv() => match heard {
                    None => return None,
                    Some((number, trouble)) if number == open.number => return Some(trouble),
                    Some(_) => {}
                },
                () = sleep(LOOK_EVERY) => {
                    let ping = redis::cmd("PING");
                    let patience = LEAST_TO_OPEN.max(self.timeout);
                    let said = timeout(patience, open.send(&ping)).await;
                    if let Ok(Err(error)) = &said && !error.is_io_error() {
                        continue; // it answers, be it that this user may not ask
                    }
                    match said {
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => return Some(self.named(Trouble::from(&error))),
                        Err(_) => return Some(self.named(Trouble::hangs())),
                    }
                }
            }
        }
    }
}
