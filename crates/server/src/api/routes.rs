//! Every route, in one table: what is served, who may call it and what `/openapi.json` tells of it
//! come from the same lines.

mod parameters;
mod table;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, MethodRouter, any, on};
use schemars::JsonSchema;

use super::access::{Access, gatekeeper};
use super::body::MAX_CALL;
use super::openapi::Doc;
use super::{Api, decide, guard};
use crate::engine::Op;
pub(super) use table::all;

/// One path with one method, or with any.
pub(super) struct Route {
    /// As axum and `OpenAPI` write it: `/v1/modes/{rule}`.
    pub(super) path: &'static str,
    pub(super) method: Verb,
    pub(super) access: Access,
    pub(super) doc: Doc,
    methods: MethodRouter<Api>,
}

/// The method of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Put,
    Delete,
    Any,
}

impl Verb {
    /// Whether calls have a body that is read.
    pub(super) const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put)
    }

    fn to<H: Handler<T, Api>, T: 'static>(self, handler: H) -> MethodRouter<Api> {
        let filter = match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
            Self::Any => return any(handler),
        };
        on(filter, handler)
    }
}

impl Route {
    fn new<H: Handler<T, Api>, T: 'static>(
        method: Verb,
        path: &'static str,
        access: Access,
        handler: H,
        doc: Doc,
    ) -> Self {
        let methods = method.to(handler);
        Self {
            path,
            method,
            access,
            doc,
            methods,
        }
    }

    /// A call that carries out one op.
    fn call<B: JsonSchema>(op: Op, path: &'static str, doc: Doc) -> Self {
        let access = if op.is_for_operators() {
            Access::Admin
        } else {
            Access::Use
        };
        let handler =
            move |State(api): State<Api>, request: Request| decide::call(api, op, request);
        let doc = doc.takes::<B>(MAX_CALL);
        Self::new(Verb::Post, path, access, handler, doc)
    }
}

/// Routes, each behind what its callers need.
pub(super) fn router(routes: Vec<Route>, api: &Api) -> Router<Api> {
    routes.into_iter().fold(Router::new(), |router, route| {
        let mut methods = route.methods;
        if route.method.has_body() {
            methods = methods.route_layer(from_fn(guard::wants_json));
        }
        if route.access != Access::Open {
            let state = (api.clone(), route.access);
            methods = methods.route_layer(from_fn_with_state(state, gatekeeper));
        }
        router.route(route.path, methods)
    })
}
