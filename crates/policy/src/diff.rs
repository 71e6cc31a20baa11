//! What taking up another policy changes: told rule by rule, before it happens.

mod difference;
mod settings;
mod written;

use std::collections::HashMap;
use std::fmt;

use jeton_wire::client_ip::Ipv6Prefix;

pub use self::difference::Difference;
use self::difference::differences;
use self::written::{identity, settings_of};
use crate::compiled::{CompiledRule, Policy};
use crate::envoy::DescriptorPath;

/// What a policy changes when it takes the place of another. Its [`Display`](fmt::Display) is one
/// line per rule.
///
/// ```
/// use jeton_policy::{NoReferences, Policy, Source};
/// let policy = |rate: &str| {
///     let rule = "[[rule]]\nname = 'api'\nkey = 'client-ip'\nalgorithm = 'gcra'\nrate = ";
///     let text = format!("{rule}'{rate}'\nburst = 9");
///     Policy::load(&Source::new("jeton.toml", text), &NoReferences).map(|loaded| loaded.policy)
/// };
/// let changes = policy("5/s")?.diff(&policy("3/s")?);
/// assert_eq!(changes.to_string(), "rule api: changed, counters kept: rate 3/s -> 5/s\n");
/// assert!(changes.refused().is_empty());
/// # Ok::<(), jeton_policy::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// The rules in the order of the new file, then those that are gone.
    pub rules: Vec<RuleChange>,
    /// Settings other than rules that differ and take effect at once, such as `[lists] block`.
    pub adopted: Vec<&'static str>,
    refused: Vec<&'static str>,
}

/// What becomes of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleChange {
    /// Its name.
    pub rule: String,
    /// What becomes of it.
    pub change: Change,
}

/// What becomes of a rule and of its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is the same.
    Kept,
    /// It keeps its counters, under other settings.
    Changed(Vec<Difference>),
    /// It starts with new counters.
    Anew {
        /// What makes them other counters.
        why: Vec<Difference>,
        /// What else differs.
        also: Vec<Difference>,
    },
    /// There was none of its name.
    Added,
    /// There is none of its name any more.
    Removed,
}

impl Changes {
    /// Settings that differ and are only read when the process starts, such as `[store] max_keys`.
    /// A policy with any of them is not to be taken up.
    pub fn refused(&self) -> &[&'static str] {
        &self.refused
    }

    /// Whether both policies are the same.
    pub fn is_empty(&self) -> bool {
        let kept = |rule: &RuleChange| rule.change == Change::Kept;
        self.rules.iter().all(kept) && self.adopted.is_empty() && self.refused.is_empty()
    }
}

impl Change {
    /// In one word: `kept`, `changed`, `anew`, `added` or `removed`.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed(_) => "changed",
            Self::Anew { .. } => "anew",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

impl Policy {
    /// What changes if this policy takes the place of `old`. Rules are told apart by name, limits of files
    /// of descriptors by their path.
    pub fn diff(&self, old: &Self) -> Changes {
        let prefix = |policy: &Self| policy.settings().client_ip.ipv6_prefix;
        let prefixes = (prefix(self), prefix(old));
        let (before, after) = (by_place(old), by_place(self));
        let here = self.told_rules().iter().map(|rule| RuleChange {
            rule: rule.name().to_owned(),
            change: before
                .get(&place(rule))
                .map_or(Change::Added, |old| changed(rule, old, prefixes)),
        });
        let is_gone = |rule: &&CompiledRule| !after.contains_key(&place(rule));
        let gone = old.told_rules().iter().filter(is_gone);
        let gone = gone.map(|rule| RuleChange {
            rule: rule.name().to_owned(),
            change: Change::Removed,
        });
        Changes {
            rules: here.chain(gone).collect(),
            adopted: settings::adopted(self.settings(), old.settings()),
            refused: settings::refused(self.settings(), old.settings()),
        }
    }
}

/// What tells a rule from all others of a policy.
type Place<'a> = (Option<&'a DescriptorPath>, &'a str);

fn by_place(policy: &Policy) -> HashMap<Place<'_>, &CompiledRule> {
    let rules = policy.told_rules().iter();
    rules.map(|rule| (place(rule), rule)).collect()
}

fn place(rule: &CompiledRule) -> Place<'_> {
    match &rule.rule().descriptor {
        Some(path) => (Some(path), ""),
        None => (None, rule.name()),
    }
}

fn changed(new: &CompiledRule, old: &CompiledRule, prefixes: (Ipv6Prefix, Ipv6Prefix)) -> Change {
    let also = differences(&settings_of(new.rule()), &settings_of(old.rule()));
    if same_counters(new, old) {
        return if also.is_empty() {
            Change::Kept
        } else {
            Change::Changed(also)
        };
    }
    let why = differences(&identity(new, prefixes.0), &identity(old, prefixes.1));
    let is_said = |other: &Difference| why.iter().any(|said| said.setting == other.setting);
    let also = also.into_iter().filter(|other| !is_said(other)).collect();
    Change::Anew { why, also }
}

/// States are told apart by the rule's id and by the kind of their quota. A word has no state, so
/// whatever is there under the id goes on to count.
fn same_counters(new: &CompiledRule, old: &CompiledRule) -> bool {
    let kinds = (new.quota(), old.quota());
    let same_kind = match kinds {
        (Some(new), Some(old)) => new.kind() == old.kind(),
        _ => true,
    };
    new.id() == old.id() && same_kind
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in &self.rules {
            writeln!(f, "{rule}")?;
        }
        for setting in &self.adopted {
            writeln!(f, "{setting}: changed")?;
        }
        for setting in &self.refused {
            writeln!(f, "{setting}: changed, which needs a restart")?;
        }
        Ok(())
    }
}

impl fmt::Display for RuleChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.change)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Changed(what) => write!(f, "changed, counters kept: {}", difference::list(what)),
            Self::Anew { why, also } => {
                write!(f, "new counters, because of {}", difference::list(why))?;
                if also.is_empty() {
                    return Ok(());
                }
                write!(f, "; also {}", difference::list(also))
            }
            Self::Added => f.write_str("added"),
            Self::Removed => f.write_str("removed"),
        }
    }
}
