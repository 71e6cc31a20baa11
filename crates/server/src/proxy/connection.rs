//! One client connection from its acceptance to its end.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::admission::Admission;
use super::departure::ClientSocket;
use super::download::Download;
use super::handle::Visit;
use super::io::{ClientIo, Drain};
use super::pulse::{Overdue, Pulse};

/// For as long as nothing is due, the timer is set this far ahead.
const FAR: Duration = Duration::from_secs(24 * 60 * 60);

/// Sent by hand: the head this answers never ended, so hyper has nothing to answer.
const HEAD_TIMEOUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// How far stopping has got: told to all connections.
#[derive(Default)]
pub(super) struct Stop {
    stage: AtomicU8,
    changed: Notify,
}

/// Answer what has begun, then close.
const DRAIN: u8 = 1;
/// Close now.
const CUT: u8 = 2;

impl Stop {
    pub(super) fn drain(&self) {
        self.enter(DRAIN);
    }

    pub(super) fn cut(&self) {
        self.enter(CUT);
    }

    fn enter(&self, stage: u8) {
        self.stage.store(stage, Ordering::Release);
        self.changed.notify_waiters();
    }
}

enum End {
    /// hyper closed it.
    Closed(hyper::Result<()>),
    /// A head took too long.
    HeadTimeout,
    /// Time is up; nobody is owed an answer.
    Cut(&'static str),
}

/// Serves a connection until it ends.
pub(super) async fn serve<A: Admission, S>(
    stream: S,
    visit: Visit<A>,
    http: &http1::Builder,
    drain: Drain,
    stop: &Stop,
) where
    S: ClientSocket,
{
    let pulse = Arc::clone(&visit.pulse);
    let io = TokioIo::new(ClientIo::new(stream, Arc::clone(&pulse), drain));
    let visit = Arc::new(visit);
    let service = service_fn(move |request: Request<Incoming>| Arc::clone(&visit).handle(request));
    let mut connection = http.serve_connection(io, service);
    match watch(&mut connection, &pulse, stop).await {
        End::Closed(Ok(())) => {}
        End::Closed(Err(error)) => tracing::debug!(%error, "a client's connection failed"),
        End::Cut(reason) => tracing::debug!(reason, "a client's connection was cut"),
        End::HeadTimeout => {
            let mut io = connection.into_parts().io.into_inner();
            let told = async {
                io.write_all(HEAD_TIMEOUT).await?;
                io.shutdown().await
            };
            if !matches!(timeout(drain.time, told).await, Ok(Ok(()))) {
                tracing::debug!("a client did not take its 408");
            }
        }
    }
}

/// Polls the connection beside its one timer and the signal to stop. Both are looked at only when
/// they have fired, as all wake the same task.
async fn watch<I, V, F>(connection: &mut http1::Connection<I, V>, pulse: &Pulse, stop: &Stop) -> End
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    V: hyper::service::Service<
            Request<Incoming>,
            Response = Response<Download>,
            Error = std::convert::Infallible,
            Future = F,
        >,
    F: Future<Output = Result<Response<Download>, std::convert::Infallible>>,
{
    let mut armed = pulse.due().unwrap_or_else(|| Instant::now() + FAR);
    let mut timer = pin!(sleep_until(armed));
    let mut changed = pin!(stop.changed.notified());
    let mut stage = None;
    let mut is_first = true;
    poll_fn(move |cx| {
        if std::mem::take(&mut is_first) {
            // To be called by it: whether it has fired is looked at below.
            let _ = timer.as_mut().poll(cx);
        }
        while stage != Some(stop.stage.load(Ordering::Acquire)) {
            // Registered before the stage is read, so that no change is missed.
            changed.set(stop.changed.notified());
            let _ = changed.as_mut().poll(cx);
            let entered = stop.stage.load(Ordering::Acquire);
            stage = Some(entered);
            match entered {
                CUT => return Poll::Ready(End::Cut("stopping")),
                DRAIN => Pin::new(&mut *connection).graceful_shutdown(),
                _ => {}
            }
        }
        let has_fired = timer.is_elapsed();
        if has_fired {
            match pulse.overdue() {
                None => {}
                Some(Overdue::Exchange) => pulse.expire(),
                Some(Overdue::Head) => return Poll::Ready(End::HeadTimeout),
                Some(Overdue::Idle) => return Poll::Ready(End::Cut("idle")),
                Some(Overdue::Write) => return Poll::Ready(End::Cut("not reading")),
            }
        }
        if let Poll::Ready(closed) = Pin::new(&mut *connection).poll(cx) {
            return Poll::Ready(End::Closed(closed));
        }
        let due = pulse.due();
        if has_fired || due.is_some_and(|due| due < armed) {
            armed = due.unwrap_or_else(|| Instant::now() + FAR);
            timer.as_mut().reset(armed);
            if timer.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        Poll::Pending
    })
    .await
}
