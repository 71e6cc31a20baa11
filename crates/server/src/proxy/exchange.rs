//! One request to the upstream and the head of its response.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::SendRequest;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::failure::Failure;
use super::pool::{Link, Pool, Wire};
use super::pulse::Pulse;
use super::upload::Upload;

/// A connection that rested this long may have been closed just now by an upstream that was tired
/// of waiting: worth a copy of the head, so that the request can be asked again. Busy connections
/// rest less, and nothing is copied.
const STALE_AFTER: Duration = Duration::from_millis(1);

/// How long an upstream may take to read the rest of an upload it has already answered.
const SETTLE_TIME: Duration = Duration::from_secs(5);

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
