//! The door's listener: connections that are counted, and a drain that ends.

use std::fmt;
use std::future::Future;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jeton::Gate;
use jeton::policy::Resp;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, watch};

use super::connection::Connection;
use super::crew::Crew;
use super::protocol::{Version, Writer};
use super::session::{House, Session};
use crate::doors::{Doorkeeper, Guest};
use crate::metrics::Metrics;
use crate::proxy::{Accepting, Address, BindError, Listener, open};

/// How long commands in flight may take to be answered when the door is told to stop.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// A client that is silent so long is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A door that listens but does not accept yet.
pub struct Bound {
    listener: Listener,
    address: Address,
    keeper: Arc<Doorkeeper>,
    idle_timeout: Duration,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// What serves all clients.
pub(super) struct Door {
    pub(super) house: House,
    pub(super) idle_timeout: Duration,
    metrics: Arc<Metrics>,
    clients: AtomicU64,
}

impl Door {
    /// Notes so many decisions that were asked for together.
    pub(super) fn decided(&self, asked: Instant, decisions: usize) {
        self.metrics.decided_together(asked, decisions);
    }
}

/// Opens the listener of a `[resp]`, within a tokio runtime, for at most so many connections.
///
/// # Errors
/// If the address is in use, forbidden or not of this machine; the error says what to do.
pub fn bind(address: &Address, resp: &Resp, connections: u32) -> Result<Bound, BindError> {
    let (listener, address) = open(address)?;
    let mut limits = resp.limits;
    limits.max_connections = connections.min(limits.max_connections).max(1);
    Ok(Bound {
        listener,
        address,
        keeper: Doorkeeper::new("resp", limits),
        idle_timeout: resp.idle_timeout,
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

    /// Serves clients until `shutdown` completes, and then until commands in flight are answered.
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
            idle_timeout,
        } = self;
        let started = Instant::now();
        let door = Arc::new(Door {
            house: House {
                gate,
                keeper,
                started,
                shelf: Arc::default(),
            },
            idle_timeout,
            metrics,
            clients: AtomicU64::new(0),
        });
        let (stop, stopped) = watch::channel(false);
        // Every connection holds a sender: when all are gone, so are they.
        let (here, mut left) = mpsc::channel::<()>(1);
        let crew = Crew::start();
        tokio::select! {
            () = accept_all(&listener, &door, &stopped, &here, &crew) => {}
            () = shutdown => {}
        }
        drop((listener, here));
        stop.send_replace(true);
        if tokio::time::timeout(DRAIN_TIME, left.recv()).await.is_err() {
            tracing::warn!("commands of Redis clients still in flight are cut off");
        }
    }
}

async fn accept_all(
    listener: &Listener,
    door: &Arc<Door>,
    stopped: &watch::Receiver<bool>,
    here: &mpsc::Sender<()>,
    crew: &Crew,
) {
    let mut accepting = Accepting::new("the Redis door");
    let welcome = |stream| welcome(stream, door, stopped, here, crew);
    loop {
        let accepted = match listener {
            Listener::Tcp(listener) => {
                let accepted = listener.accept().await;
                accepted.and_then(|(stream, _)| {
                    prepare(&stream);
                    stream.into_std().map(Accepted::Tcp)
                })
            }
            Listener::Unix { listener, .. } => {
                let accepted = listener.accept().await;
                accepted.and_then(|(stream, _)| stream.into_std().map(Accepted::Unix))
            }
        };
        accepting.note(accepted.map(welcome)).await;
    }
}

/// A client's socket on its way to the thread that serves it.
enum Accepted {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

fn welcome(
    stream: Accepted,
    door: &Arc<Door>,
    stopped: &watch::Receiver<bool>,
    here: &mpsc::Sender<()>,
    crew: &Crew,
) {
    let Some(guest) = door.house.keeper.admit() else {
        return match stream {
            Accepted::Tcp(stream) => turn_away(stream),
            Accepted::Unix(stream) => turn_away(stream),
        };
    };
    let (door, stopped, here) = (Arc::clone(door), stopped.clone(), here.clone());
    crew.serve(async move {
        // It is watched by the thread that serves it.
        match stream {
            Accepted::Tcp(stream) => match TcpStream::from_std(stream) {
                Ok(stream) => serve(stream, &door, stopped, guest).await,
                Err(error) => unwatched(&error),
            },
            Accepted::Unix(stream) => match UnixStream::from_std(stream) {
                Ok(stream) => serve(stream, &door, stopped, guest).await,
                Err(error) => unwatched(&error),
            },
        }
        drop(here);
    });
}

fn unwatched(error: &io::Error) {
    tracing::warn!(%error, "a Redis client's socket cannot be watched, and is closed");
}

async fn serve<S>(stream: S, door: &Arc<Door>, mut stopped: watch::Receiver<bool>, guest: Guest)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let id = door.clients.fetch_add(1, Relaxed) + 1;
    let stopped = async move {
        // A sender that is gone has nothing more to say either.
        drop(stopped.wait_for(|is_stopped| *is_stopped).await);
    };
    Connection::new(stream, Session::new(id))
        .serve(door, stopped)
        .await;
    drop(guest);
}

/// Says why, in the words that Redis has for it, and that clients know. It fits into any socket that nothing
/// was sent to.
fn turn_away(mut stream: impl Write) {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Version::Two);
    writer.error(
        "ERR",
        "max number of clients reached: raise `max_connections` in [resp]",
    );
    if let Err(error) = stream.write_all(&out) {
        tracing::debug!(%error, "a client was turned away without a word");
    }
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
