//! Binding, accepting, stopping.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use hyper::server::conn::http1;
use jeton::policy::DoorLimits;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::time::interval;

use super::accepting::Accepting;
use super::admission::{Admission, Peer};
use super::connection::{self, Stop};
use super::departure::ClientSocket;
use super::failure::Complaints;
use super::forwarded::Forwarding;
use super::handle::{Engine, Visit};
use super::io::Drain;
use super::listen::{Address, BindError, Listener, open};
use super::pool::{Pool, SWEEP_EVERY, buffer_bytes, unusual_fields};
use super::pulse::Pulse;
use super::settings::{Settings, Timeouts};
use crate::doors::{Doorkeeper, Guest};

/// A client that is gone without a word is noticed after about two minutes.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A proxy that listens but does not accept yet.
pub struct Bound {
    listener: Listener,
    address: Address,
    settings: Settings,
    keeper: Arc<Doorkeeper>,
}

/// Opens the listener of a proxy, within a tokio runtime.
///
/// # Errors
///
/// If the address is in use, forbidden or not of this machine; the error says what to do.
pub fn bind(settings: Settings) -> Result<Bound, BindError> {
    let max_connections = u32::try_from(settings.limits.connections).unwrap_or(u32::MAX);
    let limits = DoorLimits {
        max_connections,
        ..DoorLimits::default()
    };
    bind_within(settings, limits)
}

/// The same within the limits of a door.
pub(crate) fn bind_within(settings: Settings, limits: DoorLimits) -> Result<Bound, BindError> {
    let (listener, address) = open(&settings.listen)?;
    Ok(Bound {
        listener,
        address,
        settings,
        keeper: Doorkeeper::new("proxy", limits),
    })
}

impl Bound {
    /// The address, with the port the system chose where 0 was asked for.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Who counts at this door.
    pub(crate) const fn keeper(&self) -> &Arc<Doorkeeper> {
        &self.keeper
    }

    /// Serves clients until `shutdown` completes and what was in flight then is answered, or
    /// [`Timeouts::shutdown`] has passed.
    pub async fn serve<A, F>(self, admission: Arc<A>, shutdown: F)
    where
        A: Admission,
        F: Future<Output = ()>,
    {
        let Self {
            listener,
            address: _,
            settings,
            keeper,
        } = self;
        let server = Arc::new(Server::new(&settings, admission));
        let accepting = accept_all(&listener, &server, &keeper);
        tokio::select! {
            () = shutdown => {}
            () = accepting => {}
            () = sweep(&server.engine.pool) => {}
        }
        drop(listener);
        server.stop.drain();
        if !keeper.all_left(settings.timeouts.shutdown).await {
            tracing::warn!("requests still in flight are cut off");
            server.stop.cut();
        }
    }
}

struct Server<A> {
    engine: Arc<Engine<A>>,
    http: http1::Builder,
    drain: Drain,
    timeouts: Timeouts,
    stop: Stop,
}

impl<A: Admission> Server<A> {
    fn new(settings: &Settings, admission: Arc<A>) -> Self {
        let Settings {
            limits,
            timeouts,
            via,
            ..
        } = settings;
        let mut http = http1::Builder::new();
        http.header_read_timeout(None);
        // A client that has said all it will is still owed its answer; see `departure`.
        http.half_close(true);
        http.max_header_size(limits.head_bytes.max(1 << 10));
        http.max_buf_size(buffer_bytes(limits.head_bytes));
        if let Some(fields) = unusual_fields(limits.head_fields) {
            http.max_headers(fields);
        }
        let engine = Engine {
            admission,
            pool: Arc::new(Pool::new(settings)),
            complaints: Complaints::new(),
            via: via.as_ref().and_then(via_field),
            drain_time: timeouts.drain,
        };
        Self {
            engine: Arc::new(engine),
            http,
            drain: Drain {
                bytes: limits.drain_bytes,
                time: timeouts.drain,
            },
            timeouts: timeouts.clone(),
            stop: Stop::default(),
        }
    }

    fn visit(&self, peer: Peer) -> Visit<A> {
        Visit {
            engine: Arc::clone(&self.engine),
            peer,
            forwarding: Forwarding::new(peer),
            pulse: Arc::new(Pulse::new(&self.timeouts)),
        }
    }

    fn spawn<S>(self: &Arc<Self>, stream: S, peer: Peer, guest: Guest)
    where
        S: ClientSocket,
    {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            let visit = server.visit(peer);
            connection::serve(stream, visit, &server.http, server.drain, &server.stop).await;
            drop(guest);
        });
    }
}

/// Accepts while there is room: whoever finds none waits, since HTTP has an answer only to requests.
async fn accept_all<A: Admission>(
    listener: &Listener,
    server: &Arc<Server<A>>,
    keeper: &Doorkeeper,
) {
    let mut accepting = Accepting::new("the proxy");
    loop {
        keeper.has_room().await;
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, address)| {
                prepare(&stream);
                if let Some(guest) = keeper.admit() {
                    server.spawn(stream, Peer::tcp(address), guest);
                }
            }),
            Listener::Unix { listener, .. } => listener.accept().await.map(|(stream, _)| {
                if let Some(guest) = keeper.admit() {
                    server.spawn(stream, Peer::unix(), guest);
                }
            }),
        };
        accepting.note(accepted).await;
    }
}

/// `received-protocol pseudonym` (RFC 9110, section 7.6.3).
fn via_field(pseudonym: &HeaderValue) -> Option<HeaderValue> {
    let field = [b"1.1 ", pseudonym.as_bytes()].concat();
    HeaderValue::from_maybe_shared(Bytes::from(field)).ok()
}

/// Both settings help and neither is needed: a client may be gone again by now.
fn prepare(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    let prepared = stream
        .set_nodelay(true)
        .and_then(|()| SockRef::from(stream).set_tcp_keepalive(&keepalive));
    if let Err(error) = prepared {
        tracing::debug!(%error, "a client's socket keeps its defaults");
    }
}

async fn sweep(pool: &Pool) {
    let mut every = pin!(interval(SWEEP_EVERY));
    loop {
        every.as_mut().get_mut().tick().await;
        pool.sweep();
    }
}
