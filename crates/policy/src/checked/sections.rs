//! `[proxy]`, and what it has in common with other sections.

use std::time::Duration;

use jeton_core::Span;

use super::doors::{MAX_IN_FLIGHT, MOST_CONNECTIONS, limits};
use super::listen::{parse_listen, parse_upstream};
use crate::diagnostic::{Fault, code};
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw::{Context, Section, Spotted};
use crate::setting::Setting;
use crate::settings::{DoorLimits, Listen, Proxy, Upstream};
use crate::units::{in_words, parse_duration, print_duration};

pub(super) const PROXY: Vocabulary = Vocabulary {
    section: "[proxy]",
    example: "[proxy]",
    about: "Stand in front of an HTTP service.",
    known: &[
        word(
            "listen",
            Shape::Text(Form::Listen),
            "Where clients connect.",
        ),
        word(
            "upstream",
            Shape::Text(Form::Upstream),
            "The service behind, by plain HTTP.",
        ),
        word(
            "header_timeout",
            Shape::Text(Form::Duration),
            "How long a client may take to send its header fields. Default 10s.",
        ),
        word(
            "idle_timeout",
            Shape::Text(Form::Duration),
            "How long a connection may stand still, between requests or within a body. \
             Default 60s.",
        ),
        word(
            "connect_timeout",
            Shape::Text(Form::Duration),
            "How long connecting to the upstream may take. Default 5s.",
        ),
        word(
            "response_timeout",
            Shape::Text(Form::Duration),
            "How long the upstream may take to begin its answer. Default 60s.",
        ),
        word(
            "max_connections",
            Shape::Count(1, MOST_CONNECTIONS),
            "Client connections held at once; more wait to be accepted. Default 10000; fewer where open files are scarce.",
        ),
        MAX_IN_FLIGHT,
    ],
    required: &["listen", "upstream"],
    later: &[],
};

pub(super) fn proxy(cx: &mut Context<'_>, root: &Section<'_>) -> Option<Spotted<Proxy>> {
    let section = Section::open(cx, &PROXY, root.item("proxy")?)?;
    section.require(cx, "listen", "listen = \"0.0.0.0:8080\"");
    section.require(cx, "upstream", "upstream = \"http://127.0.0.1:3000\"");
    let listen = section.parsed(cx, "listen", parse_listen);
    let upstream = section.parsed(cx, "upstream", parse_upstream);
    if let (Some(listen), Some(upstream)) = (&listen, &upstream) {
        refuse_itself(cx, listen.value.get(), upstream);
    }
    let header_timeout = timeout(cx, &section, "header_timeout");
    let idle_timeout = timeout(cx, &section, "idle_timeout");
    let connect_timeout = timeout(cx, &section, "connect_timeout");
    let response_timeout = timeout(cx, &section, "response_timeout");
    let limits = limits(cx, &section, DoorLimits::DEFAULT);

    let listen = listen?;
    let defaults = Proxy::new(listen.value, upstream?.value);
    let value = Proxy {
        header_timeout: header_timeout.unwrap_or(defaults.header_timeout),
        idle_timeout: idle_timeout.unwrap_or(defaults.idle_timeout),
        connect_timeout: connect_timeout.unwrap_or(defaults.connect_timeout),
        response_timeout: response_timeout.unwrap_or(defaults.response_timeout),
        limits,
        ..defaults
    };
    Some(Spotted {
        value,
        mark: listen.mark,
    })
}

/// A proxy in front of itself would answer each request with more of them.
fn refuse_itself(cx: &mut Context<'_>, listen: &Listen, upstream: &Spotted<Setting<Upstream>>) {
    if listen.serves(upstream.value.get()) {
        let what = "the upstream is this proxy itself, so requests would go round in a ring";
        let fault = Fault::new(code::UPSTREAM, what)
            .label("where `listen` is")
            .fix("the address of the service behind, or another `listen`");
        let _: Option<()> = cx.error(upstream.mark, fault);
    }
}

pub(super) fn timeout(cx: &mut Context<'_>, section: &Section<'_>, key: &str) -> Option<Duration> {
    let longest = Duration::from_secs(86_400);
    between(cx, section, key, Duration::from_millis(1), longest)
}

/// A duration with bounds, which it may reach.
pub(super) fn between(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    key: &str,
    least: Duration,
    most: Duration,
) -> Option<Duration> {
    section
        .parsed(cx, key, |text| within(key, text, least, most))
        .map(|duration| *duration.value.get())
}

/// The same of a text that is already read.
pub(super) fn within(
    key: &str,
    text: &str,
    least: Duration,
    most: Duration,
) -> Result<Duration, Fault> {
    let beyond = |side: &str, bound: Duration| {
        let us = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
        let span = Span::from_micros(us).unwrap_or(Span::SECOND);
        let what = format!("`{key}` is {side} {}", in_words(span));
        Fault::new(code::DURATION, what).fix(format!("{:?}", print_duration(span)))
    };
    let duration = Duration::from_micros(parse_duration(text)?.as_micros());
    match duration {
        _ if duration < least => Err(beyond("below", least)),
        _ if duration > most => Err(beyond("above", most)),
        _ => Ok(duration),
    }
}
