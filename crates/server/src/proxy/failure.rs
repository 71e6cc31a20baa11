//! What can go wrong with an exchange: what the client is told, and what the log is.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use http::StatusCode;

use super::pool::ConnectError;
use super::settings::Upstream;
use super::upload::UploadError;
use super::vet::Refusal;

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
    /// Its body is in a transfer coding beyond `chunked`.
    Coded,
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
            Self::Coded => (
                StatusCode::BAD_GATEWAY,
                "The upstream's answer has a transfer coding that nobody asked for.",
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

    /// What an error of the upstream's connection means.
    pub(super) fn from_hyper(error: hyper::Error) -> Self {
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
