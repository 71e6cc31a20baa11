//! The body of a response: the service's, or that of a refusal.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// A response body that may be a refusal's, and that may hold something until it has ended.
    ///
    /// Its data are those of the service's body `R`, of which they need only be makeable from
    /// [`Bytes`]; those of axum, hyper and tonic are `Bytes`.
    ///
    /// ```
    /// use http_body_util::Full;
    /// use jeton::layer::{Guarded, Hold};
    ///
    /// let permit = std::sync::Arc::new(());
    /// let body = Guarded::new(Full::new(bytes::Bytes::from("hello")));
    /// let body = body.holding(Hold::new(permit.clone()));
    /// assert_eq!(std::sync::Arc::strong_count(&permit), 2);
    /// drop(body); // sent, or its client is gone
    /// assert_eq!(std::sync::Arc::strong_count(&permit), 1);
    /// ```
    #[derive(Debug)]
    pub struct Guarded<R> {
        #[pin]
        content: Content<R>,
        hold: Option<Hold>,
        settling: Option<crate::Hold>,
    }
}

pin_project! {
    #[project = Contents]
    #[derive(Debug)]
    enum Content<R> {
        Service { #[pin] body: R },
        Refusal { text: Bytes },
    }
}

impl<R> Guarded<R> {
    /// The body of the service.
    pub const fn new(body: R) -> Self {
        Self::of(Content::Service { body })
    }

    pub(super) const fn refusal(text: Bytes) -> Self {
        Self::of(Content::Refusal { text })
    }

    const fn of(content: Content<R>) -> Self {
        Self {
            content,
            hold: None,
            settling: None,
        }
    }

    /// The same body, whose end settles what was charged for it.
    pub(super) fn settling(mut self, settling: Option<crate::Hold>) -> Self {
        self.settling = settling;
        self
    }

    /// The same body, with `hold` in place of what it held: let go when the body has ended, has
    /// failed, or is dropped because its client is gone.
    pub fn holding(mut self, hold: Hold) -> Self {
        self.hold = Some(hold);
        self
    }
}

impl<R> Body for Guarded<R>
where
    R: Body,
    R::Data: From<Bytes>,
{
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        let this = self.project();
        let frame = match this.content.project() {
            Contents::Service { body } => ready!(body.poll_frame(cx)),
            Contents::Refusal { text } if text.is_empty() => None,
            Contents::Refusal { text } => Some(Ok(Frame::data(std::mem::take(text).into()))),
        };
        if let Some(Ok(frame)) = &frame {
            if let Some(trailers) = frame.trailers_ref()
                && let Some(settling) = this.settling.take()
            {
                settling.ended(Some(trailers));
            }
        } else {
            (*this.hold, *this.settling) = (None, None);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Service { body } => body.is_end_stream(),
            Content::Refusal { text } => text.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Service { body } => body.size_hint(),
            Content::Refusal { text } => {
                SizeHint::with_exact(u64::try_from(text.len()).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Something kept for as long as a response is under way, given back by its own `Drop`.
pub struct Hold(#[allow(dead_code)] Box<dyn Kept>); // to be dropped is all it is for

trait Kept: Send {}

impl<T: Send> Kept for T {}

impl Hold {
    /// Holds `kept`: a permit of a semaphore, a guard of your own.
    pub fn new(kept: impl Send + 'static) -> Self {
        Self(Box::new(kept))
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}
