//! Reasons in words.

use std::fmt;

use super::{Condition, Outcome, Refusal, Unmet};
use crate::compiled::{CompiledRule, DenyReason};
use crate::key::KeyPart;
use crate::matching;
use crate::printable::printable;
use crate::words::part;

impl Unmet {
    pub(super) fn of(unmet: matching::Unmet<'_>, rule: &CompiledRule) -> Self {
        fn all<T: fmt::Display>(values: &[T]) -> Vec<String> {
            let text = |value: &T| printable(&value.to_string());
            values.iter().map(text).collect()
        }
        let matches = &rule.rule().matches;
        let one = |part: &KeyPart| vec![part.to_string()];
        let (condition, wanted) = match unmet {
            matching::Unmet::Domain => (Condition::Domain, all(&matches.domains)),
            matching::Unmet::Method => (Condition::Method, all(&matches.methods)),
            matching::Unmet::Host => (Condition::Host, all(&matches.hosts)),
            matching::Unmet::Path => (Condition::Path, all(&matches.paths)),
            matching::Unmet::With(part) => (Condition::With, one(part)),
            matching::Unmet::Without(part) => (Condition::Without, one(part)),
            matching::Unmet::Header(name) => (Condition::Header, vec![name.to_owned()]),
        };
        Self { condition, wanted }
    }
}

impl Condition {
    /// As policies write it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Method => "method",
            Self::Host => "host",
            Self::Path => "path",
            Self::With => "with",
            Self::Without => "without",
            Self::Header => "header",
            Self::Descriptor => "descriptor",
        }
    }
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = self.wanted.join(" or ");
        // What a rule asks for was read as a part, so it reads again.
        let words = || KeyPart::parse(&wanted).map_or_else(|_| wanted.clone(), |own| part(&own));
        match self.condition {
            Condition::Domain | Condition::Method | Condition::Host | Condition::Path => {
                write!(f, "{} is not {wanted}", self.condition.word())
            }
            Condition::With => write!(f, "no {}", words()),
            Condition::Without => write!(f, "{} is there", words()),
            Condition::Header => write!(f, "no {wanted} header with the value asked for"),
            Condition::Descriptor => write!(f, "no descriptor is {wanted}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Denied(DenyReason::Word) => "limit = \"deny\"",
            Self::Denied(DenyReason::MissingKey) => {
                "a part of the key is missing, and missing = \"deny\""
            }
            Self::Denied(DenyReason::Plan) => "the plan is \"deny\"",
            Self::Denied(DenyReason::Override) => "an operator's override is \"deny\"",
            Self::Denied(DenyReason::BadCost) => "the cost it names is no whole number",
            Self::Denied(DenyReason::Block) | Self::Blocked { until: Some(_) } => {
                "an operator blocks the key"
            }
            Self::Blocked { until: None } => "an operator blocks the key until it is lifted",
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Charged => f.write_str("charged"),
            Self::Unlimited => f.write_str("unlimited"),
            Self::Refuses(why) => write!(f, "refuses: {why}"),
            Self::WouldRefuse(why) => write!(f, "would refuse, and has no vote: {why}"),
            Self::Overruled { by } => write!(f, "rule {by} refuses before"),
            Self::Replaced { by } => write!(f, "replaced by rule {by}"),
            Self::TooManyRules => f.write_str("more rules match than can be charged in one step"),
            Self::Skipped { part: absent } => {
                write!(f, "no {}, and missing = \"skip\"", part(absent))
            }
            Self::Unmet(unmet) => unmet.fmt(f),
            Self::FoundBefore { by: Some(by) } => write!(f, "{by} is found before it"),
            Self::FoundBefore { by: None } => {
                f.write_str("a descriptor is found before it that has no limit there")
            }
            Self::NotAsked => f.write_str("a list decides before any rule"),
        }
    }
}
