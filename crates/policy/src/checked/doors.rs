//! What doors have in common: where they listen, who may, and how much at once.

use std::net::SocketAddr;

use crate::diagnostic::{Fault, code};
use crate::language::{Shape, Word, word};
use crate::raw::{Context, Section};
use crate::setting::Setting;
use crate::settings::{DoorLimits, Listen};
use crate::source::Mark;

/// The most connections of any door.
pub(super) const MOST_CONNECTIONS: u64 = 1_000_000;

pub(super) const MAX_CONNECTIONS: Word = word(
    "max_connections",
    Shape::Count(1, MOST_CONNECTIONS),
    "Connections held at once; one more is told so and closed. Default 10000; fewer where open files \
     are scarce.",
);

pub(super) const MAX_IN_FLIGHT: Word = word(
    "max_in_flight",
    Shape::Count(1, 1_000_000),
    "Decisions that may be out at once; `on_failure` answers those beyond, without asking the store. \
     Default 10000.",
);

/// `max_connections` and `max_in_flight` of a door.
pub(super) fn limits(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    defaults: DoorLimits,
) -> DoorLimits {
    let mut count = |key: &str, default: u32| {
        let none = || {
            let what = format!("a door with `{key} = 0` serves nobody");
            Fault::new(code::ZERO, what).fix(format!("{key} = {default}"))
        };
        let count = section.count(cx, key, none);
        count
            .and_then(|count| u32::try_from(count.value).ok())
            .unwrap_or(default)
    };
    DoorLimits {
        max_connections: count("max_connections", defaults.max_connections),
        max_in_flight: count("max_in_flight", defaults.max_in_flight),
    }
}

/// Whoever reaches a door may spend what clients have left. `door` is what it is called where a
/// sentence begins with it.
pub(super) fn refuse_beyond_loopback(
    cx: &mut Context<'_>,
    door: &str,
    listen: &Setting<Listen>,
    mark: Mark,
) {
    let Listen::Tcp(address) = listen.get() else {
        return;
    };
    if !address.ip().to_canonical().is_loopback() {
        let what = format!("{door} listens beyond this machine, where it needs a `token`");
        let fault = Fault::new(code::API_OPEN, what)
            .label("whoever reaches it may spend what clients have left")
            .fix("token = { env = \"JETON_TOKEN\" }, or a loopback address");
        let _: Option<()> = cx.error(mark, fault);
    }
}

/// A door, with the port it usually has.
pub(super) struct Standing<'a> {
    /// As messages call it: `[api]`.
    pub(super) section: &'static str,
    pub(super) usual_port: u16,
    pub(super) listen: &'a Setting<Listen>,
    pub(super) mark: Mark,
}

/// Two doors cannot stand in one place.
pub(super) fn distinct_addresses(cx: &mut Context<'_>, doors: &[Option<Standing<'_>>]) {
    for (at, door) in doors.iter().enumerate() {
        let Some(door) = door else { continue };
        let before = doors.iter().take(at).flatten();
        for other in before.filter(|other| overlap(other.listen, door.listen)) {
            let port = match other.listen.get() {
                Listen::Tcp(address) if address.port() == door.usual_port => door.usual_port + 1,
                _ => door.usual_port,
            };
            let (here, there) = (door.section, other.section);
            let fault = Fault::new(code::ADDRESS, format!("{here} listens where {there} does"))
                .label(format!("used by {there} already"))
                .fix(format!("listen = \"127.0.0.1:{port}\""));
            let _: Option<()> = cx.error(door.mark, fault);
        }
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
