//! One setting that differs.

use std::fmt;

use super::written::Written;

/// A setting of a rule that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Its name as policies write it: `limit`, `match.path`, `plans.pro`.
    pub setting: String,
    /// What it was; `None` if it was not there.
    pub was: Option<String>,
    /// What it is; `None` if it is not there.
    pub is: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, was, is } = self;
        match (was, is) {
            // Two values that may not be shown, and are not the same.
            (Some(was), Some(is)) if was == is => write!(f, "{setting} (another value)"),
            (was, is) => {
                let shown = |value: &Option<String>| value.clone().unwrap_or("none".to_owned());
                write!(f, "{setting} {} -> {}", shown(was), shown(is))
            }
        }
    }
}

/// Several in one line.
pub(super) fn list(all: &[Difference]) -> String {
    let all: Vec<String> = all.iter().map(Difference::to_string).collect();
    all.join(", ")
}

/// Compares settings by name, in the order of the new ones.
pub(super) fn differences(new: &[Written], old: &[Written]) -> Vec<Difference> {
    let here = new.iter().filter_map(|written| {
        let before = named(old, &written.name);
        let is_same = before.is_some_and(|before| before.value == written.value);
        (!is_same).then(|| Difference::between(before, Some(written)))
    });
    let gone = old
        .iter()
        .filter(|before| named(new, &before.name).is_none())
        .map(|before| Difference::between(Some(before), None));
    here.chain(gone).flatten().collect()
}

fn named<'a>(all: &'a [Written], name: &str) -> Option<&'a Written> {
    all.iter().find(|written| written.name == name)
}

impl Difference {
    /// `None` if there is neither.
    fn between(was: Option<&Written>, is: Option<&Written>) -> Option<Self> {
        let shown = |written: &Written| written.shown.clone();
        Some(Self {
            setting: is.or(was)?.name.clone(),
            was: was.map(shown),
            is: is.map(shown),
        })
    }
}
