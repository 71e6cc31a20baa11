//! The HTTP decision API: `POST /v1/take`, `POST /v1/check`, `GET /v1/rules`, `GET /healthz`,
//! `GET /readyz`, `GET /metrics`.
//!
//! A call's body is what a line of a trace is, without time and verb; its answer is the line that
//! `jeton simulate` prints, in milliseconds (see [`crate::engine`]). With `?deny=429` every denial,
//! for whatever reason, also has that status and the fields of a denial. Errors are problem
//! documents (RFC 9457). Health and metrics are asked by machines that must always get through:
//! no limit stands before them.

mod answer;
mod guard;
mod listen;
mod rules;
mod status;
mod verbs;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use jeton::Gate;

use crate::metrics::Metrics;
pub use listen::{Bound, bind};
pub(crate) use rules::RuleEntry;

/// What every call can reach.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    gate: Gate,
    metrics: Arc<Metrics>,
    ready: AtomicBool,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("gate", &self.0.gate)
            .finish_non_exhaustive()
    }
}

impl Api {
    /// An API to `gate`.
    pub fn new(gate: Gate, metrics: Arc<Metrics>) -> Self {
        Self(Arc::new(Inner {
            gate,
            metrics,
            ready: AtomicBool::new(true),
        }))
    }

    /// Tells `/readyz` that this process takes no new work.
    pub fn drain(&self) {
        self.0
            .ready
            .store(false, std::sync::atomic::Ordering::Release);
    }

    /// The routes. `loopback_only` answers no other `Host`s: a page of a foreign site, whose name
    /// was made to point here, must not get through.
    fn router(self, loopback_only: bool) -> Router {
        Router::new()
            .route("/v1/take", post(verbs::take))
            .route("/v1/check", post(verbs::check))
            .route("/v1/rules", get(rules::rules))
            .route("/healthz", get(status::healthz))
            .route("/readyz", get(status::readyz))
            .route("/metrics", get(status::metrics))
            .fallback(async || {
                let detail = "There is nothing at this path.";
                answer::problem_of(StatusCode::NOT_FOUND, detail)
            })
            .method_not_allowed_fallback(async || {
                let detail = "This path takes another method; `Allow` says which.";
                answer::problem_of(StatusCode::METHOD_NOT_ALLOWED, detail)
            })
            .layer(axum::middleware::from_fn_with_state(
                loopback_only,
                guard::guard,
            ))
            .with_state(self)
    }
}
