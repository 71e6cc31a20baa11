//! `[resp]`: the Redis protocol.

use super::api::{token, token_beside};
use super::doors::{MAX_CONNECTIONS, MAX_IN_FLIGHT, limits, refuse_beyond_loopback};
use super::listen::parse_listen;
use super::sections::timeout;
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw::{Context, Section, Spotted};
use crate::settings::{DoorLimits, Resp};

pub(super) const RESP: Vocabulary = Vocabulary {
    section: "[resp]",
    example: "[resp]",
    about: "Decisions for Redis clients.",
    known: &[
        word(
            "listen",
            Shape::Text(Form::Listen),
            "Where clients connect. Beyond this machine, `token` is needed.",
        ),
        word(
            "token",
            Shape::Text(Form::Token),
            "The password of clients (AUTH). Default: none, on loopback addresses and Unix sockets only.",
        ),
        word(
            "admin_token",
            Shape::Text(Form::Token),
            "The password of operators, who may JETON.RESET. Without it, nobody may where `token` is set.",
        ),
        MAX_CONNECTIONS,
        MAX_IN_FLIGHT,
        word(
            "idle_timeout",
            Shape::Text(Form::Duration),
            "How long a connection may stand unused. Default 5min.",
        ),
    ],
    required: &["listen"],
    later: &[],
};

pub(super) fn resp(cx: &mut Context<'_>, root: &Section<'_>) -> Option<Spotted<Resp>> {
    let section = Section::open(cx, &RESP, root.item("resp")?)?;
    section.require(cx, "listen", "listen = \"127.0.0.1:6380\"");
    let listen = section.parsed(cx, "listen", parse_listen);
    let token = token(cx, &section, "token");
    let admin_token = token_beside(cx, &section, token.as_ref());
    let limits = limits(cx, &section, DoorLimits::DEFAULT);
    let idle_timeout = timeout(cx, &section, "idle_timeout");
    let listen = listen?;
    if !section.has("token") {
        refuse_beyond_loopback(cx, "[resp]", &listen.value, listen.mark);
    }
    let defaults = Resp::new(listen.value);
    let value = Resp {
        token,
        admin_token,
        limits,
        idle_timeout: idle_timeout.unwrap_or(defaults.idle_timeout),
        ..defaults
    };
    let mark = listen.mark;
    Some(Spotted { value, mark })
}
