//! Connections to the upstream, kept open between requests.
//!
//! A connection is not a task of its own: whoever borrows it drives it, so that a request and its
//! response are read and written in one poll of one task. Unused ones are looked at when they are
//! borrowed, and swept now and then.

use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::nudge::Nudge;
use super::settings::{Settings, Target, Upstream};
use super::upload::Upload;

/// How often unused connections are looked at.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// hyper's smallest read buffer.
const MIN_BUFFER_BYTES: usize = 8 << 10;

/// The half that moves the bytes.
pub(super) type Wire = http1::Connection<TokioIo<TcpStream>, Upload>;

/// One connection to the upstream.
pub(super) struct Link {
    pub(super) sender: http1::SendRequest<Upload>,
    wire: Wire,
    nudge: Nudge,
    parked_at: Instant,
}

impl Link {
    pub(super) fn new(sender: http1::SendRequest<Upload>, wire: Wire) -> Box<Self> {
        Box::new(Self {
            sender,
            wire,
            nudge: Nudge::new(),
            parked_at: Instant::now(),
        })
    }

    /// Moves the connection's bytes; true when it has ended. From here on its events call the
    /// task of `cx`, until [`mute`](Self::mute) is called.
    pub(super) fn drive(&mut self, cx: &Context<'_>) -> bool {
        let mut cx = self.nudge.call(cx);
        Pin::new(&mut self.wire).poll(&mut cx).is_ready()
    }

    /// Its events call nobody until it is driven again.
    pub(super) fn mute(&self) {
        self.nudge.mute();
    }

    /// The two halves, for a connection that gets a task of its own.
    pub(super) fn split(self) -> (http1::SendRequest<Upload>, Wire) {
        (self.sender, self.wire)
    }

    fn is_alive(&mut self, cx: &Context<'_>) -> bool {
        let is_open = !self.drive(cx);
        self.mute();
        is_open && self.sender.is_ready()
    }
}

/// Why there is no connection to the upstream.
#[derive(Debug)]
pub(super) enum ConnectError {
    TimedOut,
    Io(io::Error),
    Setup(hyper::Error),
}

type Parked = Vec<Box<Link>>;

/// Unused connections, the latest on top.
pub(super) struct Pool {
    upstream: Upstream,
    idle: Mutex<Parked>,
    max_idle: usize,
    idle_time: Duration,
    connect_time: Duration,
    http: http1::Builder,
}

impl Pool {
    pub(super) fn new(settings: &Settings) -> Self {
        let limits = &settings.limits;
        let mut http = http1::Builder::new();
        http.max_header_size(limits.head_bytes.max(1 << 10));
        http.max_buf_size(buffer_bytes(limits.head_bytes));
        // Most requests are a head alone: one buffer, one plain write.
        http.writev(false);
        if let Some(fields) = unusual_fields(limits.head_fields) {
            http.max_headers(fields);
        }
        Self {
            upstream: settings.upstream.clone(),
            idle: Mutex::new(Vec::new()),
            max_idle: limits.idle_upstreams,
            idle_time: settings.timeouts.upstream_idle,
            connect_time: settings.timeouts.connect,
            http,
        }
    }

    pub(super) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    fn idle(&self) -> MutexGuard<'_, Parked> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An unused connection that is still open, and how long it has rested.
    pub(super) fn borrow(&self, cx: &Context<'_>) -> Option<(Box<Link>, Duration)> {
        loop {
            let mut link = self.idle().pop()?;
            let rested = link.parked_at.elapsed();
            if rested < self.idle_time && link.is_alive(cx) {
                return Some((link, rested));
            }
        }
    }

    /// Gives a connection back whose response has ended; closes it if it cannot serve another.
    pub(super) fn park(&self, mut link: Box<Link>) {
        if !link.sender.is_ready() {
            return;
        }
        link.parked_at = Instant::now();
        let mut idle = self.idle();
        if idle.len() < self.max_idle {
            idle.push(link);
        }
    }

    /// Closes what has rested too long or was closed by the upstream.
    pub(super) fn sweep(&self) {
        let cx = Context::from_waker(Waker::noop());
        self.idle()
            .retain_mut(|link| link.parked_at.elapsed() < self.idle_time && link.is_alive(&cx));
    }

    /// A new connection.
    pub(super) async fn connect(&self) -> Result<Box<Link>, ConnectError> {
        let stream = async {
            match &self.upstream.target {
                Target::Address(address) => TcpStream::connect(address).await,
                Target::Name(host, port) => TcpStream::connect((&**host, *port)).await,
            }
        };
        let stream = timeout(self.connect_time, stream)
            .await
            .map_err(|_| ConnectError::TimedOut)?
            .map_err(ConnectError::Io)?;
        stream.set_nodelay(true).map_err(ConnectError::Io)?;
        let opened = self.http.handshake(TokioIo::new(stream)).await;
        let (sender, wire) = opened.map_err(ConnectError::Setup)?;
        Ok(Link::new(sender, wire))
    }
}

/// The most a connection may buffer: room for a head, and enough for bodies to flow.
pub(super) fn buffer_bytes(head_bytes: usize) -> usize {
    head_bytes.max(64 << 10).max(MIN_BUFFER_BYTES)
}

/// A bound on fields that has to be set: hyper's own needs no allocation.
pub(super) fn unusual_fields(fields: usize) -> Option<usize> {
    const USUAL: usize = 100;
    (fields != USUAL).then_some(fields)
}
