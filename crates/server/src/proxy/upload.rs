//! The body of a request on its way to the upstream, or to nowhere.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::runtime::Handle;

use super::fields;
use super::pulse::Pulse;

/// A body up to this size is read to its end even if nobody wants it, so that its connection can
/// serve the next request.
const SMALL_BYTES: u64 = 64 << 10;

/// Streams the client's body, tells the [`Pulse`] how it gets on, and sees to what is left of it
/// when it is dropped early.
pub(super) struct Upload {
    body: Option<Incoming>,
    pulse: Arc<Pulse>,
    drain_time: Duration,
    /// The client sends nothing before it is told to (`Expect: 100-continue`).
    withheld: bool,
}

impl Upload {
    pub(super) fn new(
        body: Incoming,
        pulse: Arc<Pulse>,
        withheld: bool,
        drain_time: Duration,
    ) -> Self {
        let body = (!body.is_end_stream()).then_some(body);
        Self {
            body,
            pulse,
            drain_time,
            withheld,
        }
    }

    /// No body.
    pub(super) fn empty(pulse: Arc<Pulse>) -> Self {
        Self {
            body: None,
            pulse,
            drain_time: Duration::ZERO,
            withheld: false,
        }
    }

    /// Whether the request has no body, or it has been read to its end.
    pub(super) fn is_over(&self) -> bool {
        self.body.is_none()
    }

    /// Whether all of the body fits into the sockets on the way: its client is never blocked.
    pub(super) fn is_small(&self) -> bool {
        self.size_hint()
            .upper()
            .is_some_and(|bytes| bytes <= SMALL_BYTES / 4)
    }

    /// Throws the body away. False if the connection has to be closed after the answer because
    /// there is too much of it.
    pub(super) async fn discard(mut self) -> bool {
        if !self.withheld && self.run_out().await {
            self.body = None;
            self.pulse.upload_ended();
        }
        self.let_go()
    }

    /// Reads what has arrived, up to a bound; true if that is all.
    async fn run_out(&mut self) -> bool {
        let Some(body) = self.body.as_mut() else {
            return true;
        };
        let mut taken = 0;
        let mut is_dry = false;
        while taken <= SMALL_BYTES {
            match peek(body) {
                Poll::Ready(None) => return true,
                Poll::Ready(Some(Ok(frame))) => {
                    taken += frame.data_ref().map_or(0, |data| data.len() as u64);
                    if body.is_end_stream() {
                        return true;
                    }
                    is_dry = false;
                }
                // The connection hands over one piece each time it is polled: let it.
                Poll::Pending if !is_dry => {
                    is_dry = true;
                    tokio::task::yield_now().await;
                }
                Poll::Pending | Poll::Ready(Some(Err(_))) => return false,
            }
        }
        false
    }

    fn let_go(&mut self) -> bool {
        let Some(mut body) = self.body.take() else {
            return true;
        };
        let is_small = body
            .size_hint()
            .upper()
            .is_some_and(|bytes| bytes <= SMALL_BYTES);
        if self.withheld || !is_small {
            self.pulse.linger();
            return false;
        }
        let Ok(runtime) = Handle::try_current() else {
            return false;
        };
        let pulse = Arc::clone(&self.pulse);
        let drain_time = self.drain_time;
        runtime.spawn(async move {
            let drained = tokio::time::timeout(drain_time, async {
                while let Some(Ok(_)) = body.frame().await {}
            });
            if drained.await.is_ok() {
                pulse.upload_ended();
            }
        });
        true
    }
}

/// The next piece if it is here.
fn peek(body: &mut Incoming) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

impl Body for Upload {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        let this = &mut *self;
        let Some(body) = this.body.as_mut() else {
            return Poll::Ready(None);
        };
        this.withheld = false;
        let Poll::Ready(polled) = Pin::new(&mut *body).poll_frame(cx) else {
            this.pulse.starve();
            return Poll::Pending;
        };
        this.pulse.progress();
        match polled {
            Some(Ok(frame)) => {
                if body.is_end_stream() {
                    this.body = None;
                    this.pulse.upload_ended();
                }
                Poll::Ready(Some(Ok(fields::clean_trailers(frame))))
            }
            Some(Err(error)) => {
                this.body = None;
                this.pulse.linger();
                Poll::Ready(Some(Err(UploadError(error))))
            }
            None => {
                this.body = None;
                this.pulse.upload_ended();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// The client's body did not end as its head said.
#[derive(Debug)]
pub(super) struct UploadError(hyper::Error);

impl UploadError {
    /// Whether it is malformed, as opposed to cut off by a client that left.
    pub(super) fn is_malformed(&self) -> bool {
        let cause = self
            .0
            .source()
            .and_then(|cause| cause.downcast_ref::<io::Error>());
        cause.is_some_and(|cause| {
            matches!(
                cause.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
            )
        })
    }
}

impl fmt::Display for UploadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request's body broke off")
    }
}

impl Error for UploadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
