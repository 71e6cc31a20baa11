//! The table: every route.

use std::net::IpAddr;

use super::parameters::{Deny, DenyAs, Described, Name};
use super::{Route, Verb};
use crate::api::access::Access;
use crate::api::answer::ProblemDocument;
use crate::api::body::{MAX_BATCH, MAX_CALL};
use crate::api::forward_auth::{self, FORWARD_AUTH};
use crate::api::openapi::{self, Doc, Media, OF_PASSES, OF_REFUSALS};
use crate::api::{batch, explain, orders, rules, status};
use crate::engine::{CallAnswer, Op, bodies};
use crate::explain::Document;

/// All of them.
pub(in crate::api) fn all() -> Vec<Route> {
    let mut routes = decisions();
    routes.extend(operations());
    routes.extend(views());
    routes.extend(probes());
    routes
}

/// What decides, and what settles it.
fn decisions() -> Vec<Route> {
    let take = Doc::new("take", "May this pass now? All of its charges, or none.");
    let check = Doc::new("check", "Would it pass now? Changes nothing.");
    let reserve = Doc::new("reserve", "Charge an estimate, to be settled.");
    let refund = Doc::new("refund", "Give units back.");
    let extend = Doc::new("extend", "Keep a reservation for longer.");
    let commit = Doc::new("commit", "Say what a reservation has really cost.");
    let cancel = Doc::new("cancel", "Give back all that a reservation holds.");
    let batch = Doc::new("batch", "Up to 1000 calls, each by itself.");
    let batch = batch.takes::<batch::Calls>(MAX_BATCH);
    let batch = batch.gives::<batch::Answers>("The answers, in the order of the calls.");
    vec![
        Route::call::<bodies::Take<'_>>(Op::Take, "/v1/take", deniable(take)),
        Route::call::<bodies::Check<'_>>(Op::Check, "/v1/check", deniable(check)),
        Route::call::<bodies::Refund<'_>>(Op::Refund, "/v1/refund", plain(refund)),
        Route::call::<bodies::Reserve<'_>>(Op::Reserve, "/v1/reserve", deniable(reserve)),
        Route::call::<bodies::Extend<'_>>(Op::Extend, "/v1/extend", settling(extend)),
        Route::call::<bodies::Commit<'_>>(Op::Commit, "/v1/commit", settling(commit)),
        Route::call::<bodies::Cancel<'_>>(Op::Cancel, "/v1/cancel", settling(cancel)),
        Route::new(Verb::Post, "/v1/batch", Access::Use, batch::batch, batch),
        Route::new(
            Verb::Any,
            FORWARD_AUTH,
            Access::Open,
            forward_auth::auth,
            forward_auth_doc(),
        ),
    ]
}

/// What operators do.
fn operations() -> Vec<Route> {
    let reset = Doc::new("reset", "Forget the state of a key.");
    let block = Doc::new("block", "Refuse a key for a while.");
    let unblock = Doc::new("unblock", "Lift a block.");
    vec![
        Route::call::<bodies::Reset<'_>>(Op::Reset, "/v1/reset", plain(reset)),
        Route::call::<bodies::Block<'_>>(Op::Block, "/v1/block", plain(block)),
        Route::call::<bodies::Unblock<'_>>(Op::Unblock, "/v1/unblock", plain(unblock)),
        Route::new(
            Verb::Get,
            OVERRIDE,
            Access::Read,
            orders::see_override,
            of_key(Doc::new("get_override", "The override of a key."))
                .gives::<orders::OverrideInForce>("It.")
                .refuses(400, "Not a key of this rule."),
        ),
        Route::new(
            Verb::Put,
            OVERRIDE,
            Access::Admin,
            orders::put_override,
            stored(of_key(Doc::new(
                "put_override",
                "Give a key another allowance.",
            )))
            .takes::<bodies::Override<'_>>(MAX_CALL)
            .gives::<orders::OverrideInForce>("It is in force."),
        ),
        Route::new(
            Verb::Delete,
            OVERRIDE,
            Access::Admin,
            orders::lift_override,
            stored(of_key(Doc::new(
                "delete_override",
                "Lift the override of a key.",
            )))
            .empty(204, "It is lifted.", &[])
            .refuses(400, "Not a key of this rule."),
        ),
        Route::new(
            Verb::Put,
            MODE,
            Access::Admin,
            orders::put_mode,
            stored(of_rule(Doc::new(
                "put_mode",
                "Put a rule into another mode.",
            )))
            .takes::<bodies::ModeOf>(MAX_CALL)
            .gives::<orders::RuleMode>("It is in force."),
        ),
        Route::new(
            Verb::Delete,
            MODE,
            Access::Admin,
            orders::lift_mode,
            stored(of_rule(Doc::new(
                "delete_mode",
                "Put a rule back into its own mode.",
            )))
            .empty(204, "It is back.", &[])
            .refuses(400, "Not a name."),
        ),
    ]
}

const OVERRIDE: &str = "/v1/overrides/{rule}/{key}";
const MODE: &str = "/v1/modes/{rule}";

/// A call that is answered with an object, and may be refused by the store.
fn plain(doc: Doc) -> Doc {
    stored(doc).gives::<CallAnswer<'_>>("It was carried out.")
}

/// One that decides, and may be asked to tell a denial by its status.
fn deniable(doc: Doc) -> Doc {
    doc.asks::<Deny>(
        "deny",
        "`429`: a denial has that status, and the fields of one.",
    )
    .gives::<CallAnswer<'_>>("The answer.")
    .answers_with::<CallAnswer<'_>>(429, "A denial, if asked for.", Media::Json, OF_REFUSALS)
    .answers_with::<CallAnswer<'_>>(503, NO_STORE, Media::Json, OF_REFUSALS)
}

/// One that is about a reservation.
fn settling(doc: Doc) -> Doc {
    plain(doc).refuses(404, "There is no such reservation.")
}

fn stored(doc: Doc) -> Doc {
    doc.refuses(503, NO_STORE)
}

const NO_STORE: &str = "The store gave no answer, or is full.";

fn of_rule(doc: Doc) -> Doc {
    doc.at::<Name>("rule", "The rule's name.").refuses(
        404,
        "There is no such rule, or nothing of the kind in force.",
    )
}

fn of_key(doc: Doc) -> Doc {
    let key = "Whose: a text, or for a key of several parts a JSON array of texts.";
    of_rule(doc).at::<Name>("key", key)
}

fn forward_auth_doc() -> Doc {
    let summary = "The question of nginx, Traefik and Caddy: may this request pass?";
    let mut doc = Doc::new("auth", summary)
        .asks::<DenyAs>("deny", "The status of every denial.")
        .empty(204, "It may.", OF_PASSES)
        .refuses(400, "The peer is no gateway, or does not tell the request.");
    for status in [401, 403, 429, 503] {
        doc = doc
            .answers_with::<ProblemDocument>(status, "It may not.", Media::Problem, OF_REFUSALS)
            .answers_with::<String>(status, "It may not.", Media::Text, OF_REFUSALS);
    }
    doc
}

/// What is in force.
fn views() -> Vec<Route> {
    let rules = Doc::new("rules", "The policy in force, in numbers and in words.");
    let explaining = Doc::new(
        "explain",
        "Why a request would pass now, or not. Charges nothing.",
    )
    .asks::<String>(
        "request",
        "Method and target, such as `POST /login`; needed but for descriptors.",
    )
    .asks::<IpAddr>("ip", "The client's address.")
    .asks::<String>("host", "The host.")
    .asks::<Vec<String>>(
        "header",
        "A field of its head, `name: value`; any number of them.",
    )
    .asks::<String>("domain", "Instead of a request: the domain of descriptors.")
    .asks::<Vec<String>>(
        "descriptor",
        "A descriptor, `key=value,key=value`; any number of them.",
    )
    .refuses(400, "Not a request that can be explained.");
    let blocks = Doc::new("blocks", "Every block in force.");
    let overrides = Doc::new("overrides", "Every override in force.");
    let modes = Doc::new("modes", "Every rule in another mode than its own.");
    vec![
        Route::new(
            Verb::Get,
            "/v1/rules",
            Access::Read,
            rules::rules,
            rules.gives::<rules::InForce<'_>>("The rules in the order of the file."),
        ),
        Route::new(
            Verb::Get,
            "/v1/explain",
            Access::Read,
            explain::explain,
            explaining.gives::<Document>("Which rules speak of it, and what each says."),
        ),
        Route::new(
            Verb::Get,
            "/v1/blocks",
            Access::Read,
            orders::blocks,
            blocks.gives::<orders::Blocks>("All of them."),
        ),
        Route::new(
            Verb::Get,
            "/v1/overrides",
            Access::Read,
            orders::overrides,
            overrides.gives::<orders::Overrides>("All of them."),
        ),
        Route::new(
            Verb::Get,
            "/v1/modes",
            Access::Read,
            orders::modes,
            modes.gives::<orders::Modes>("All of them."),
        ),
    ]
}

/// What machines ask that watch over this one.
fn probes() -> Vec<Route> {
    let text = |doc: Doc, what| doc.answers_with::<String>(200, what, Media::Text, &[]);
    let healthz = Doc::new("healthz", "Does this process run?");
    let readyz = Doc::new("readyz", "Is new work welcome?").answers_with::<ProblemDocument>(
        503,
        "This process is being stopped.",
        Media::Problem,
        &[],
    );
    let metrics = Doc::new("metrics", "Counters, in the text format of OpenMetrics.")
        .answers_with::<String>(200, "All of them.", Media::Metrics, &[]);
    vec![
        Route::new(
            Verb::Get,
            "/healthz",
            Access::Open,
            status::healthz,
            text(healthz, "It does."),
        ),
        Route::new(
            Verb::Get,
            "/readyz",
            Access::Open,
            status::readyz,
            text(readyz, "It is."),
        ),
        Route::new(
            Verb::Get,
            "/openapi.json",
            Access::Open,
            openapi::describe,
            Doc::new("openapi", "This document.").gives::<Described>("An OpenAPI 3.1 document."),
        ),
        Route::new(
            Verb::Get,
            "/metrics",
            Access::Watch,
            status::metrics,
            metrics,
        ),
    ]
}
