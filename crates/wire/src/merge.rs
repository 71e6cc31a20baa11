//! Our limit fields beside those that the upstream set itself.
//!
//! An intermediary should not remove an upstream's limits, nor make them look more permissive
//! (draft-ietf-httpapi-ratelimit-headers-11, section 6); it may make them stricter. So:
//!
//! | field | what becomes of it |
//! |---|---|
//! | none of the upstream's | ours is appended |
//! | `RateLimit`, a list on both sides | theirs stays, ours is appended as a line of its own; an item of ours whose name they tell too is left out, unless it is tighter |
//! | `RateLimit-Policy` | theirs stays, ours is appended, but for names and quotas that they tell too |
//! | `RateLimit` as list and Dictionary; the fields of single numbers, taken together | one syntax, one number: the tighter side stays, whole; ours replaces theirs, or is left out |
//!
//! *Tighter* is with less remaining; of equals, with the later reset: what can be sent now is the
//! least of both sides. Numbers of both are never mixed into one that is true of neither. If theirs
//! cannot be read, nobody knows that ours are tighter, and theirs stay.

use std::cmp::Reverse;

use crate::{
    pieces::Pieces,
    read::{Reading, read},
    structured::{is_member, read_item},
};

/// What to do with a field of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Add a line behind those that are there.
    Append(&'static str, &'a [u8]),
    /// Replace all lines.
    Set(&'static str, &'a [u8]),
    /// Remove all lines: they tell of another limit than the fields set beside them.
    Remove(&'static str),
}

/// How the two sides of some fields come together.
enum Group {
    Policies,
    Current,
    Numbers([&'static str; 3]),
}

const GROUPS: [Group; 4] = [
    Group::Policies,
    Group::Current,
    Group::Numbers(["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]),
    Group::Numbers([
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ]),
];

impl Group {
    const fn names(&self) -> &[&'static str] {
        match self {
            Self::Policies => &["ratelimit-policy"],
            Self::Current => &["ratelimit"],
            Self::Numbers(names) => names,
        }
    }
}

/// Hands `each` the changes that bring our limit fields into an answer which may have its own.
///
/// `ours` and `theirs` give the lines of the field of a name (lower case); ours are what
/// [`Dialects::write_fields`](crate::ratelimit::Dialects::write_fields) handed out. `now_us` is the
/// instant of the answer in microseconds of the Unix epoch. An answer without limit fields of its
/// own gets ours appended; who knows that it has none need not ask.
///
/// ```
/// use jeton_wire::merge::{Change, merge};
///
/// let lines = |field: (&'static str, &'static str)| {
///     move |name| (name == field.0).then_some(field.1.as_bytes()).into_iter()
/// };
/// let theirs = lines(("ratelimit", r#""inner";r=3;t=9"#));
/// let ours = lines(("ratelimit", r#""everyone";r=99;t=1"#));
/// let mut changes = Vec::new();
/// merge(0, ours, theirs, |change| changes.push(format!("{change:?}")));
/// assert_eq!(changes.len(), 1);
/// assert!(changes[0].starts_with("Append(\"ratelimit\""));
/// ```
pub fn merge<'a, 'b, I, J>(
    now_us: u64,
    ours: impl Fn(&'static str) -> I,
    theirs: impl Fn(&'static str) -> J,
    mut each: impl FnMut(Change<'_>),
) where
    I: Iterator<Item = &'a [u8]>,
    J: Iterator<Item = &'b [u8]>,
{
    for group in GROUPS {
        let names = group.names();
        let none_of_theirs = names.iter().all(|name| theirs(name).next().is_none());
        if none_of_theirs {
            for name in names {
                ours(name).for_each(|line| each(Change::Append(name, line)));
            }
            continue;
        }
        if names.iter().all(|name| ours(name).next().is_none()) {
            continue;
        }
        match group {
            Group::Policies => {
                let told = Told::policies(theirs("ratelimit-policy"));
                append_items(
                    "ratelimit-policy",
                    &ours,
                    |item| told.is_new(item),
                    &mut each,
                );
            }
            Group::Current if are_lists(ours("ratelimit")) && are_lists(theirs("ratelimit")) => {
                let told = Told::limits(theirs("ratelimit"));
                append_items(
                    "ratelimit",
                    &ours,
                    |item| told.is_tightened_by(item),
                    &mut each,
                );
            }
            Group::Current | Group::Numbers(_) => {
                let tightest =
                    |readings: &[Reading<'_>]| readings.iter().filter_map(tightness).min();
                let (ours_now, theirs_now) = (
                    tightest(&read(now_us, within(names, &ours))),
                    tightest(&read(now_us, within(names, &theirs))),
                );
                if ours_now.is_some() && theirs_now.is_some() && ours_now < theirs_now {
                    replace(names, &ours, &theirs, &mut each);
                }
            }
        }
    }
}

/// Orders tighter limits first; none for what tells no limit.
fn tightness(reading: &Reading<'_>) -> Option<(u64, Reverse<Option<u64>>)> {
    Some((reading.remaining?, Reverse(reading.effective_window_us)))
}

/// Only the fields of one group.
fn within<'s, 'a, I>(
    names: &'s [&'static str],
    lines: &'s impl Fn(&'static str) -> I,
) -> impl Fn(&'static str) -> std::iter::Flatten<std::option::IntoIter<I>> + 's
where
    I: Iterator<Item = &'a [u8]> + 's,
{
    move |name| {
        let found = names.contains(&name).then(|| lines(name));
        found.into_iter().flatten()
    }
}

fn are_lists<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut items = lines.flat_map(|line| Pieces::new(line, b','));
    !items.any(is_member)
}

/// Appends the items of ours that are wanted as one line.
fn append_items<'a, I>(
    name: &'static str,
    ours: &impl Fn(&'static str) -> I,
    is_wanted: impl Fn(&[u8]) -> bool,
    each: &mut impl FnMut(Change<'_>),
) where
    I: Iterator<Item = &'a [u8]>,
{
    let items = ours(name).flat_map(|line| Pieces::new(line, b','));
    let mut line = Vec::new();
    for item in items.map(<[u8]>::trim_ascii).filter(|item| is_wanted(item)) {
        if !line.is_empty() {
            line.extend_from_slice(b", ");
        }
        line.extend_from_slice(item);
    }
    if !line.is_empty() {
        each(Change::Append(name, &line));
    }
}

fn replace<'a, 'b, I, J>(
    names: &[&'static str],
    ours: &impl Fn(&'static str) -> I,
    theirs: &impl Fn(&'static str) -> J,
    each: &mut impl FnMut(Change<'_>),
) where
    I: Iterator<Item = &'a [u8]>,
    J: Iterator<Item = &'b [u8]>,
{
    for name in names {
        let mut lines = ours(name);
        match lines.next() {
            Some(first) => each(Change::Set(name, first)),
            None if theirs(name).next().is_some() => each(Change::Remove(name)),
            None => {}
        }
        lines.for_each(|line| each(Change::Append(name, line)));
    }
}

/// What the upstream told in a list.
struct Told<'a>(Vec<Reading<'a>>);

impl<'a> Told<'a> {
    fn limits(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        Self::read("ratelimit", lines)
    }

    fn policies(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        Self::read("ratelimit-policy", lines)
    }

    fn read(field: &'static str, lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let lines: Vec<_> = lines.collect();
        Self(read(0, |name| {
            let found = if name == field { lines.as_slice() } else { &[] };
            found.iter().copied()
        }))
    }

    /// Whether no policy of theirs has this name, or is this quota.
    fn is_new(&self, item: &[u8]) -> bool {
        let own = Told::policies([item].into_iter()).0;
        own.iter().all(|own| {
            let is_same = |told: &Reading<'_>| match &own.name {
                Some(_) => told.name == own.name,
                None => {
                    told.name.is_none() && (told.limit, told.window_s) == (own.limit, own.window_s)
                }
            };
            !self.0.iter().any(is_same)
        })
    }

    /// Whether this limit is tighter than all of theirs that have its name.
    fn is_tightened_by(&self, item: &[u8]) -> bool {
        let own = Told::limits([item].into_iter()).0;
        own.iter().all(|own| {
            let mut told = self.0.iter().filter(|told| told.name == own.name);
            told.all(|told| tightness(own) < tightness(told))
        }) && read_item(item, |_, _| ()).is_some()
    }
}
