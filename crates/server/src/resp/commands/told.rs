//! `COMMAND`: what tools ask to learn which commands there are.

use super::super::protocol::Writer;
use super::{ALL, ANY, Entry, named};

/// Answers `COMMAND` with these arguments behind its name.
pub(in crate::resp) fn tell(arguments: &[&[u8]], out: &mut Writer<'_>) {
    let Some((word, names)) = arguments.split_first() else {
        out.array(ALL.len());
        for entry in &ALL {
            info(entry, out);
        }
        return;
    };
    match word.to_ascii_lowercase().as_slice() {
        b"count" if names.is_empty() => out.integer(i64::try_from(ALL.len()).unwrap_or_default()),
        b"list" if names.is_empty() => {
            out.array(ALL.len());
            for entry in &ALL {
                out.bulk(entry.word.as_bytes());
            }
        }
        b"info" if names.is_empty() => tell(&[], out),
        b"info" => {
            out.array(names.len());
            for name in names {
                match named(name) {
                    Some(entry) => info(entry, out),
                    None => out.null(),
                }
            }
        }
        b"docs" if names.is_empty() => docs(ALL.iter(), ALL.len(), out),
        b"docs" => {
            let known = || names.iter().filter_map(|name| named(name));
            docs(known(), known().count(), out);
        }
        _ => out.error(
            "ERR",
            "COMMAND knows COUNT, LIST, INFO [name ...] and DOCS [name ...]",
        ),
    }
}

/// As Redis 7 tells it: name, arity, flags, keys, categories, tips, key specifications, subcommands.
fn info(entry: &Entry, out: &mut Writer<'_>) {
    let flag = if entry.writes { "write" } else { "readonly" };
    let category = format!("@{}", group(entry));
    out.array(10);
    out.bulk(entry.word.as_bytes());
    out.integer(arity(entry));
    out.set(2);
    out.simple(flag);
    out.simple("fast");
    let step = i64::from(entry.key > 0);
    for number in [entry.key, entry.key, step] {
        out.integer(number);
    }
    out.set(1);
    out.simple(&category);
    for none in [0, 0, 0] {
        out.array(none);
    }
}

fn docs<'e>(entries: impl Iterator<Item = &'e Entry>, count: usize, out: &mut Writer<'_>) {
    out.map(count);
    for entry in entries {
        out.bulk(entry.word.as_bytes());
        out.map(4);
        for (field, value) in [
            ("summary", entry.summary),
            ("since", env!("CARGO_PKG_VERSION")),
            ("group", group(entry)),
        ] {
            out.bulk(field.as_bytes());
            out.bulk(value.as_bytes());
        }
        arguments(entry, out);
    }
}

/// As one text, which is what people read.
fn arguments(entry: &Entry, out: &mut Writer<'_>) {
    out.bulk(b"arguments");
    if entry.usage.is_empty() {
        return out.array(0);
    }
    out.array(1);
    out.map(2);
    for (field, value) in [("name", entry.usage), ("type", "string")] {
        out.bulk(field.as_bytes());
        out.bulk(value.as_bytes());
    }
}

/// How many words it has, its own among them; below 0: at least.
fn arity(entry: &Entry) -> i64 {
    let least = i64::try_from(entry.least + 1).unwrap_or_default();
    if entry.most == ANY || entry.most != entry.least {
        -least
    } else {
        least
    }
}

const fn group(entry: &Entry) -> &'static str {
    if entry.charges() {
        "generic"
    } else {
        "connection"
    }
}
