//! `ANY /v1/auth`: the question that gateways ask before they pass a request on.
//!
//! nginx (`auth_request`), Traefik (`ForwardAuth`) and Caddy (`forward_auth`) send a request of
//! their own with the client's header fields, and tell method and target beside them
//! ([`forwarded`]). The answer is 204, or a refusal that Traefik and Caddy hand to the client as it
//! is; nginx passes on 401 and 403 only, so it asks with `?deny=403`.
//!
//! Whoever asks is believed, so it must be a peer in `gateways`, or come over a Unix socket, where
//! the file's permissions say who may. No token is asked for. The client's address is found by
//! `[client_ip]`, with the gateway as peer; a header that chooses a plan or names a cost is a fact
//! only if that section trusts the gateway too. A body is not read.

mod forwarded;

use std::net::IpAddr;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, StatusCode, Uri};
use jeton::Answered;
use jeton::door::{LIMITED, client_of, format_of, origin_of};
use jeton::policy::Policy;
use jeton::wire::client_ip::Source;

use super::Api;
use super::body::invalid;
use super::listen::Caller;
use crate::engine::InputError;
use forwarded::Forwarded;

/// Where gateways ask.
pub(super) const FORWARD_AUTH: &str = "/v1/auth";

/// The statuses that a denial can be asked to have.
pub(super) const DENIALS: [u16; 3] = [401, 403, 429];

pub(super) async fn auth(State(api): State<Api>, request: Request) -> Response {
    let caller = request.extensions().get::<Caller>().copied();
    let (head, _) = request.into_parts();
    answer(&api, caller, &head)
        .await
        .unwrap_or_else(|refusal| refusal)
}

async fn answer(api: &Api, caller: Option<Caller>, head: &Parts) -> Result<Response, Response> {
    let denial = denial_status(&head.uri).map_err(|error| invalid(&error))?;
    let policy = api.0.gate.policy();
    let peer = gateway(&policy, caller).map_err(|error| invalid(&error))?;
    let asked = Instant::now();
    let deciding = {
        let client = client_of(&policy, head, peer).address;
        let facts = Forwarded::read(&head.headers, client).map_err(|error| invalid(&error))?;
        api.0.gate.take(&facts.without(hidden(&policy, peer)))
    };
    let answered = deciding.wait().await;
    api.0.metrics.decided(asked);
    Ok(respond(&answered, denial, head))
}

/// The address of a gateway that is believed; none behind a Unix socket.
fn gateway(policy: &Policy, caller: Option<Caller>) -> Result<Option<IpAddr>, InputError> {
    let api = policy.settings().api.as_ref();
    match caller {
        Some(Caller::Unix) => Ok(None),
        Some(Caller::Tcp(peer)) if api.is_some_and(|api| api.gateways.contains(peer)) => {
            Ok(Some(peer))
        }
        Some(Caller::Tcp(peer)) => Err(InputError::new(
            "",
            format!("{peer} is no gateway of this service; [api] `gateways` names those that are"),
        )),
        None => Err(InputError::new("", "only gateways may ask here")),
    }
}

/// What this peer's clients may not say: which plan they have, or what they cost.
fn hidden(policy: &Policy, peer: Option<IpAddr>) -> Vec<&str> {
    let finder = &policy.settings().client_ip.finder;
    if finder.source != Source::None && finder.trust.believes(peer) {
        return Vec::new();
    }
    policy.believed_headers()
}

fn respond(answered: &Answered, denial: Option<StatusCode>, head: &Parts) -> Response {
    let Some(refusal) = answered.refusal() else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        answered.limit_fields().merge_into(headers);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let marked: Vec<&str> = answered.marked().collect();
        if !marked.is_empty()
            && let Ok(names) = HeaderValue::from_str(&marked.join(", "))
        {
            headers.insert(LIMITED, names);
        }
        return response;
    };
    let refusal = refusal.readable_by(origin_of(head));
    let mut response = refusal.response(format_of(head)).map(Body::from);
    // A 503 is no denial: no store decided.
    let is_denial = response.status() != StatusCode::SERVICE_UNAVAILABLE;
    if let Some(status) = denial.filter(|status| is_denial && *status != response.status()) {
        // The body tells another status. Who asks for one of its own has a body of its own.
        *response.status_mut() = status;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

/// The status of a denial, if `?deny=` asks for one. Other parameters are the client's: Caddy appends
/// them to a question that has none.
fn denial_status(uri: &Uri) -> Result<Option<StatusCode>, InputError> {
    let mut parameters = uri.query().unwrap_or_default().split('&');
    let Some(asked) = parameters.find_map(|parameter| parameter.strip_prefix("deny=")) else {
        return Ok(None);
    };
    let asked = asked.parse().ok().filter(|status| DENIALS.contains(status));
    match asked.and_then(|status| StatusCode::from_u16(status).ok()) {
        Some(status) => Ok(Some(status)),
        None => Err(InputError::new("deny", "is none of 401, 403, 429")),
    }
}
