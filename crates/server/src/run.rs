//! Everything a policy names: bound together, served together, drained in order.

mod doors;
mod logging;
mod open_files;
mod outages;
mod policy_file;
mod reload;
mod settings;
mod signals;
mod start_error;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use jeton::policy::Policy;
use jeton::{Clock, Gate};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use crate::api::{self, Api};
use crate::door::Door;
use crate::metrics::Metrics;
use crate::proxy::{self, Address};
use crate::store::{self, Backend, Need, Opened};
use crate::{resp, rls};
use doors::Doors;
pub use logging::start_logging;
use open_files::{Connections, make_room};
use outages::Outages;
pub use policy_file::{PolicyFile, Seen, Unreadable};
pub use reload::Reload;
pub use settings::{address_of, proxy_settings};
pub use signals::{HangUps, Signals};
pub use start_error::StartError;

/// The policies of a process are counted from here.
const FIRST_GENERATION: u64 = 1;

/// What a policy names, listening and not yet serving.
pub struct Service {
    gate: Gate,
    metrics: Arc<Metrics>,
    doors: Doors,
    reload: Option<Reload>,
    /// What the log is told of the store.
    outages: Outages,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}

impl Service {
    /// Opens the store and every listener that `policy` names, within a tokio runtime. A store that
    /// does not answer now is told to the log, and its outage rule speaks until it does.
    ///
    /// # Errors
    /// [`StartError`]: nothing to serve, a store that can never decide, or an address that cannot be
    /// had.
    pub async fn bind(policy: Policy) -> Result<Self, StartError> {
        let settings = policy.settings().clone();
        if !settings.has_doors() {
            return Err(StartError::NothingToServe);
        }
        let Opened { store, away } = store::open(&settings.store, Need::Decisions).await?;
        let gate = Gate::new(policy, store.shared(), Clock::system());
        let metrics = Metrics::new(gate.clone(), store.clone(), FIRST_GENERATION);
        let metrics = Arc::new(metrics);
        let wanted = Connections::wanted(&settings);
        let room = make_room(wanted);
        let doors = Doors::open(&settings, room.connections)?;
        for keeper in doors.keepers().into_iter().flatten() {
            metrics.watch(keeper);
        }
        room.report(wanted);
        let outages = Outages::beginning(store, away.as_ref(), &gate.policy());
        if away.is_none() {
            // From its first request on, it goes by what operators have said to others.
            let _ = gate.refresh_orders().await;
        }
        Ok(Self {
            gate,
            metrics,
            doors,
            reload: None,
            outages,
        })
    }

    /// Follows the file that its policy was read from while it serves.
    #[must_use]
    pub fn reloading(self, reload: Reload) -> Self {
        Self {
            reload: Some(reload),
            ..self
        }
    }

    /// Where clients of the proxy connect.
    pub fn proxy_address(&self) -> Option<&Address> {
        self.doors.proxy.as_ref().map(proxy::Bound::address)
    }

    /// Where clients of the API connect.
    pub fn api_address(&self) -> Option<&Address> {
        self.doors.api.as_ref().map(api::Bound::address)
    }

    /// Where Redis clients connect.
    pub fn resp_address(&self) -> Option<&Address> {
        self.doors.resp.as_ref().map(resp::Bound::address)
    }

    /// Where Envoy connects.
    pub fn rls_address(&self) -> Option<&Address> {
        self.doors.rls.as_ref().map(rls::Bound::address)
    }

    /// Where the states are.
    pub fn store(&self) -> &Backend {
        self.metrics.store()
    }

    /// What decides.
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Serves until `until` completes. Then readiness is withdrawn, the proxy and the doors for Redis clients and Envoy finish
    /// what is in flight, and the API, which tells how that goes, is the last to leave.
    pub async fn serve(self, until: impl Future<Output = ()>) {
        let Self {
            gate,
            metrics,
            doors,
            reload,
            outages,
        } = self;
        let Doors {
            proxy,
            api,
            resp,
            rls,
        } = doors;
        let store = metrics.store().clone();
        let driven = gate.clone();
        let driving = Aborting(tokio::spawn(async move { driven.drive().await }));
        let telling = Aborting(tokio::spawn(outages.tell(gate.clone())));
        let reload = reload.map(|reload| {
            let following = reload.follow(gate.clone(), Arc::clone(&metrics));
            Aborting(tokio::spawn(following))
        });
        let (stop, stopped) = watch::channel(Phase::Serving);
        let asked = api.as_ref().map(|api| api.keeper().gate(&gate));
        let calls = Api::new(asked.unwrap_or_else(|| gate.clone()), Arc::clone(&metrics));
        let api = api.map(|api| {
            let over = reaches(stopped.clone(), Phase::Over);
            tokio::spawn(api.serve(calls.clone(), over))
        });
        let resp = resp.map(|resp| {
            let draining = reaches(stopped.clone(), Phase::Draining);
            tokio::spawn(resp.serve(gate.clone(), Arc::clone(&metrics), draining))
        });
        let rls = rls.map(|rls| {
            let draining = reaches(stopped.clone(), Phase::Draining);
            tokio::spawn(rls.serve(gate.clone(), Arc::clone(&metrics), draining))
        });
        let proxy = proxy.map(|proxy| {
            let draining = reaches(stopped.clone(), Phase::Draining);
            let door = Door::new(proxy.keeper().gate(&gate), metrics);
            tokio::spawn(proxy.serve(Arc::new(door), draining))
        });
        until.await;
        drop(reload);
        calls.drain();
        stop.send_replace(Phase::Draining);
        if let Some(proxy) = proxy {
            ended("the proxy", proxy.await);
        }
        if let Some(resp) = resp {
            ended("the Redis door", resp.await);
        }
        if let Some(rls) = rls {
            ended("the door for Envoy", rls.await);
        }
        stop.send_replace(Phase::Over);
        if let Some(api) = api {
            ended("the API", api.await);
        }
        // Nobody asks any more, and nobody takes ahead.
        drop(driving);
        gate.drain().await;
        drop(telling);
        store.leave().await;
    }
}

/// A task that never ends by itself.
struct Aborting(JoinHandle<()>);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    Draining,
    Over,
}

async fn reaches(mut phase: watch::Receiver<Phase>, wanted: Phase) {
    // A sender that is gone has nothing more to say either.
    drop(phase.wait_for(|phase| *phase >= wanted).await);
}

fn ended(what: &str, task: Result<(), JoinError>) {
    if let Err(error) = task {
        tracing::error!(%error, "{what} ended by a fault of its own");
    }
}
