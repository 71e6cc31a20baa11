//! `[api]`: where it listens, and who may do what.

use jeton_wire::client_ip::Prefixes;

use super::addresses::{parse_network, prefixes};
use super::doors::{MAX_IN_FLIGHT, MOST_CONNECTIONS, limits, refuse_beyond_loopback};
use super::listen::parse_listen;
use crate::diagnostic::{Fault, code};
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw::{Context, Section, Spotted};
use crate::secret::Secret;
use crate::settings::{Api, DoorLimits};

pub(super) const API: Vocabulary = Vocabulary {
    section: "[api]",
    example: "[api]",
    about: "Decisions, health and metrics over HTTP.",
    known: &[
        word(
            "listen",
            Shape::Text(Form::Listen),
            "Where callers connect. Beyond this machine, `token` is needed.",
        ),
        word(
            "token",
            Shape::Text(Form::Token),
            "What callers of decisions send as `authorization: Bearer …`. Default: none, on \
             loopback addresses and Unix sockets only.",
        ),
        word(
            "admin_token",
            Shape::Text(Form::Token),
            "What operators send who reset, block, override and switch modes. Without it, nobody may \
             where `token` is set.",
        ),
        word(
            "gateways",
            Shape::Texts(Form::Network),
            "Peers whose word for a request's method, path and client /v1/auth believes.",
        ),
        word(
            "max_connections",
            Shape::Count(1, MOST_CONNECTIONS),
            "Connections held at once; more wait to be accepted. Default 1024; fewer where open files \
             are scarce.",
        ),
        MAX_IN_FLIGHT,
    ],
    required: &["listen"],
    later: &[],
};

/// A shorter one could be tried out.
const STRONG: usize = 16;
const RANDOM: &str = "a random one: openssl rand -hex 32";

pub(super) fn api(cx: &mut Context<'_>, root: &Section<'_>) -> Option<Spotted<Api>> {
    let section = Section::open(cx, &API, root.item("api")?)?;
    section.require(cx, "listen", "listen = \"127.0.0.1:7070\"");
    let listen = section.parsed(cx, "listen", parse_listen);
    let token = token(cx, &section, "token");
    let admin_token = token_beside(cx, &section, token.as_ref());
    let gateways = gateways(cx, &section);
    let limits = limits(cx, &section, DoorLimits::OF_API);
    let listen = listen?;
    if !section.has("token") {
        refuse_beyond_loopback(cx, "the API", &listen.value, listen.mark);
    }
    let value = Api {
        listen: listen.value,
        token,
        admin_token,
        gateways,
        limits,
    };
    let mark = listen.mark;
    Some(Spotted { value, mark })
}

pub(super) fn token(cx: &mut Context<'_>, section: &Section<'_>, key: &str) -> Option<Secret> {
    let parse = |text: &str| {
        let fault = |why: &str| Fault::new(code::TOKEN, format!("`{key}` {why}")).fix(RANDOM);
        match text {
            "" => Err(fault("is empty, and whoever sends none has it")),
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(fault("has a character that no header field carries safely"))
            }
            _ => Ok(Secret::new(text.to_owned())),
        }
    };
    let token = section.parsed(cx, key, parse)?;
    warn_if_weak(cx, section, key, token.value.get());
    Some(token.value.get().clone())
}

pub(super) fn warn_if_weak(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    key: &str,
    secret: &Secret,
) {
    if secret.expose().len() < STRONG {
        let what = format!("`{key}` has fewer than {STRONG} characters");
        let fault = Fault::new(code::WEAK_TOKEN, what).fix(RANDOM);
        cx.findings.warning(section.mark_of(key), fault);
    }
}

/// Two tokens that are one would let callers do what operators may.
pub(super) fn token_beside(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    other: Option<&Secret>,
) -> Option<Secret> {
    let admin = token(cx, section, "admin_token")?;
    if other == Some(&admin) {
        let what = "`admin_token` is the same as `token`";
        let fault = Fault::new(code::TOKEN, what)
            .label("who takes could reset and block")
            .fix("another one, or leave it out");
        return cx.error(section.mark_of("admin_token"), fault);
    }
    Some(admin)
}

fn gateways(cx: &mut Context<'_>, section: &Section<'_>) -> Prefixes {
    if section.has_empty_list("gateways") {
        return Prefixes::default();
    }
    prefixes(section.each(cx, "gateways", parse_network))
}
