//! Events that say themselves what is asked for: lines of traces, entries of batches.

use jeton::Span;
use serde::Deserialize;

use super::read::{ask, bounded_ttl};
use super::{Ask, Event};
use crate::engine::fields::{Given, Text, Whole};
use crate::engine::input::{InputError, read};
use crate::engine::op::Op;

/// What stands beside the body of a line of a trace. Its times are numbers, like `at_us`.
const OF_A_LINE: &[&str] = &["at_us", "op", "for_us", "ttl_us"];

/// The same where `handle` is what the trace calls a reservation.
const OF_A_RESERVING_LINE: &[&str] = &["at_us", "op", "for_us", "ttl_us", "handle"];

/// What stands beside the body of an entry of a batch.
const OF_AN_ENTRY: &[&str] = &["op"];

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Tags<'a> {
    at_us: Given<Whole>,
    op: Given<Op>,
    for_us: Given<Whole>,
    ttl_us: Given<Whole>,
    handle: Given<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EntryTags {
    op: Given<Op>,
}

pub(super) fn trace_line(json: &[u8]) -> Result<Event<'_>, InputError> {
    let tags: Tags<'_> = read(json)?;
    let op = tags.op.0.unwrap_or_default();
    let beside = if op == Op::Reserve {
        OF_A_RESERVING_LINE
    } else {
        OF_A_LINE
    };
    let mut ask = ask(json, op, beside)?;
    tags.time(&mut ask)?;
    let Some(at_us) = tags.at_us.0 else {
        let what = "is missing; write the instant in microseconds since the Unix epoch";
        return Err(InputError::new("at_us", what));
    };
    if let Ask::Reserve { handle, .. } = &mut ask {
        *handle = tags.handle.0;
    }
    Ok(Event {
        at_us: at_us.0,
        ask,
    })
}

pub(super) fn entry(json: &[u8]) -> Result<Event<'_>, InputError> {
    let EntryTags { op } = read(json)?;
    let ask = ask(json, op.0.unwrap_or_default(), OF_AN_ENTRY)?;
    Ok(Event { at_us: 0, ask })
}

impl Tags<'_> {
    /// Puts the times in their places.
    fn time(&self, ask: &mut Ask<'_>) -> Result<(), InputError> {
        let (lasting, ttl) = (span("for_us", self.for_us)?, span("ttl_us", self.ttl_us)?);
        match ask {
            Ask::Block { lasting: place, .. } => put("for_us", lasting, place, "for")?,
            _ if lasting.is_some() => return Err(stray("for_us", "`block`")),
            _ => {}
        }
        match ask {
            Ask::Reserve { ttl: place, .. } | Ask::Extend { ttl: place, .. } => {
                let ttl = bounded_ttl("ttl_us", ttl)?;
                put("ttl_us", ttl, place, "ttl")
            }
            _ if ttl.is_some() => Err(stray("ttl_us", "`reserve` or `extend`")),
            _ => Ok(()),
        }
    }
}

fn span(field: &str, us: Given<Whole>) -> Result<Option<Span>, InputError> {
    let Some(Whole(us)) = us.0 else {
        return Ok(None);
    };
    match Span::from_micros(us) {
        Ok(span) if span != Span::ZERO => Ok(Some(span)),
        _ => Err(InputError::new(
            field,
            "must be from 1 to 13 years; leave it out for none",
        )),
    }
}

fn put(
    field: &str,
    span: Option<Span>,
    place: &mut Option<Span>,
    other: &str,
) -> Result<(), InputError> {
    if span.is_some() && place.is_some() {
        let what = format!("stands beside `{other}`; write one of them");
        return Err(InputError::new(field, what));
    }
    *place = span.or(*place);
    Ok(())
}

fn stray(field: &str, ops: &str) -> InputError {
    InputError::new(field, format!("belongs to {ops}; leave it out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_knows_no_time() {
        let error = entry(br#"{"at_us":0,"rule":"a","key":"k"}"#).unwrap_err();
        assert_eq!(error.field, "at_us");
        let error = entry(br#"{"op":"reserve","rule":"a","handle":"h"}"#).unwrap_err();
        assert_eq!(error.field, "handle");
        assert!(read::<EntryTags>(b"[]").is_err());
    }
}
