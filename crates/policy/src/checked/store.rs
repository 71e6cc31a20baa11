//! `[store]`: where counters live.

mod disk;
mod redis;

pub(crate) use disk::WORDS as DISK_WORDS;
pub(crate) use redis::WORDS as REDIS_WORDS;

use std::time::Duration;

use super::failure::{ON_FAILURE, on_failure};
use super::sections::{between, timeout};
use crate::diagnostic::{Fault, code};
use crate::language::{Form, Shape, Vocabulary, names, word};
use crate::raw::{Context, Item, Section, Value};
use crate::settings::{Overflow, Store, StoreKind};
use crate::units::parse_size;

pub(super) const STORE: Vocabulary = Vocabulary {
    section: "[store]",
    example: "[store]",
    about: "Where counters live, and how much room they have.",
    known: &[
        word(
            "kind",
            Shape::Words(KIND_WORDS),
            "\"memory\" (default): counters live in the process. \"disk\": there too, and in a folder that \
             outlasts it. \"redis\": on a Redis or Valkey server, shared by all nodes that name the same \
             one.",
        ),
        word(
            "max_keys",
            Shape::Count(1, 1 << 30),
            "Hard cap on the keys that the process holds. Default 1000000. With \"redis\": on those of \
             the local limits while it is away.",
        ),
        word(
            "max_memory",
            Shape::Text(Form::Size),
            "Hard cap on the bytes of all state that the process holds. Default 256MiB. With \"redis\" \
             as above.",
        ),
        word(
            "overflow",
            Shape::Words(OVERFLOW_WORDS),
            "What happens to new keys when that memory is full: \"share\" a coarse estimate \
             (default), \"deny\" or \"allow\" them.",
        ),
        word(
            "timeout",
            Shape::Text(Form::Duration),
            "How long the store may take to answer; then `on_failure` speaks. Default 20ms. The \
             memory store always answers at once, the disk store with a span in `sync` unless the disk \
             is too slow for it.",
        ),
        word(
            "on_failure",
            ON_FAILURE,
            "What becomes of requests that the store gives no decision about: \"allow\" (default) \
             lets them pass, \"deny\" answers 503, { local = 0.5 } has each process grant that share \
             of the limit on its own. A rule may say otherwise. The memory store never fails.",
        ),
        word(
            "path",
            Shape::Text(Form::Folder),
            "disk: the folder that states are kept in, of one process at a time. Default jeton-data, \
             beside the policy.",
        ),
        word(
            "sync",
            Shape::Text(Form::Sync),
            "disk: within which time a change reaches it, 10ms to 1h, and so how much a crash may \
             forget; or \"always\": before its answer leaves. Default 1s.",
        ),
        word(
            "url",
            Shape::Text(Form::StoreUrl),
            "redis: where the server is. unix:///PATH, redis-cluster://HOST,HOST and \
             redis-sentinel://HOST,HOST/NAME too; rediss… with TLS. valkey:// is redis://.",
        ),
        word(
            "tls_root",
            Shape::Text(Form::File),
            "redis with TLS: a file (PEM) with the root by which servers are believed. Default: the \
             system's.",
        ),
        word(
            "prefix",
            Shape::Text(Form::Prefix),
            "redis: stands before every key there. Two prefixes share nothing. Default: none.",
        ),
        word(
            "key_secret",
            Shape::Text(Form::Secret),
            "redis: keys of clients stand there as a hash keyed with this, which all nodes must have \
             alike. Default: a plain hash.",
        ),
        word(
            "deny_cache",
            Shape::Text(Form::Duration),
            "redis: for how long at most a denial is answered again without asking, 1ms to 1min. \
             Default: never.",
        ),
        word(
            "lease",
            Shape::Count(1, redis::MOST_LEASED),
            "redis: units that a process takes ahead of a key in use and spends without asking. \
             Default: none.",
        ),
        word(
            "lease_for",
            Shape::Text(Form::Duration),
            "redis: for how long they are kept, 100ms to 1min. Default 1s.",
        ),
    ],
    required: &[],
    later: &[],
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Memory,
    Disk,
    Redis,
}

const KINDS: [(&str, Kind); 3] = [
    ("memory", Kind::Memory),
    ("disk", Kind::Disk),
    ("redis", Kind::Redis),
];
const KIND_WORDS: &[&str] = &names(&KINDS);

const OVERFLOWS: [(&str, Overflow); 3] = [
    ("share", Overflow::Share),
    ("deny", Overflow::Deny),
    ("allow", Overflow::Allow),
];
const OVERFLOW_WORDS: &[&str] = &names(&OVERFLOWS);

const MINUTE: Duration = Duration::from_secs(60);

/// The least memory that a table of any use fits in.
const MIN_MEMORY: u64 = 64 << 10;

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
    let kind = kind(cx, &section);
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
    let timeout = match kind {
        Some(StoreKind::Memory) | None => timeout(cx, &section, "timeout"),
        // A store that hangs costs every request as much.
        Some(_) => between(cx, &section, "timeout", Duration::from_millis(1), MINUTE),
    };
    let on_failure = on_failure(cx, &section);
    Store {
        kind: kind.unwrap_or(defaults.kind),
        max_keys: max_keys.map_or(defaults.max_keys, |count| count.value),
        max_memory: max_memory.map_or(defaults.max_memory, |size| *size.value.get()),
        overflow: overflow.unwrap_or(defaults.overflow),
        timeout: timeout.unwrap_or(defaults.timeout),
        on_failure: on_failure.unwrap_or(defaults.on_failure),
    }
}

/// The kind with its own settings; those of another one are refused.
fn kind(cx: &mut Context<'_>, section: &Section<'_>) -> Option<StoreKind> {
    if let Some(Item { value, mark }) = section.item("kind")
        && matches!(value, Value::Text(word) if word == "valkey")
    {
        let fault = Fault::new(code::WORD, "`kind` does not know the word \"valkey\"")
            .label("\"redis\" speaks Valkey too")
            .fix("kind = \"redis\"");
        return cx.error(*mark, fault);
    }
    let kind = match section.word(cx, "kind", &KINDS, &[]) {
        // Of a kind that could not be read nobody knows which settings it takes.
        None if section.has("kind") => return None,
        kind => kind.unwrap_or(Kind::Memory),
    };
    if kind != Kind::Disk {
        refuse(cx, section, &disk::WORDS, "disk", kind);
    }
    if kind != Kind::Redis {
        refuse(cx, section, &redis::WORDS, "redis", kind);
    }
    match kind {
        Kind::Redis => redis::redis(cx, section).map(StoreKind::Redis),
        Kind::Disk => Some(StoreKind::Disk(disk::disk(cx, section))),
        Kind::Memory => Some(StoreKind::Memory),
    }
}

/// Settings of one kind, under another.
fn refuse(cx: &mut Context<'_>, section: &Section<'_>, words: &[&str], of: &str, kind: Kind) {
    let named = KINDS.iter().find(|(_, known)| *known == kind);
    let name = named.map_or("", |(name, _)| name);
    let why = format!("is of kind = {of:?}; the {name} store has no use for it");
    let fix = if section.has("kind") {
        format!("leave it out, or kind = {of:?}")
    } else {
        format!("kind = {of:?} beside it, or leave it out")
    };
    for word in words {
        section.refuse(cx, word, &why, &fix);
    }
}
