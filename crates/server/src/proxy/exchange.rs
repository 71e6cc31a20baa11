//! One request to the upstream and the head of its response.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::SendRequest;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::pool::{ConnectError, Link, Pool, Wire};
use super::pulse::Pulse;
use super::settings::Upstream;
use super::upload::{Upload, UploadError};
use super::vet::Refusal;

/// A connection that rested this long may have been closed just now by an upstream that was tired
/// of waiting: worth a copy of the head, so that the request can be asked again. Busy connections
/// rest less, and nothing is copied.
const STALE_AFTER: Duration = Duration::from_millis(1);

/// How long an upstream may take to read the rest of an upload it has already answered.
const SETTLE_TIME: Duration = Duration::from_secs(5);

/// Why there is no response.
#[derive(Debug)]
pub(super) enum Failure {
    Connect(ConnectError),
    /// Closed or reset before the head of a response.
    Closed(Option<hyper::Error>),
    /// What came is not HTTP.
    Garbage(hyper::Error),
    /// It changed the protocol, which nobody asked for.
    Switched,
    /// No head of a response in time.
    Silent,
    /// The client stopped sending its body.
    Stalled,
    /// The client's body is malformed.
    Malformed,
    /// The client closed its connection amid its body.
    Gone,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.refusal().detail)?;
        match self {
            Self::Connect(ConnectError::Io(cause)) => write!(f, " ({cause})"),
            Self::Connect(ConnectError::Setup(cause))
            | Self::Closed(Some(cause))
            | Self::Garbage(cause) => write!(f, " ({cause})"),
            _ => Ok(()),
        }
    }
}

impl Failure {
    /// What the client is told.
    pub(super) fn refusal(&self) -> Refusal {
        let (status, detail) = match self {
            Self::Connect(ConnectError::TimedOut) => (
                StatusCode::GATEWAY_TIMEOUT,
                "The upstream does not accept connections in time.",
            ),
            Self::Connect(_) => (StatusCode::BAD_GATEWAY, "The upstream cannot be reached."),
            Self::Closed(_) => (
                StatusCode::BAD_GATEWAY,
                "The upstream closed the connection without an answer.",
            ),
            Self::Garbage(cause) if cause.is_parse_too_large() => (
                StatusCode::BAD_GATEWAY,
                "The head of the upstream's answer is too large.",
            ),
            Self::Garbage(_) | Self::Switched => (
                StatusCode::BAD_GATEWAY,
                "The upstream's answer is not HTTP.",
            ),
            Self::Silent => (
                StatusCode::GATEWAY_TIMEOUT,
                "The upstream did not answer in time.",
            ),
            Self::Stalled | Self::Gone => (
                StatusCode::REQUEST_TIMEOUT,
                "The request's body did not arrive in time.",
            ),
            Self::Malformed => (StatusCode::BAD_REQUEST, "The request's body is malformed."),
        };
        Refusal { status, detail }
    }

    /// Whether it is the client's doing.
    pub(super) fn is_clients(&self) -> bool {
        matches!(self, Self::Stalled | Self::Malformed | Self::Gone)
    }

    fn from_hyper(error: hyper::Error) -> Self {
        let cause = error
            .source()
            .and_then(|cause| cause.downcast_ref::<UploadError>());
        match cause {
            Some(upload) if upload.is_malformed() => Self::Malformed,
            Some(_) => Self::Gone,
            None if error.is_parse() => Self::Garbage(error),
            None => Self::Closed(Some(error)),
        }
    }
}

/// What brings the rest of a response.
pub(super) enum Carrier {
    /// A connection that the reader of the response drives.
    Here(Box<Link>),
    /// A connection with a task of its own, which takes the sender back when the response is over.
    Away {
        sender: SendRequest<Upload>,
        back: oneshot::Sender<SendRequest<Upload>>,
    },
}

enum Lost {
    /// Nothing of it was written.
    Unsent(Box<Request<Upload>>, Failure),
    Sent(Failure),
}

/// Reports what the upstream fails at, at most once a second.
pub(super) struct Complaints {
    start: Instant,
    /// The second of the last report, counted from 1.
    reported_at: AtomicU64,
    unreported: AtomicU64,
}

impl Complaints {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            reported_at: AtomicU64::new(0),
            unreported: AtomicU64::new(0),
        }
    }

    /// The upstream failed a request.
    pub(super) fn note(&self, upstream: &Upstream, failure: &Failure) {
        let second = self.start.elapsed().as_secs() + 1;
        if self.reported_at.swap(second, Relaxed) == second {
            self.unreported.fetch_add(1, Relaxed);
            return;
        }
        let unreported = self.unreported.swap(0, Relaxed);
        tracing::warn!(%upstream, %failure, unreported, "the upstream failed a request");
    }
}

/// Sends a request and waits for the head of the response.
///
/// A request of which nothing was written is sent again on another connection. One that was
/// written, on a connection that had rested, is asked once more if it is idempotent and has no
/// body. Nothing else is ever sent twice.
pub(super) async fn exchange(
    pool: &Arc<Pool>,
    pulse: &Arc<Pulse>,
    mut request: Request<Upload>,
) -> Result<(Response<Incoming>, Carrier), Failure> {
    let is_repeatable = request.body().is_over() && request.method().is_idempotent();
    let mut is_second = false;
    loop {
        let resting = if is_second {
            None
        } else {
            poll_fn(|cx| Poll::Ready(pool.borrow(cx))).await
        };
        let (link, rested) = match resting {
            Some((link, rested)) => (link, Some(rested)),
            None => (pool.connect().await.map_err(Failure::Connect)?, None),
        };
        let is_stale = rested.is_some_and(|rested| rested >= STALE_AFTER);
        let copy = (is_stale && is_repeatable).then(|| copy(&request, pulse));
        pulse.progress();
        request = match (send(pool, link, request, pulse).await, copy) {
            (Ok(answered), _) => return Ok(answered),
            (Err(Lost::Unsent(unsent, _)), _) if rested.is_some() => *unsent,
            (Err(Lost::Sent(Failure::Closed(_))), Some(copy)) => copy,
            (Err(Lost::Unsent(_, failure) | Lost::Sent(failure)), _) => return Err(failure),
        };
        is_second = true;
    }
}

fn copy(request: &Request<Upload>, pulse: &Arc<Pulse>) -> Request<Upload> {
    let mut copy = Request::new(Upload::empty(Arc::clone(pulse)));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// A body that may block its client is carried by a task of its own: the response may be stuck
/// behind a client that reads nothing before it has sent everything.
async fn send(
    pool: &Arc<Pool>,
    mut link: Box<Link>,
    request: Request<Upload>,
    pulse: &Pulse,
) -> Result<(Response<Incoming>, Carrier), Lost> {
    if request.body().is_over() || request.body().is_small() {
        let response = link.sender.try_send_request(request);
        let response = drive(&mut link, response, pulse).await?;
        return Ok((response, Carrier::Here(link)));
    }
    let (mut sender, wire) = link.split();
    let response = sender.try_send_request(request);
    let (back, returned) = oneshot::channel();
    tokio::spawn(tend(wire, returned, Arc::clone(pool)));
    let response = wait(response, pulse).await?;
    Ok((response, Carrier::Away { sender, back }))
}

type Sent = Result<Response<Incoming>, TrySendError<Request<Upload>>>;

/// Moves the connection's bytes until the head of the response is there.
async fn drive(
    link: &mut Link,
    response: impl Future<Output = Sent>,
    pulse: &Pulse,
) -> Result<Response<Incoming>, Lost> {
    let mut response = pin!(response);
    let mut is_closed = false;
    poll_fn(|cx| {
        if pulse.expired() {
            return Poll::Ready(Err(out_of_time(pulse)));
        }
        is_closed = is_closed || link.drive(cx);
        // Only the connection can complete it, and it has just been polled.
        match response
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(sent) => Poll::Ready(sent.map_err(lost)),
            Poll::Pending if is_closed => Poll::Ready(Err(Lost::Sent(Failure::Closed(None)))),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Waits for the head of the response while another task moves the bytes.
async fn wait(
    response: impl Future<Output = Sent>,
    pulse: &Pulse,
) -> Result<Response<Incoming>, Lost> {
    let mut response = pin!(response);
    poll_fn(|cx| {
        if pulse.expired() {
            return Poll::Ready(Err(out_of_time(pulse)));
        }
        response.as_mut().poll(cx).map_err(lost)
    })
    .await
}

fn out_of_time(pulse: &Pulse) -> Lost {
    let is_clients = pulse.upload_open() && pulse.starved();
    Lost::Sent(if is_clients {
        Failure::Stalled
    } else {
        Failure::Silent
    })
}

fn lost(mut error: TrySendError<Request<Upload>>) -> Lost {
    match error.take_message() {
        Some(unsent) => Lost::Unsent(Box::new(unsent), Failure::Closed(Some(error.into_error()))),
        None => Lost::Sent(Failure::from_hyper(error.into_error())),
    }
}

/// Drives a connection until the reader of its response hands the sender back, then parks it.
async fn tend(mut wire: Wire, returned: oneshot::Receiver<SendRequest<Upload>>, pool: Arc<Pool>) {
    let mut returned = pin!(returned);
    let mut is_abandoned = false;
    let sender = poll_fn(|cx| {
        if Pin::new(&mut wire).poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        if is_abandoned {
            return Poll::Pending;
        }
        match returned.as_mut().poll(cx) {
            Poll::Ready(Ok(sender)) => Poll::Ready(Some(sender)),
            Poll::Ready(Err(_)) => {
                // Both ends of the exchange are gone: hyper ends the connection by itself.
                is_abandoned = true;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    let Some(mut sender) = sender else {
        return;
    };
    let settled = timeout(
        SETTLE_TIME,
        poll_fn(|cx| {
            if Pin::new(&mut wire).poll(cx).is_ready() {
                return Poll::Ready(false);
            }
            sender.poll_ready(cx).map(|ready| ready.is_ok())
        }),
    );
    if settled.await == Ok(true) {
        pool.park(Link::new(sender, wire));
    }
}
