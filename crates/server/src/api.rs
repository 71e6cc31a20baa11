//! The HTTP decision API; `/openapi.json` describes it.
//!
//! A call's body is what a line of a trace is, without time and op; its answer is the line that
//! `jeton simulate` prints, in milliseconds (see [`crate::engine`]). With `?deny=429` every denial,
//! for whatever reason, also has that status and the fields of a denial. Errors are problem
//! documents (RFC 9457). Health and metrics are asked by machines that must always get through:
//! no limit stands before them.

mod access;
mod answer;
mod batch;
mod body;
mod decide;
mod explain;
mod forward_auth;
mod guard;
mod listen;
mod openapi;
mod orders;
mod routes;
mod rules;
mod status;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use jeton::Gate;

use crate::metrics::Metrics;
use access::Tokens;
pub use listen::{Bound, Caller, Reach, bind};
pub(crate) use rules::RuleEntry;

/// What every call can reach.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    gate: Gate,
    metrics: Arc<Metrics>,
    ready: AtomicBool,
    /// Who can reach this, once it listens.
    reach: OnceLock<Reach>,
    /// `/openapi.json`, by which tokens are set.
    descriptions: [OnceLock<Bytes>; Tokens::SETS],
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
            reach: OnceLock::new(),
            descriptions: Default::default(),
        }))
    }

    /// Who can reach this.
    fn reach(&self) -> Reach {
        self.0.reach.get().copied().unwrap_or(Reach::Network)
    }

    /// The tokens of the policy in force: one that is rotated holds from the next call on.
    fn tokens(&self) -> Tokens {
        let policy = self.0.gate.policy();
        Tokens::of(policy.settings().api.as_ref(), self.reach())
    }

    /// Tells `/readyz` that this process takes no new work.
    pub fn drain(&self) {
        self.0.ready.store(false, Ordering::Release);
    }

    /// The routes, behind what keeps foreign pages and strangers out. On loopback no other `Host`s
    /// are answered: a page of a foreign site, whose name was made to point here, must not get
    /// through.
    ///
    /// ```
    /// # async fn serve(api: jeton_server::api::Api) -> std::io::Result<()> {
    /// use jeton_server::api::Reach;
    /// // Within another service, or by another server than `bind` brings.
    /// let router = api.router(Reach::Loopback);
    /// # drop(router); Ok(()) }
    /// ```
    pub fn router(self, reach: Reach) -> Router {
        self.0.reach.get_or_init(|| reach);
        routes::router(routes::all(), &self)
            .fallback(async || {
                let detail = "There is nothing at this path.";
                answer::problem_of(StatusCode::NOT_FOUND, detail)
            })
            .method_not_allowed_fallback(other_method)
            .layer(axum::middleware::from_fn_with_state(
                reach == Reach::Loopback,
                guard::guard,
            ))
            .with_state(self)
    }
}

/// `Allow` says which methods there are; asking for them is no error.
async fn other_method(request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return StatusCode::NO_CONTENT.into_response();
    }
    let detail = "This path takes another method; `Allow` says which.";
    answer::problem_of(StatusCode::METHOD_NOT_ALLOWED, detail)
}
