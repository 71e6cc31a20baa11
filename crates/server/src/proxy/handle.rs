//! One request from its head to the head of its response.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode, Version, request};
use http_body_util::Full;
use hyper::body::{Body, Incoming};

use super::admission::{Admission, Admitted, Admitting, Pass, Peer, append};
use super::download::Download;
use super::exchange::exchange;
use super::failure::{Complaints, Failure};
use super::fields::{self, Survey};
use super::forwarded::{Forwarding, append_via};
use super::pool::Pool;
use super::problem;
use super::pulse::Pulse;
use super::upload::Upload;
use super::vet::{Refusal, vet};

/// What all connections share.
pub(super) struct Engine<A> {
    pub(super) admission: Arc<A>,
    pub(super) pool: Arc<Pool>,
    pub(super) complaints: Complaints,
    pub(super) via: Option<HeaderValue>,
    pub(super) drain_time: Duration,
}

/// What the requests of one connection share.
pub(super) struct Visit<A> {
    pub(super) engine: Arc<Engine<A>>,
    pub(super) peer: Peer,
    pub(super) forwarding: Forwarding,
    pub(super) pulse: Arc<Pulse>,
}

impl<A: Admission> Visit<A> {
    /// Answers a request. Never fails: what goes wrong has a status.
    pub(super) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Download>, Infallible> {
        let (mut parts, body) = request.into_parts();
        let framing = self.pulse.begin(!body.is_end_stream());
        let survey = Survey::of(&parts.headers);
        let pulse = Arc::clone(&self.pulse);
        let upload = Upload::new(body, pulse, survey.has_expect, self.engine.drain_time);
        if let Err(refusal) = vet(&mut parts, framing, survey) {
            drop(upload);
            return Ok(self.refuse(refusal));
        }
        let admission = &self.engine.admission;
        fields::clean_request(&mut parts.headers, survey, |name| admission.relies_on(name));
        let admitted = match self.engine.admission.admit(&mut parts, self.peer) {
            Admitting::Now(admitted) => admitted,
            Admitting::Later(deciding) => deciding.await,
        };
        Ok(match admitted {
            Admitted::Pass(pass) => self.pass(parts, upload, pass).await,
            Admitted::Answer(answer) => self.answer(answer, upload).await,
        })
    }

    /// A request that cannot be trusted to end where it seems to: answered, and cut off.
    fn refuse(&self, refusal: Refusal) -> Response<Download> {
        self.pulse.linger();
        self.own(problem::answer(refusal), Pass::default(), true)
    }

    async fn answer(&self, answer: Response<Full<Bytes>>, upload: Upload) -> Response<Download> {
        let is_last = !upload.discard().await;
        self.own(answer, Pass::default(), is_last)
    }

    /// Turns the proxy's own answer into a response.
    fn own(&self, answer: Response<Full<Bytes>>, pass: Pass, is_last: bool) -> Response<Download> {
        self.pulse.answer();
        let (mut parts, mut body) = answer.into_parts();
        pass.into_own(&mut parts);
        if is_last {
            parts
                .headers
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let bytes = whole(&mut body);
        Response::from_parts(parts, Download::own(bytes, Arc::clone(&self.pulse)))
    }

    async fn pass(
        &self,
        mut parts: request::Parts,
        upload: Upload,
        mut pass: Pass,
    ) -> Response<Download> {
        let engine = &self.engine;
        self.forwarding
            .apply(&mut parts.headers, pass.is_from_trusted);
        append(std::mem::take(&mut pass.request_fields), &mut parts.headers);
        if pass.wants_trailers {
            fields::ask_for_trailers(&mut parts.headers);
        }
        let host = parts.headers.entry(header::HOST);
        host.or_insert_with(|| engine.pool.upstream().authority.clone());
        append_via(&mut parts.headers, engine.via.as_ref());
        parts.version = Version::HTTP_11;
        parts.extensions.clear();
        let request = Request::from_parts(parts, upload);
        match exchange(&engine.pool, &self.pulse, request).await {
            Ok((response, _)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                self.fail(&Failure::Switched, pass)
            }
            Ok((response, _)) if !fields::is_plain(response.headers()) => {
                self.fail(&Failure::Coded, pass)
            }
            Ok((response, carrier)) => {
                let (mut parts, body) = response.into_parts();
                let hold = pass.into_head(&mut parts);
                append_via(&mut parts.headers, engine.via.as_ref());
                parts.version = Version::HTTP_11;
                self.pulse.answer();
                let pool = Arc::clone(&engine.pool);
                let pulse = Arc::clone(&self.pulse);
                Response::from_parts(parts, Download::relay(body, carrier, pool, pulse, hold))
            }
            Err(failure) => self.fail(&failure, pass),
        }
    }

    fn fail(&self, failure: &Failure, pass: Pass) -> Response<Download> {
        if failure.is_clients() {
            tracing::debug!(%failure, "a client broke off");
        } else {
            self.engine
                .complaints
                .note(self.engine.pool.upstream(), failure);
        }
        let is_last = self.pulse.lingers() || self.pulse.upload_open();
        if is_last {
            self.pulse.linger();
        }
        self.own(problem::answer(failure.refusal()), pass, is_last)
    }
}

/// The bytes of a body that is there.
fn whole(body: &mut Full<Bytes>) -> Bytes {
    use std::task::{Context, Poll, Waker};
    let mut cx = Context::from_waker(Waker::noop());
    match std::pin::Pin::new(body).poll_frame(&mut cx) {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        _ => Bytes::new(),
    }
}
