//! `[proxy]`, `[api]`, `[store]`.

use std::net::SocketAddr;
use std::time::Duration;

use super::failure::{ON_FAILURE, on_failure};
use super::listen::{parse_listen, parse_upstream};
use crate::diagnostic::{Fault, code};
use crate::language::{Form, Shape, Vocabulary, names, word};
use crate::raw::{self, Context, Section, Spotted};
use crate::setting::Setting;
use crate::settings::{Api, Listen, Overflow, Proxy, Store, Upstream};
use crate::units::{parse_duration, parse_size};

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
            Shape::Count(1, 1_000_000),
            "Client connections held at once; more wait to be accepted. Default 10000; fewer where open files are scarce.",
        ),
    ],
    required: &["listen", "upstream"],
    later: &[],
};

pub(super) const STORE: Vocabulary = Vocabulary {
    section: "[store]",
    example: "[store]",
    about: "Where counters live, and how much room they have.",
    known: &[
        word(
            "kind",
            Shape::Words(KIND_WORDS),
            "What kind of store. Default \"memory\".",
        ),
        word(
            "max_keys",
            Shape::Count(1, 1 << 30),
            "Hard cap on keys. Default 1000000.",
        ),
        word(
            "max_memory",
            Shape::Text(Form::Size),
            "Hard cap on the bytes of all state. Default 256MiB.",
        ),
        word(
            "overflow",
            Shape::Words(OVERFLOW_WORDS),
            "What happens to new keys when the store is full: \"share\" a coarse estimate \
             (default), \"deny\" or \"allow\" them.",
        ),
        word(
            "timeout",
            Shape::Text(Form::Duration),
            "How long the store may take to answer; then `on_failure` speaks. Default 20ms. The \
             memory store always answers at once.",
        ),
        word(
            "on_failure",
            ON_FAILURE,
            "What becomes of requests that the store gives no decision about: \"allow\" (default) \
             lets them pass, \"deny\" answers 503, { local = 0.5 } has each process grant that share \
             of the limit on its own. A rule may say otherwise. The memory store never fails.",
        ),
    ],
    required: &[],
    later: raw::STORE,
};

const KINDS: [(&str, ()); 1] = [("memory", ())];
const KIND_WORDS: &[&str] = &names(&KINDS);

const OVERFLOWS: [(&str, Overflow); 3] = [
    ("share", Overflow::Share),
    ("deny", Overflow::Deny),
    ("allow", Overflow::Allow),
];
const OVERFLOW_WORDS: &[&str] = &names(&OVERFLOWS);

/// The least memory that a table of any use fits in.
const MIN_MEMORY: u64 = 64 << 10;

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
    let none = || {
        Fault::new(code::ZERO, "a proxy without connections serves nobody")
            .fix("max_connections = 10_000")
    };
    let max_connections = section.count(cx, "max_connections", none);

    let listen = listen?;
    let defaults = Proxy::new(listen.value, upstream?.value);
    let connections = max_connections.and_then(|count| u32::try_from(count.value).ok());
    let value = Proxy {
        header_timeout: header_timeout.unwrap_or(defaults.header_timeout),
        idle_timeout: idle_timeout.unwrap_or(defaults.idle_timeout),
        connect_timeout: connect_timeout.unwrap_or(defaults.connect_timeout),
        response_timeout: response_timeout.unwrap_or(defaults.response_timeout),
        max_connections: connections.unwrap_or(defaults.max_connections),
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

fn timeout(cx: &mut Context<'_>, section: &Section<'_>, key: &str) -> Option<Duration> {
    let parse = |text: &str| {
        let span = parse_duration(text)?;
        let timeout = Duration::from_micros(span.as_micros());
        match timeout {
            _ if timeout < Duration::from_millis(1) => {
                Err(Fault::new(code::DURATION, format!("`{key}` is below 1 ms")).fix("\"1ms\""))
            }
            _ if timeout > Duration::from_secs(86_400) => {
                Err(Fault::new(code::DURATION, format!("`{key}` is above a day")).fix("\"1d\""))
            }
            _ => Ok(timeout),
        }
    };
    section
        .parsed(cx, key, parse)
        .map(|timeout| *timeout.value.get())
}

/// Where the API usually listens.
const API_PORT: u16 = 7070;

/// Two doors cannot stand in one place.
pub(super) fn distinct_addresses(
    cx: &mut Context<'_>,
    proxy: Option<&Spotted<Proxy>>,
    api: Option<&Spotted<Api>>,
) {
    let (Some(proxy), Some(api)) = (proxy, api) else {
        return;
    };
    if overlap(&proxy.value.listen, &api.value.listen) {
        let port = match proxy.value.listen.get() {
            Listen::Tcp(address) if address.port() == API_PORT => API_PORT + 1,
            _ => API_PORT,
        };
        let fault = Fault::new(code::ADDRESS, "[api] listens where [proxy] does")
            .label("used by [proxy] already")
            .fix(format!("listen = \"127.0.0.1:{port}\""));
        let _: Option<()> = cx.error(api.mark, fault);
    }
}

fn overlap(a: &Setting<Listen>, b: &Setting<Listen>) -> bool {
    match (a.get(), b.get()) {
        (Listen::Tcp(a), Listen::Tcp(b)) => {
            let any = |address: &SocketAddr| address.ip().is_unspecified();
            a.port() != 0 && a.port() == b.port() && (a.ip() == b.ip() || any(a) || any(b))
        }
        (a, b) => a == b,
    }
}

/// Reads a size; a fix that would be too small for a table is not one.
fn memory_size(text: &str) -> Result<u64, Fault> {
    parse_size(text).map_err(|fault| {
        let meant = fault.fix.trim_matches('"');
        match parse_size(meant) {
            Ok(..MIN_MEMORY) => fault.fix("\"256MiB\""),
            _ => fault,
        }
    })
}

pub(super) fn store(cx: &mut Context<'_>, root: &Section<'_>) -> Store {
    let defaults = Store::default();
    let Some(section) = root
        .item("store")
        .and_then(|item| Section::open(cx, &STORE, item))
    else {
        return defaults;
    };
    section.word(cx, "kind", &KINDS, raw::STORE_KINDS);
    let none =
        || Fault::new(code::ZERO, "a store without keys limits nobody").fix("max_keys = 1_000_000");
    let max_keys = section.count(cx, "max_keys", none);
    let max_memory = section.parsed(cx, "max_memory", |text| match memory_size(text)? {
        0 => Err(
            Fault::new(code::ZERO, "a store without memory limits nobody")
                .fix("max_memory = \"256MiB\""),
        ),
        size if size < MIN_MEMORY => Err(Fault::new(
            code::SIZE,
            "`max_memory` is too small to hold a table",
        )
        .fix("max_memory = \"64KiB\"")),
        size => Ok(size),
    });
    let overflow = section.word(cx, "overflow", &OVERFLOWS, &[]);
    let timeout = timeout(cx, &section, "timeout");
    let on_failure = on_failure(cx, &section);
    Store {
        kind: defaults.kind,
        max_keys: max_keys.map_or(defaults.max_keys, |count| count.value),
        max_memory: max_memory.map_or(defaults.max_memory, |size| *size.value.get()),
        overflow: overflow.unwrap_or(defaults.overflow),
        timeout: timeout.unwrap_or(defaults.timeout),
        on_failure: on_failure.unwrap_or(defaults.on_failure),
    }
}
