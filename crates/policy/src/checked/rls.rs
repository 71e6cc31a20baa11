//! `[rls]`: where Envoy asks, and what its files of descriptors say.

use super::doors::{MAX_CONNECTIONS, MAX_IN_FLIGHT, limits};
use super::listen::parse_listen;
use super::settling::{ON_DENY, ON_DENY_WORDS};
use crate::diagnostic::{Fault, code};
use crate::envoy::Domain;
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw::{Context, Section, Spotted};
use crate::settings::{DoorLimits, Listen, Rls, Tls};
use crate::source::Mark;

pub(super) const RLS: Vocabulary = Vocabulary {
    section: "[rls]",
    example: "[rls]",
    about: "The Envoy rate limit service, by gRPC; and its /json, over HTTP.",
    known: &[
        word(
            "listen",
            Shape::Text(Form::Listen),
            "Where Envoy connects. Beyond this machine, `tls` with `client_ca` is needed, or `open`.",
        ),
        word("tls", Shape::Table(&TLS), TLS.about),
        word(
            "open",
            Shape::Flag,
            "Whoever reaches it may ask, beyond this machine too. Default false.",
        ),
        MAX_CONNECTIONS,
        MAX_IN_FLIGHT,
        word(
            "envoy_config",
            Shape::Text(Form::Descriptors),
            "The folder of files of envoyproxy/ratelimit, loaded as they are.",
        ),
        word(
            "merge_domains",
            Shape::Flag,
            "Several files may speak of one domain. Default false.",
        ),
        word(
            "on_deny",
            Shape::Words(ON_DENY_WORDS),
            "What a request that is refused costs in limits of descriptors: nothing (\"keep\", \
             default), or as the reference service has it, all of them (\"charge\").",
        ),
        word(
            "shadow_mode",
            Shape::Flag,
            "Limits of descriptors are counted and never refuse. Default false.",
        ),
        word(
            "quota_mode",
            Shape::Flag,
            "A request is refused only if all limits of its descriptors refuse it. Default false.",
        ),
        word(
            "dynamic_metadata",
            Shape::Flag,
            "Tell other filters of Envoy what was asked, and the metadata of limits that let it \
             pass. Default false.",
        ),
    ],
    required: &["listen"],
    later: &[],
};

const TLS: Vocabulary = Vocabulary {
    section: "tls",
    example: "tls = { cert = \"cert.pem\", key = \"key.pem\", client_ca = \"ca.pem\" }",
    about: "Encrypt: files in PEM. With `client_ca`, callers have to show a certificate of it.",
    known: &[
        word(
            "cert",
            Shape::Text(Form::Pem),
            "The chain of certificates that is shown to callers.",
        ),
        word("key", Shape::Text(Form::Pem), "The private key to it."),
        word(
            "client_ca",
            Shape::Text(Form::Pem),
            "Whose certificates callers have to show.",
        ),
    ],
    required: &["cert", "key"],
    later: &[],
};

/// The section, and the domains of its files.
pub(super) fn rls(cx: &mut Context<'_>, root: &Section<'_>) -> (Option<Spotted<Rls>>, Vec<Domain>) {
    let section = root
        .item("rls")
        .and_then(|item| Section::open(cx, &RLS, item));
    let Some(section) = section else {
        return (None, Vec::new());
    };
    section.require(cx, "listen", "listen = \"127.0.0.1:8081\"");
    let listen = section.parsed(cx, "listen", parse_listen);
    let tls = tls(cx, &section);
    let limits = limits(cx, &section, DoorLimits::DEFAULT);
    let envoy_config = section.parsed(cx, "envoy_config", folder);
    let mut flag = |key| section.flag(cx, key).unwrap_or(false);
    let (open, merge_domains) = (flag("open"), flag("merge_domains"));
    let (shadow_mode, quota_mode) = (flag("shadow_mode"), flag("quota_mode"));
    let dynamic_metadata = flag("dynamic_metadata");
    let on_deny = section.word(cx, "on_deny", &ON_DENY, &[]);
    if !section.has("envoy_config") {
        let why = "has no effect without files of descriptors";
        section.refuse(cx, "merge_domains", why, "envoy_config = \"ratelimit/\"");
    }
    let domains = envoy_config
        .as_ref()
        .and_then(|folder| crate::envoy::load(cx, folder.value.get(), folder.mark, merge_domains));
    let domains = domains.unwrap_or_default();
    let Some(listen) = listen else {
        return (None, domains);
    };
    let is_closed = tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    if !is_closed && !open {
        refuse_beyond_loopback(cx, listen.value.get(), listen.mark);
    }
    let mark = listen.mark;
    let defaults = Rls::new(listen.value);
    let value = Rls {
        tls,
        open,
        limits,
        envoy_config: envoy_config.map(|folder| folder.value),
        merge_domains,
        on_deny: on_deny.unwrap_or(defaults.on_deny),
        shadow_mode,
        quota_mode,
        dynamic_metadata,
        ..defaults
    };
    (Some(Spotted { value, mark }), domains)
}

/// Whoever asks may spend what clients have left.
fn refuse_beyond_loopback(cx: &mut Context<'_>, listen: &Listen, mark: Mark) {
    let Listen::Tcp(address) = listen else {
        return;
    };
    if !address.ip().to_canonical().is_loopback() {
        let what = "the rate limit service listens beyond this machine, and everybody may ask";
        let fault = Fault::new(code::RLS_OPEN, what)
            .label("whoever reaches it may spend what clients have left")
            .fix(
                "tls = { cert = …, key = …, client_ca = … }, or open = true, or a loopback address",
            );
        let _: Option<()> = cx.error(mark, fault);
    }
}

fn tls(cx: &mut Context<'_>, rls: &Section<'_>) -> Option<Tls> {
    let section = Section::open(cx, &TLS, rls.item("tls")?)?;
    section.require(cx, "cert", "cert = \"cert.pem\"");
    section.require(cx, "key", "key = \"key.pem\"");
    let mut file = |key| {
        let file = section.parsed(cx, key, folder)?;
        let written = file.value.get();
        if cx.is_no_file(written) {
            let what = format!("there is no file {written:?} here");
            let fault = Fault::new(code::NO_FILE, what);
            cx.findings.warning(
                file.mark,
                fault
                    .label("where it serves, it must be there")
                    .fix("the path of the file; relative paths begin beside the policy"),
            );
        }
        Some(cx.path(written))
    };
    let (cert, key, client_ca) = (file("cert"), file("key"), file("client_ca"));
    Some(Tls {
        cert: cert?,
        key: key?,
        client_ca,
    })
}

fn folder(text: &str) -> Result<String, Fault> {
    if text.is_empty() {
        let fault = Fault::new(code::EMPTY, "this path names nothing");
        return Err(fault.fix("relative paths begin beside the policy"));
    }
    Ok(text.to_owned())
}
