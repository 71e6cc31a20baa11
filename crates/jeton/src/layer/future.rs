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
use super::decider::{Later, Pass, Ruling, ruled};
use super::guarded::Guarded;
use crate::Answered;

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
        /// The service answers; its head takes along what is to be told, and settles charges.
        Passing {
            #[pin]
            answering: S::Future,
            pass: Pass,
        },
        /// There is nothing to wait for.
        Refused {
            response: Option<Response<Bytes>>,
        },
    }
}

struct Waiting<S, B> {
    service: S,
    request: Request<B>,
}

impl<S, B> RateLimitFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) const fn passing(answering: S::Future, pass: Pass) -> Self {
        let step = Step::Passing { answering, pass };
        Self { step }
    }

    pub(super) const fn refused(response: Response<Bytes>) -> Self {
        let response = Some(response);
        let step = Step::Refused { response };
        Self { step }
    }

    pub(super) const fn deciding(later: Later, service: S, request: Request<B>) -> Self {
        let waiting = Some(Waiting { service, request });
        let step = Step::Deciding { later, waiting };
        Self { step }
    }
}

impl<S, B> Waiting<S, B>
where
    S: Service<Request<B>>,
{
    /// The answer is there.
    fn go_on(mut self, answered: Answered) -> Step<S, B> {
        let (mut head, body) = self.request.into_parts();
        let mut passes = None;
        let refusal = ruled(answered, &mut head, |ruling, head| match ruling {
            Ruling::Pass(pass) => {
                passes = Some(pass);
                None
            }
            Ruling::Refuse(refusal) => Some(Audience::of(head).tell(refusal)),
        });
        match passes {
            Some(pass) => Step::Passing {
                answering: self.service.call(Request::from_parts(head, body)),
                pass,
            },
            None => Step::Refused { response: refusal },
        }
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
                    let Some(waiting) = waiting.take() else {
                        return Poll::Pending;
                    };
                    waiting.go_on(answered)
                }
                Stepping::Passing { answering, pass } => {
                    let mut response = ready!(answering.poll(cx))?;
                    let hold = std::mem::take(pass).into_head(&mut response);
                    let guarded = |body| Guarded::new(body).settling(hold);
                    return Poll::Ready(Ok(response.map(guarded)));
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
