//! Binding, accepting, stopping.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use hyper::server::conn::http1;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{interval, timeout};

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

/// More than a process can have; a semaphore could count them.
const MOST_CONNECTIONS: u32 = 1 << 28;

/// A client that is gone without a word is noticed after about two minutes.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A proxy that listens but does not accept yet.
pub struct Bound {
    listener: Listener,
    address: Address,
    settings: Settings,
}

/// Opens the listener of a proxy, within a tokio runtime.
///
/// # Errors
///
/// If the address is in use, forbidden or not of this machine; the error says what to do.
pub fn bind(settings: Settings) -> Result<Bound, BindError> {
    let (listener, address) = open(&settings.listen)?;
    Ok(Bound {
        listener,
        address,
        settings,
    })
}

impl Bound {
    /// The address, with the port the system chose where 0 was asked for.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Serves clients until `shutdown` completes and what was in flight then is answered, or
    /// [`Timeouts::shutdown`] has passed.
    pub async fn serve<A, F>(self, admission: Arc<A>, shutdown: F)
    where
        A: Admission,
        F: Future<Output = ()>,
    {
        let Self {
            listener, settings, ..
        } = self;
        let server = Arc::new(Server::new(&settings, admission));
        let most = settings
            .limits
            .connections
            .clamp(1, MOST_CONNECTIONS as usize);
        let room = Arc::new(Semaphore::new(most));
        let accepting = accept_all(&listener, &server, &room);
        tokio::select! {
            () = shutdown => {}
            () = accepting => {}
            () = sweep(&server.engine.pool) => {}
        }
        drop(listener);
        server.stop.drain();
        let all = u32::try_from(most).unwrap_or(MOST_CONNECTIONS);
        if timeout(settings.timeouts.shutdown, room.acquire_many(all))
            .await
            .is_err()
        {
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

    fn spawn<S>(self: &Arc<Self>, stream: S, peer: Peer, room: OwnedSemaphorePermit)
    where
        S: ClientSocket,
    {
        let server = Arc::clone(self);
        tokio::spawn(async move {
            let visit = server.visit(peer);
            connection::serve(stream, visit, &server.http, server.drain, &server.stop).await;
            drop(room);
        });
    }
}

/// Accepts while there is room. Ends only if the semaphore is closed, which nobody does.
async fn accept_all<A: Admission>(
    listener: &Listener,
    server: &Arc<Server<A>>,
    room: &Arc<Semaphore>,
) {
    let mut accepting = Accepting::new("the proxy");
    while let Ok(room) = Arc::clone(room).acquire_owned().await {
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, address)| {
                prepare(&stream);
                server.spawn(stream, Peer::tcp(address), room);
            }),
            Listener::Unix { listener, .. } => listener.accept().await.map(|(stream, _)| {
                server.spawn(stream, Peer::unix(), room);
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
