//! The service that a layer makes.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::audience::Audience;
use super::charged::Charged;
use super::decider::{Decider, Pass, Ruling};
use super::future::RateLimitFuture;
use super::guarded::Guarded;

/// A service behind a limit: see [`RateLimitLayer`](super::RateLimitLayer).
///
/// The request is charged when it is called, and never reaches the service if it is refused. What
/// [`poll_ready`](Service::poll_ready) reserved in the service is then given back at once, so that
/// a client who is refused holds nothing of it.
#[derive(Clone)]
pub struct RateLimit<S> {
    inner: S,
    decider: Arc<Decider>,
}

impl<S> RateLimit<S> {
    pub(super) const fn new(inner: S, decider: Arc<Decider>) -> Self {
        Self { inner, decider }
    }

    /// The service.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service, without its limit.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: Clone> RateLimit<S> {
    /// The service that was polled ready; a fresh one takes its place.
    fn take_ready(&mut self) -> S {
        let fresh = self.inner.clone();
        mem::replace(&mut self.inner, fresh)
    }
}

impl<S: fmt::Debug> fmt::Debug for RateLimit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit")
            .field("inner", &self.inner)
            .field("decider", &self.decider)
            .finish()
    }
}

/// What was decided before the service was called.
enum Ruled {
    Pass(Pass),
    Refuse(Response<Bytes>),
}

impl<S, B, R> Service<Request<B>> for RateLimit<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: Body,
    R::Data: From<Bytes>,
{
    type Response = Response<Guarded<R>>;
    type Error = S::Error;
    type Future = RateLimitFuture<S, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        if !Charged::first(&mut head.extensions, &self.decider) {
            let request = Request::from_parts(head, body);
            return RateLimitFuture::passing(self.inner.call(request), Pass::default());
        }
        let ruled = self.decider.ask(&mut head, |ruling, head| match ruling {
            Ruling::Pass(pass) => Ruled::Pass(pass),
            Ruling::Refuse(refusal) => Ruled::Refuse(Audience::of(head).tell(refusal)),
        });
        match ruled {
            Ok(Ruled::Pass(pass)) => {
                let request = Request::from_parts(head, body);
                RateLimitFuture::passing(self.inner.call(request), pass)
            }
            Ok(Ruled::Refuse(response)) => {
                drop(self.take_ready());
                RateLimitFuture::refused(response)
            }
            Err(later) => {
                let request = Request::from_parts(head, body);
                RateLimitFuture::deciding(later, self.take_ready(), request)
            }
        }
    }
}
