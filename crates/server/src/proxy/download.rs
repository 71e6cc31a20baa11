//! The body of a response on its way to the client.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::admission::Hold;
use super::exchange::Carrier;
use super::fields;
use super::pool::Pool;
use super::pulse::Pulse;

/// Either the proxy's own answer or the upstream's, streamed. What is held for the request is told
/// of its end, and dropped with it.
pub(super) struct Download {
    kind: Kind,
    pulse: Arc<Pulse>,
    hold: Option<Box<dyn Hold>>,
    /// The upstream broke off: reported when what came before has gone out.
    broken: Option<DownloadError>,
}

enum Kind {
    Own(Option<Bytes>),
    Relay {
        body: Incoming,
        carrier: Option<Carrier>,
        pool: Arc<Pool>,
    },
}

impl Download {
    pub(super) fn own(bytes: Bytes, pulse: Arc<Pulse>) -> Self {
        let bytes = (!bytes.is_empty()).then_some(bytes);
        Self {
            kind: Kind::Own(bytes),
            pulse,
            hold: None,
            broken: None,
        }
    }

    pub(super) fn relay(
        body: Incoming,
        carrier: Carrier,
        pool: Arc<Pool>,
        pulse: Arc<Pulse>,
        hold: Option<Box<dyn Hold>>,
    ) -> Self {
        let is_over = body.is_end_stream();
        let kind = Kind::Relay {
            body,
            carrier: Some(carrier),
            pool,
        };
        let mut download = Self {
            kind,
            pulse,
            hold,
            broken: None,
        };
        if is_over {
            download.end(None);
        }
        download
    }

    /// The upstream's response is complete, with `trailers` if it had some.
    fn end(&mut self, trailers: Option<&HeaderMap>) {
        self.kind.give_back();
        if let Some(hold) = self.hold.take() {
            hold.ended(trailers.unwrap_or(&HeaderMap::new()));
        }
    }
}

impl Kind {
    /// The response is complete: its connection may serve another request.
    fn give_back(&mut self) {
        let Self::Relay { carrier, pool, .. } = self else {
            return;
        };
        match carrier.take() {
            Some(Carrier::Here(link)) => pool.park(link),
            // Fails if the connection ended with the response.
            Some(Carrier::Away { sender, back }) => drop(back.send(sender)),
            None => {}
        }
    }

    fn poll_relay(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self::Relay { body, carrier, .. } = self else {
            return Poll::Ready(None);
        };
        let Some(Carrier::Here(link)) = carrier else {
            return Pin::new(body).poll_frame(cx);
        };
        // Whatever comes, the connection brings it when it is polled, from this very task: the
        // body need not wake anybody.
        let mut quiet = Context::from_waker(Waker::noop());
        link.mute();
        if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(&mut quiet) {
            return Poll::Ready(frame);
        }
        let is_closed = link.drive(cx);
        let polled = Pin::new(body).poll_frame(&mut quiet);
        if is_closed {
            *carrier = None;
        }
        polled
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = DownloadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, DownloadError>>> {
        let this = &mut *self;
        if let Some(error) = this.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let kind = &mut this.kind;
        if let Kind::Own(bytes) = kind {
            return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))));
        }
        let Poll::Ready(polled) = kind.poll_relay(cx) else {
            return Poll::Pending;
        };
        match polled {
            Some(Ok(frame)) => {
                if frame.is_trailers() || kind.is_end_stream() {
                    // Nobody asks for more.
                    this.end(frame.trailers_ref());
                }
                Poll::Ready(Some(Ok(fields::clean_trailers(frame))))
            }
            Some(Err(error)) => {
                this.broken = Some(DownloadError(error));
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            None => {
                this.end(None);
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.kind.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Own(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Kind::Relay { body, .. } => body.size_hint(),
        }
    }
}

impl Kind {
    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own(bytes) => bytes.is_none(),
            Self::Relay { body, .. } => body.is_end_stream(),
        }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        drop(self.hold.take());
        self.pulse.finish();
    }
}

/// The upstream's response broke off. The client's connection is cut, which is how it learns that
/// what it has is not all.
#[derive(Debug)]
pub(super) struct DownloadError(hyper::Error);

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the upstream's response broke off")
    }
}

impl Error for DownloadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
