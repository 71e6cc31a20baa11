//! What is said of mistakes in files of descriptors.

use super::limit::Descriptor;
use super::read::{DESCRIPTOR, RATE_LIMIT, ROOT};
use super::unit::Unit;
use crate::diagnostic::{Fault, code, nearest};

/// Where a key belongs.
const PLACES: [(&str, &[&str]); 3] = [
    ("the file", ROOT),
    ("a descriptor", DESCRIPTOR),
    ("`rate_limit`", RATE_LIMIT),
];

/// Two descriptors of one list are the same.
pub(super) fn duplicate(descriptor: &Descriptor) -> Fault {
    let Descriptor { key, value, .. } = descriptor;
    let what = match value {
        Some(value) => format!("the descriptor {key:?} with the value {value:?} stands here twice"),
        None => format!("the descriptor {key:?} stands here twice"),
    };
    Fault::new(code::DUPLICATE, what).fix("one of them, with the descriptors of both")
}

pub(super) fn unknown_unit(word: Option<&str>) -> Fault {
    let units = "second, minute, hour, day, week, month or year";
    let Some(word) = word else {
        let fault = Fault::new(
            code::MISSING,
            "`rate_limit` needs a `unit`, or `unlimited: true`",
        );
        return fault.fix(format!("unit: {units}"));
    };
    let fault = Fault::new(code::WORD, format!("{word:?} is not a unit"));
    let words = Unit::ALL.map(Unit::word);
    match nearest(&word.to_ascii_lowercase(), words) {
        Some(near) => fault
            .label(format!("did you mean {near:?}?"))
            .fix(format!("unit: {near}")),
        None => fault.fix(format!("unit: {units}")),
    }
}

pub(super) fn unknown(name: &str, place: &str, keys: &[&'static str]) -> Fault {
    let fault = Fault::new(code::UNKNOWN, format!("{place} has no key {name:?}"));
    if let Some((home, _)) = PLACES.iter().find(|(_, keys)| keys.contains(&name)) {
        return fault
            .label(format!("it belongs to {home}"))
            .fix("put it there");
    }
    match nearest(name, keys.iter().copied()) {
        Some(near) => fault.label(format!("did you mean `{near}`?")).fix(near),
        None => fault.fix(format!("one of: {}", keys.join(", "))),
    }
}
