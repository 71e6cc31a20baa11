//! What the doors of a file cannot do for its rules.

use jeton_core::Kind;
use jeton_wire::client_ip::{Source, Trust};

use super::{holds_everybody, place};
use crate::checked::Draft;
use crate::diagnostic::{Fault, code};
use crate::key::KeyPart;
use crate::raw::{Context, Section};
use crate::rule::{Allowance, CostSpec, Rule};
use crate::settings::{Listen, Settings};

pub(super) fn warn(
    cx: &mut Context<'_>,
    root: &Section<'_>,
    settings: &Settings,
    drafts: &[Draft],
) {
    addresses(cx, settings, drafts);
    gateways(cx, root, settings);
    for draft in drafts {
        believed(cx, settings, draft);
        chosen(cx, draft);
        settled(cx, settings, draft);
    }
}

fn addresses(cx: &mut Context<'_>, settings: &Settings, drafts: &[Draft]) {
    let proxy = settings.proxy.as_ref().map(|proxy| proxy.listen.get());
    let address = |part: &KeyPart| matches!(part, KeyPart::ClientIp(_));
    let by_address = |draft: &&Draft| draft.rule.key.iter().any(address);
    let by_hops = matches!(settings.client_ip.finder.trust, Trust::Hops(_));
    if let (Some(Listen::Unix(_)), false, Some(draft)) =
        (proxy, by_hops, drafts.iter().find(by_address))
    {
        let what = format!(
            "clients have no address on a Unix socket: {:?}",
            draft.rule.name
        );
        let fault = Fault::new(code::NO_ADDRESS, what)
            .label("they share one counter, or what `missing` says")
            .fix("[client_ip] with header = \"x-forwarded-for\" and hops = 1");
        cx.findings.warning(draft.marks.key, fault);
    }
}

/// A gateway's word for its client is read where `[client_ip]` says.
fn gateways(cx: &mut Context<'_>, root: &Section<'_>, settings: &Settings) {
    let Some(api) = settings.api.as_ref().filter(|api| !api.gateways.is_empty()) else {
        return;
    };
    let mark = place(root, "api", "gateways");
    if holds_everybody(&api.gateways) {
        let fault = Fault::new(
            code::TRUSTS_ALL,
            "everybody's forwarded request is believed",
        )
        .label("any caller can choose its client's address")
        .fix("the addresses of your own gateways");
        cx.findings.warning(mark, fault);
    }
    let finder = &settings.client_ip.finder;
    if let (false, Trust::Prefixes(trusted)) = (finder.source == Source::None, &finder.trust)
        && !trusted.holds(&api.gateways)
    {
        let what = "some of the `gateways` are not believed when they name the client";
        let fault = Fault::new(code::GATEWAY_ADDRESS, what)
            .label("all their requests seem to come from the gateway")
            .fix("the same addresses in `trusted` of [client_ip]");
        cx.findings.warning(mark, fault);
    }
    if finder.source == Source::None {
        let what = "`gateways` are believed, and nothing says where they name the client";
        let fault = Fault::new(code::GATEWAY_ADDRESS, what)
            .label("all requests seem to come from the gateway")
            .fix("[client_ip] with header = \"x-forwarded-for\" and trusted, or hops = 1");
        cx.findings.warning(mark, fault);
    }
}

/// Clients choose what they send, so a proxy takes out of their requests what it would believe.
fn believed(cx: &mut Context<'_>, settings: &Settings, draft: &Draft) {
    let nobody = match &settings.client_ip.finder.trust {
        Trust::Prefixes(networks) => networks.is_empty(),
        Trust::Hops(_) => false,
    };
    if settings.proxy.is_none() || !nobody {
        return;
    }
    let Rule {
        name, plan, cost, ..
    } = &draft.rule;
    let mut warning = |mark, field: &str, result: &str| {
        let what = format!("[proxy] believes nobody's {field}: {name:?} {result}");
        let fault = Fault::new(code::NOT_BELIEVED, what)
            .label("read from trusted peers only")
            .fix("[client_ip] with header = \"x-forwarded-for\" and trusted, or hops = 1");
        cx.findings.warning(mark, fault);
    };
    if let Some(KeyPart::Header(field)) = plan.as_ref().map(|plans| &plans.source) {
        warning(draft.marks.plan, field, "gives all the same there");
    }
    if let CostSpec::Request(field) = cost {
        warning(draft.marks.cost, field, "charges 1 there");
    }
}

/// What the client writes is believed of nobody in particular.
fn chosen(cx: &mut Context<'_>, Draft { rule, marks }: &Draft) {
    let source = rule.plan.as_ref().map(|plans| &plans.source);
    if let Some(part @ (KeyPart::Cookie(_) | KeyPart::Query(_))) = source {
        let what = format!(
            "anyone can choose the plan of {:?} by \"{part}\"",
            rule.name
        );
        let fault = Fault::new(code::CHOSEN_PLAN, what)
            .label("it is the client's own word")
            .fix("plan = \"header:x-plan\", which a trusted gateway sets");
        cx.findings.warning(marks.plan, fault);
    }
}

/// The decision API sees no answers: there, a caller has to commit. The rate limit service has no way
/// to say so at all.
fn settled(cx: &mut Context<'_>, settings: &Settings, draft: &Draft) {
    if settings.proxy.is_some() {
        return;
    }
    if settings.api.is_none() {
        if settings.rls.is_some() || settings.resp.is_some() {
            never_settled(cx, settings, draft);
        }
        return;
    }
    let Draft { rule, marks } = draft;
    let by_response = matches!(rule.cost, CostSpec::Response { .. });
    let (mark, result) = match &rule.count {
        Some(_) => (marks.count, "every request counts"),
        None if by_response => (marks.cost, "the estimate stays charged"),
        None => return,
    };
    let what = format!("no door here sees answers: in {:?} {result}", rule.name);
    let fault = Fault::new(code::NOT_SETTLED, what)
        .label("unless callers reserve, and commit what it was")
        .fix("POST /v1/reserve and /v1/commit instead of /v1/take; or keep it: only a reminder");
    cx.findings.warning(mark, fault);
}

/// Redis clients take and give back, and so does Envoy; none of them reserves.
fn never_settled(cx: &mut Context<'_>, settings: &Settings, draft: &Draft) {
    let door = if settings.resp.is_some() {
        "[resp]"
    } else {
        "[rls]"
    };
    let Draft { rule, marks } = draft;
    let name = &rule.name;
    let by_response = matches!(rule.cost, CostSpec::Response { .. });
    let in_flight = matches!(
        &rule.allowance,
        Allowance::Quota(terms) if terms.quota().is_ok_and(|quota| quota.kind() == Kind::Concurrency)
    );
    let (mark, what) = match &rule.count {
        Some(_) => (
            marks.count,
            format!("counts answers, which {door} does not see"),
        ),
        None if by_response => (
            marks.cost,
            format!("costs what answers say, which {door} does not see"),
        ),
        None if in_flight => (
            marks.algorithm,
            "needs somebody who gives units back".to_owned(),
        ),
        None => return,
    };
    let fault = Fault::new(code::CONTRADICTION, format!("{name:?} {what}"))
        .label("no other door stands here")
        .fix("[proxy], or [api] with callers that reserve and commit; or another rule");
    let _: Option<()> = cx.error(mark, fault);
}
