//! The threads that serve Redis clients. Each has a runtime of its own, so that a command is read, decided and
//! answered where it came, and nobody wakes another thread for it: where memory decides, that is a good
//! part of what a command costs.

use std::io;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use tokio::sync::mpsc;

/// All that is done for one client.
type Visit = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Threads that serve clients. They end when this goes, and cut off whoever is still there.
pub(super) struct Crew {
    hands: Vec<mpsc::UnboundedSender<Visit>>,
    next: AtomicUsize,
}

impl Crew {
    /// A thread for each two cores: clients, and whatever else is done here, need theirs. Where there can be
    /// none, the runtime that this is called on serves.
    pub(super) fn start() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let hands = (0..cores.div_ceil(2)).map(|_| hand());
        let hands = hands.collect::<io::Result<Vec<_>>>();
        if let Err(error) = &hands {
            tracing::warn!(%error, "no threads of their own for Redis clients");
        }
        Self {
            hands: hands.unwrap_or_default(),
            next: AtomicUsize::new(0),
        }
    }

    /// Has a client served by the next thread in turn.
    pub(super) fn serve(&self, visit: impl Future<Output = ()> + Send + 'static) {
        let turn = self.next.fetch_add(1, Relaxed);
        let hand = turn.checked_rem(self.hands.len());
        match hand.and_then(|hand| self.hands.get(hand)) {
            // Threads end after whoever sends to them.
            Some(hand) => drop(hand.send(Box::pin(visit))),
            None => drop(tokio::spawn(visit)),
        }
    }
}

fn hand() -> io::Result<mpsc::UnboundedSender<Visit>> {
    let (send, mut visits) = mpsc::unbounded_channel::<Visit>();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let serving = move || {
        runtime.block_on(async {
            while let Some(visit) = visits.recv().await {
                tokio::spawn(visit);
            }
        });
    };
    thread::Builder::new()
        .name("jeton-resp".to_owned())
        .spawn(serving)?;
    Ok(send)
}
