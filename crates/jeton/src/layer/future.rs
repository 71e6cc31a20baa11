//! An answer under way.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::audience::Audience;
use super::decider::{Later, Ruling};
use super::guarded::Guarded;
use crate::door::LimitFields;

pin_project! {
    /// The answer of [`RateLimit`](super::RateLimit): the service's, or a refusal.
    pub struct RateLimitFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        step: Step<S, B>,
    }
}

pin_project! {
    #[project = Stepping]
    enum Step<S, B>
    where
        S: Service<Request<B>>,
    {
        /// The store has still to answer; service and request wait.
        Deciding {
            later: Later,
            waiting: Option<Waiting<S, B>>,
        },
        /// The service answers, and these fields are brought into its head.
        Passing {
            #[pin]
            answering: S::Future,
            fields: LimitFields,
        },
        /// There is nothing to wait for.
        Refused {
            response: Option<Response<Bytes>>,
        },
    }
}

struct Waiting<S, B> {
    audience: Audience,
    service: S,
    request: Request<B>,
}

impl<S, B> RateLimitFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) const fn passing(answering: S::Future, fields: LimitFields) -> Self {
        let step = Step::Passing { answering, fields };
        Self { step }
    }

    pub(super) const fn refused(response: Response<Bytes>) -> Self {
        let response = Some(response);
        let step = Step::Refused { response };
        Self { step }
    }

    pub(super) const fn deciding(
        later: Later,
        audience: Audience,
        service: S,
        request: Request<B>,
    ) -> Self {
        let waiting = Some(Waiting {
            audience,
            service,
            request,
        });
        let step = Step::Deciding { later, waiting };
        Self { step }
    }
}

impl<S, B, R> Future for RateLimitFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
    R::Data: From<Bytes>,
{
    type Output = Result<Response<Guarded<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut step = self.project().step;
        loop {
            let next = match step.as_mut().project() {
                Stepping::Deciding { later, waiting } => {
                    let answered = ready!(later.as_mut().poll(cx));
                    // Taken once: the step is left below.
                    let Some(mut waiting) = waiting.take() else {
                        return Poll::Pending;
                    };
                    match Ruling::from(&answered) {
                        Ruling::Pass(fields) => Step::Passing {
                            answering: waiting.service.call(waiting.request),
                            fields,
                        },
                        Ruling::Refuse(refusal) => Step::Refused {
                            response: Some(waiting.audience.tell(refusal)),
                        },
                    }
                }
                Stepping::Passing { answering, fields } => {
                    let mut response = ready!(answering.poll(cx))?;
                    std::mem::take(fields).merge_into(response.headers_mut());
                    return Poll::Ready(Ok(response.map(Guarded::new)));
                }
                Stepping::Refused { response } => {
                    // Nothing follows an answer that was given.
                    return match response.take() {
                        Some(response) => Poll::Ready(Ok(response.map(Guarded::refusal))),
                        None => Poll::Pending,
                    };
                }
            };
            step.set(next);
        }
    }
}

impl<S, B> fmt::Debug for RateLimitFuture<S, B>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.step {
            Step::Deciding { .. } => "Deciding",
            Step::Passing { .. } => "Passing",
            Step::Refused { .. } => "Refused",
        })
    }
}
