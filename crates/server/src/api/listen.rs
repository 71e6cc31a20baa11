//! The API's listener: bounded connections, bounded waits, a drain that ends.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use jeton::policy::DoorLimits;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::Api;
use crate::doors::{Doorkeeper, Guest};
use crate::proxy::{Accepting, Address, BindError, Listener, open};

/// How long a head may take, or a connection stay unused.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// How long calls in flight may take to end when the API is told to stop.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// The other end of a connection, which stands among the extensions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Its address; that of an IPv4 client is one, whatever the listener.
    Tcp(IpAddr),
    /// A Unix socket, which has none.
    Unix,
}

/// Who can reach a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Programs on this machine, and pages that its browsers show.
    Loopback,
    /// Whoever may open the socket's file; no browser.
    Socket,
    /// Others.
    Network,
}

/// An API that listens but does not accept yet.
pub struct Bound {
    listener: Listener,
    address: Address,
    keeper: Arc<Doorkeeper>,
}

/// Opens the API's listener, within a tokio runtime. Connections beyond the most wait in the listen
/// queue.
///
/// # Errors
/// If the address is in use, forbidden or not of this machine; the error says what to do.
pub fn bind(address: &Address, limits: DoorLimits) -> Result<Bound, BindError> {
    let (listener, address) = open(address)?;
    Ok(Bound {
        listener,
        address,
        keeper: Doorkeeper::new("api", limits),
    })
}

impl Bound {
    /// The address, with the port the system chose where 0 was asked for.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Who counts at this door.
    pub(crate) const fn keeper(&self) -> &Arc<Doorkeeper> {
        &self.keeper
    }

    /// Serves calls until `shutdown` completes and those in flight are answered.
    pub async fn serve(self, api: Api, shutdown: impl Future<Output = ()>) {
        let Self {
            listener,
            address,
            keeper,
        } = self;
        let router = api.router(match &address {
            Address::Tcp(tcp) if tcp.ip().is_loopback() => Reach::Loopback,
            Address::Tcp(_) => Reach::Network,
            Address::Unix(_) => Reach::Socket,
        });
        let (stop, stopped) = watch::channel(false);
        tokio::select! {
            () = accept_all(&listener, &router, &keeper, &stopped) => {}
            () = shutdown => {}
        }
        drop(listener);
        stop.send_replace(true);
        if !keeper.all_left(DRAIN_TIME).await {
            tracing::warn!("calls to the API still in flight are cut off");
        }
    }
}

async fn accept_all(
    listener: &Listener,
    router: &Router,
    keeper: &Doorkeeper,
    stopped: &watch::Receiver<bool>,
) {
    let mut accepting = Accepting::new("the API");
    loop {
        keeper.has_room().await;
        let (router, stopped) = (router.clone(), stopped.clone());
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, peer)| {
                let caller = Caller::Tcp(peer.ip().to_canonical());
                if let Some(guest) = keeper.admit() {
                    tokio::spawn(connection(stream, caller, router, stopped, guest));
                }
            }),
            Listener::Unix { listener, .. } => listener.accept().await.map(|(stream, _)| {
                if let Some(guest) = keeper.admit() {
                    tokio::spawn(connection(stream, Caller::Unix, router, stopped, guest));
                }
            }),
        };
        accepting.note(accepted).await;
    }
}

async fn connection<S>(
    stream: S,
    caller: Caller,
    router: Router,
    mut stopped: watch::Receiver<bool>,
    guest: Guest,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    // Who has asked and closed its sending side is still owed the answer to what it was charged.
    http.half_close(true);
    let calls = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(caller);
        calls.call(request)
    });
    let serving = http.serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => Some(ended),
        () = async { drop(stopped.wait_for(|stopped| *stopped).await) } => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        serving.as_mut().graceful_shutdown();
        serving.await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to the API broke off");
    }
    drop(guest);
}
