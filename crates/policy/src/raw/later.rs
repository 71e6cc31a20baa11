//! Words of the policy language that this version does not support. Each is refused by name:
//! a policy that was written for a later version must not run with half of its rules.

use crate::diagnostic::{Fault, code};

/// A word, and what to do without it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later {
    pub(crate) word: &'static str,
    pub(crate) instead: &'static str,
}

impl Later {
    /// The refusal. `written` is the word as it stands in the file.
    pub(crate) fn fault(&self, written: &str) -> Fault {
        Fault::new(
            code::LATER,
            format!("{written} is not supported by this version"),
        )
        .label("a later version has it")
        .fix(self.instead)
    }
}

macro_rules! later {
    ($($name:ident: $($word:literal => $instead:literal,)+;)+) => {
        $(pub(crate) const $name: &[Later] =
            &[$(Later { word: $word, instead: $instead }),+];)+
    };
}

later! {
    SECTIONS:
        "queue" => "remove the section; a request that is over its limit is refused at once",
        "shield" => "remove the section",
    ;
    RULE:
        "max_wait" => "remove it; a request that is over its limit is refused at once",
    ;
}
