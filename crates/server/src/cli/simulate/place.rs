//! Where the states of a simulation are: in memory, or for its time on a server.

use std::io::{self, Write as _};
use std::pin::pin;
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jeton::policy::{self, Policy};
use jeton::{Answered, Clock, Disposition, Gate, Micros};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::cli::failure::Failure;
use crate::engine::{Failed, Outcome};
use crate::run::Signals;
use crate::store::{Rented, Seeding, TIMEOUT, table_for};

/// Removing what is left takes as long as a server has keys, but nobody waits for ever.
const LEAVE_WITHIN: Duration = Duration::from_secs(30);

/// Where the states of a simulation are.
pub(super) struct Place {
    runtime: Runtime,
    server: Option<Server>,
}

/// A place on a server.
struct Server {
    rented: Rented,
    /// Whoever changes something there holds it; whoever has removed everything keeps it.
    turn: Arc<Mutex<()>>,
}

impl Place {
    /// In the memory of this process.
    pub(super) fn memory() -> Result<Self, Failure> {
        let built = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: built.map_err(Failure::new)?,
            server: None,
        })
    }

    /// On the server at `url`, until [`Place::leave`] or a signal that ends the process.
    pub(super) fn at(url: &str) -> Result<Self, Failure> {
        let built = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = built.map_err(Failure::new)?;
        let rented = runtime.block_on(Rented::at(url));
        let rented =
            rented.map_err(|why| Failure::new(format!("--store cannot be used: {why}")))?;
        let turn = Arc::new(Mutex::new(()));
        let signals = {
            let _within = runtime.enter();
            Signals::catch().map_err(Failure::new)?
        };
        runtime.spawn(stop(signals, rented.clone(), Arc::clone(&turn)));
        let server = Some(Server { rented, turn });
        Ok(Self { runtime, server })
    }

    /// A gate to this place, on a clock that moves by hand.
    pub(super) fn gate(&self, policy: Policy) -> Result<Gate, Failure> {
        let clock = Clock::fixed(Micros::ZERO);
        let Some(server) = &self.server else {
            let table = table_for(&policy.settings().store, Seeding::Repeatable);
            let table = table.map_err(Failure::new)?;
            return Ok(Gate::new(in_memory(policy), Arc::new(table), clock));
        };
        let store = server.rented.backend().shared();
        Ok(Gate::new(in_memory(policy), store, clock))
    }

    /// Does something there, and waits for it.
    pub(super) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(server) = &self.server else {
            let mut work = pin!(work);
            // Memory answers at once, without a runtime's doing.
            let first = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            return match first {
                Poll::Ready(done) => done,
                Poll::Pending => self.runtime.block_on(work),
            };
        };
        let _turn = held(&server.turn);
        self.runtime.block_on(work)
    }

    /// What an outage rule says is no result of a trace.
    pub(super) fn vet(&self, outcome: &Outcome) -> Result<(), Failed> {
        match outcome.answered().map(Answered::disposition) {
            Some(Disposition::Degraded { error, .. }) if self.server.is_some() => {
                Err(Failed::Store(error))
            }
            _ => Ok(()),
        }
    }

    /// Why it gave no decision, if that is the reason.
    pub(super) fn words(&self, failed: &Failed) -> Option<String> {
        match (failed, &self.server) {
            (Failed::Store(why), Some(server)) => Some(server.rented.words(*why)),
            _ => None,
        }
    }

    /// Removes everything that was put there.
    pub(super) fn leave(self) -> Result<(), Failure> {
        let Some(Server { rented, turn }) = self.server else {
            return Ok(());
        };
        // A signal finds nothing to remove any more.
        let _turn = held(&turn);
        self.runtime.block_on(leave(&rented)).map_err(Failure::new)
    }
}

/// The same policy under settings of a store that nothing is kept or taken ahead of: each event is
/// asked about, and waited for.
fn in_memory(policy: Policy) -> Policy {
    let mut store = policy::Store::default();
    store.timeout = 2 * TIMEOUT;
    policy.over(store)
}

/// Removes everything, then ends the process. A second signal does not wait for that.
async fn stop(mut signals: Signals, rented: Rented, turn: Arc<Mutex<()>>) {
    let signal = signals.stop().await;
    let removing = tokio::task::spawn_blocking(move || {
        let _turn = held(&turn);
        let left = tokio::runtime::Handle::current().block_on(leave(&rented));
        let said = match left {
            Ok(()) => format!("{signal}: stopped; nothing is left in the store"),
            Err(why) => format!("{signal}: stopped; {why}"),
        };
        drop(writeln!(io::stderr(), "error: {said}"));
        exit(1)
    });
    tokio::select! {
        _ = removing => {}
        _ = signals.stop() => exit(1),
    }
}

async fn leave(rented: &Rented) -> Result<(), String> {
    let why = match timeout(LEAVE_WITHIN, rented.leave()).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => rented.words(error.kind),
        Err(_) => "it takes too long".to_owned(),
    };
    Err(format!(
        "what the run wrote to the store could not be removed, and goes by itself when its limits \
         are over: {why}"
    ))
}

fn held(turn: &Mutex<()>) -> MutexGuard<'_, ()> {
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}
