//! The door's listener: connections that are counted, bounded waits, a drain that ends.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use jeton::Gate;
use jeton::policy::Rls;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};

use super::patience::Patient;
use super::service::Service;
use super::tls::{Identity, TlsError};
use crate::doors::{Doorkeeper, Guest};
use crate::metrics::Metrics;
use crate::proxy::{Accepting, Address, BindError, Listener, open};

/// How long a head or a handshake may take.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// A peer that is silent so long is asked whether it is still there, and has as long to say so.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// How long calls in flight may take to end when the door is told to stop.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// Bytes of one call that may come before they are read; no message is longer.
const WINDOW: u32 = 64 << 10;

/// Calls of one connection at once; more wait for their turn, in the client.
const STREAMS: u32 = 512;

/// A door that listens but does not accept yet.
pub struct Bound {
    listener: Listener,
    address: Address,
    keeper: Arc<Doorkeeper>,
    tls: Option<Arc<Identity>>,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Why a door for Envoy does not open; says what to do.
#[derive(Debug)]
pub enum OpenError {
    /// Its address cannot be had.
    Bind(BindError),
    /// What it shows or asks for is not there.
    Tls(TlsError),
}

/// Opens the listener of an `[rls]`, within a tokio runtime, for at most so many connections.
///
/// # Errors
/// [`OpenError`] says what to do.
pub fn bind(address: &Address, rls: &Rls, connections: u32) -> Result<Bound, OpenError> {
    let identity = rls.tls.as_ref().map(Identity::open).transpose();
    let tls = identity.map_err(OpenError::Tls)?.map(Arc::new);
    let (listener, address) = open(address).map_err(OpenError::Bind)?;
    let mut limits = rls.limits;
    limits.max_connections = connections.min(limits.max_connections);
    Ok(Bound {
        listener,
        address,
        keeper: Doorkeeper::new("rls", limits),
        tls,
    })
}

/// What serves every connection.
#[derive(Clone)]
struct Door {
    service: Service,
    keeper: Arc<Doorkeeper>,
    tls: Option<Arc<Identity>>,
    http: auto::Builder<TokioExecutor>,
    stopped: watch::Receiver<bool>,
    /// Held for as long as the connection lives.
    _here: mpsc::Sender<()>,
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
    pub async fn serve(
        self,
        gate: Gate,
        metrics: Arc<Metrics>,
        shutdown: impl Future<Output = ()>,
    ) {
        let Self {
            listener,
            address: _,
            keeper,
            tls,
        } = self;
        let service = Service::new(keeper.gate(&gate), metrics).await;
        let (stop, stopped) = watch::channel(false);
        // Every connection holds a sender: when all are gone, so are they.
        let (here, mut left) = mpsc::channel::<()>(1);
        let door = Door {
            service: service.clone(),
            keeper,
            tls: tls.clone(),
            http: http(),
            stopped,
            _here: here,
        };
        tokio::select! {
            () = accept_all(&listener, &door) => {}
            () = follow(tls.as_deref()) => {}
            () = shutdown => {}
        }
        drop((listener, door));
        service.drain().await;
        stop.send_replace(true);
        if tokio::time::timeout(DRAIN_TIME, left.recv()).await.is_err() {
            tracing::warn!("calls of Envoy still in flight are cut off");
        }
    }
}

/// Never ends.
async fn follow(tls: Option<&Identity>) {
    match tls {
        Some(tls) => tls.follow().await,
        None => std::future::pending().await,
    }
}

fn http() -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(KEEPALIVE))
        .keep_alive_timeout(KEEPALIVE)
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(8 * WINDOW)
        .max_header_list_size(16 << 10);
    http
}

async fn accept_all(listener: &Listener, door: &Door) {
    let mut accepting = Accepting::new("the door for Envoy");
    loop {
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                // It helps and is not needed: a peer may be gone again by now.
                drop(stream.set_nodelay(true));
                welcome(stream, door);
            }),
            Listener::Unix { listener, .. } => listener
                .accept()
                .await
                .map(|(stream, _)| welcome(stream, door)),
        };
        accepting.note(accepted).await;
    }
}

/// A connection beyond the most is closed at once: Envoy then goes by its `failure_mode_deny`.
fn welcome<S>(stream: S, door: &Door)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(guest) = door.keeper.admit() else {
        return;
    };
    let door = door.clone();
    tokio::spawn(async move {
        match &door.tls {
            None => connection(stream, &door).await,
            Some(tls) => match tokio::time::timeout(HEAD_TIME, tls.acceptor().accept(stream)).await
            {
                Ok(Ok(stream)) => connection(stream, &door).await,
                Ok(Err(error)) => tracing::debug!(%error, "a caller did not come in"),
                Err(_) => tracing::debug!("a caller did not say who it is in time"),
            },
        }
        leave(guest, door);
    });
}

fn leave(guest: Guest, door: Door) {
    drop((guest, door));
}

async fn connection<S>(stream: S, door: &Door)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let serving = door.http.serve_connection(
        TokioIo::new(Patient::new(stream, HEAD_TIME)),
        door.service.clone(),
    );
    let mut serving = std::pin::pin!(serving);
    let mut stopped = door.stopped.clone();
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
        tracing::debug!(%error, "a connection of Envoy broke off");
    }
}
