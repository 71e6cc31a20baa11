//! Where the states of a simulation are: in memory, or for its time on a server.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use jeton::policy::{self, Policy};
use jeton::{Answered, Clock, Disposition, Gate, Micros};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

use crate::cli::failure::Failure;
use crate::engine::{Failed, Outcome};
use crate::run::Signals;
use crate::store::{Rented, Seeding, TIMEOUT, table_for};

/// Removing what is left takes as long as a server has keys, but nobody waits for ever.
const LEAVE_WITHIN: Duration = Duration::from_secs(30);

/// Where the states of a simulation are.
pub(super) enum Place {
    /// In the memory of this process.
    Memory(Runtime),
    /// On a server, under a prefix of their own.
    Server {
        runtime: Handle,
        rented: Rented,
        /// Whoever changes something there holds it.
        turn: Arc<Mutex<()>>,
    },
}

impl Place {
    /// In the memory of this process.
    pub(super) fn memory() -> Result<Self, Failure> {
        let built = Builder::new_current_thread().enable_all().build();
        built.map(Self::Memory).map_err(Failure::new)
    }

    /// A gate to this place, on a clock that moves by hand.
    pub(super) fn gate(&self, policy: Policy) -> Result<Gate, Failure> {
        let table = || table_for(&policy.settings().store, Seeding::Repeatable);
        let store = match self {
            Self::Memory(_) => Arc::new(table().map_err(Failure::new)?) as _,
            Self::Server { rented, .. } => rented.backend().shared(),
        };
        Ok(Gate::new(
            asked_always(policy),
            store,
            Clock::fixed(Micros::ZERO),
        ))
    }

    /// Does something there, and waits for it.
    pub(super) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        match self {
            // It answers at once, without a runtime's doing.
            Self::Memory(runtime) => {
                let cx = &mut Context::from_waker(Waker::noop());
                match work.as_mut().poll(cx) {
                    Poll::Ready(done) => done,
                    Poll::Pending => runtime.block_on(work),
                }
            }
            Self::Server { runtime, turn, .. } => runtime.block_on(async {
                let _turn = turn.lock().await;
                work.await
            }),
        }
    }

    /// What an outage rule says is no result of a trace.
    pub(super) fn vet(&self, outcome: &Outcome) -> Result<(), Failed> {
        match (self, outcome.answered().map(Answered::disposition)) {
            (Self::Server { .. }, Some(Disposition::Degraded { error: why, .. })) => {
                let is_server = true;
                Err(Failed::Store { why, is_server })
            }
            _ => Ok(()),
        }
    }

    /// Why it gave no decision, if that is the reason.
    pub(super) fn words(&self, failed: &Failed) -> Option<String> {
        match (failed, self) {
            (Failed::Store { why, .. }, Self::Server { rented, .. }) => Some(rented.words(*why)),
            _ => None,
        }
    }
}

/// Does `work` on the server at `url`, on a thread of its own: it may wait for input when a signal
/// ends it. What it has put there is removed, however it ends.
pub(super) fn on_server(
    url: &str,
    work: impl FnOnce(Place) -> Result<(), Failure> + Send + 'static,
) -> Result<(), Failure> {
    let built = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    built.map_err(Failure::new)?.block_on(async {
        let mut signals = Signals::catch().map_err(Failure::new)?;
        let rented = Rented::at(url).await;
        let rented =
            rented.map_err(|why| Failure::new(format!("--store cannot be used: {why}")))?;
        let turn = Arc::<Mutex<()>>::default();
        let place = Place::Server {
            runtime: Handle::current(),
            rented: rented.clone(),
            turn: Arc::clone(&turn),
        };
        let (end, ended) = oneshot::channel();
        thread::spawn(move || end.send(work(place)));
        let told = tokio::select! {
            told = ended => told.unwrap_or_else(|_| Err(Failure::new("the run broke off"))),
            signal = signals.stop() => Err(Failure::new(format!("{signal}: the run was stopped"))),
        };
        // Whoever still wants something there waits until the process is gone.
        std::mem::forget(turn.lock_owned().await);
        let left = tokio::select! {
            left = leave(&rented) => left,
            signal = signals.stop() => Err(left_behind(&signal)),
        };
        told.and(left.map_err(Failure::new))
    })
}

/// The same policy under a store that is asked about every event, and waited for.
fn asked_always(policy: Policy) -> Policy {
    let mut store = policy::Store::default();
    store.timeout = 2 * TIMEOUT;
    policy.over(store)
}

async fn leave(rented: &Rented) -> Result<(), String> {
    match timeout(LEAVE_WITHIN, rented.leave()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(left_behind(&rented.words(error.kind))),
        Err(_) => Err(left_behind(&"that takes too long")),
    }
}

fn left_behind(why: &dyn std::fmt::Display) -> String {
    format!(
        "what the run wrote to the store was not removed, and goes by itself when its limits are \
         over: {why}"
    )
}
