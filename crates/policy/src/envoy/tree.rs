//! The limits of descriptors, found by walking down a tree.
//!
//! At each level an entry is looked up by key and value, then among wildcards in the order of the file,
//! then by key alone. A limit counts only if it stands at the last entry of the request's descriptor.
//! There is no way back: an entry that led into a branch without the next one ends the walk.

use std::collections::HashMap;

use super::limit::{Descriptor, Limit, Metadata, Per};
use super::metric::Segment;
use super::pattern::Pattern;
use super::unit::Unit;
use crate::compiled::push_text;

/// The limits of all domains.
#[derive(Debug, Default)]
pub struct Descriptors {
    /// By domain, the branch at which its descriptors begin.
    domains: HashMap<Box<str>, usize>,
    branches: Vec<Branch>,
    limits: Vec<DescriptorLimit>,
    /// The rule under which limits are counted that requests bring.
    pub(super) own: Option<usize>,
    /// How many files there are.
    pub(super) files: usize,
}

/// One limit of a file of descriptors.
#[derive(Debug)]
pub struct DescriptorLimit {
    /// The index of the rule that it is.
    pub rule: usize,
    /// Requests in each unit of time; none for `unlimited`. 0 lets nothing pass.
    pub per: Option<(u32, Unit)>,
    /// `name`: what it is called in answers, and by those that replace it.
    pub name: Option<Box<str>>,
    /// Whether a request is refused only if all such limits refuse it.
    pub quota_mode: bool,
    /// What is told of a descriptor that passed.
    pub metadata: Option<Metadata>,
    pub(crate) replaces: Vec<String>,
    /// What it is counted by where values of requests take part.
    pub(super) metric: Option<Box<[Segment]>>,
}

#[derive(Debug, Default)]
struct Branch {
    keys: HashMap<Box<str>, Values>,
    /// In the order of the file.
    wildcards: Vec<Wildcard>,
}

#[derive(Debug, Default)]
struct Values {
    exact: HashMap<Box<str>, Leaf>,
    any: Option<Leaf>,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    limit: Option<usize>,
    branch: Option<usize>,
}

#[derive(Debug)]
struct Wildcard {
    key: Pattern,
    /// None for every value.
    value: Option<Pattern>,
    leaf: Leaf,
    telling: Telling,
}

/// What of an entry tells counters apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// Nothing: it is the same for all that come here, or one counter is for all of them.
    Nothing,
    /// Its value.
    Value,
    /// Its key and its value.
    Both,
}

impl Telling {
    pub(super) fn of(descriptor: &Descriptor) -> Self {
        match &descriptor.value {
            _ if descriptor.shares => Self::Nothing,
            _ if descriptor.key.contains('*') => Self::Both,
            Some(value) if !value.contains('*') => Self::Nothing,
            _ => Self::Value,
        }
    }
}

impl Branch {
    fn find(&self, key: &str, value: &str) -> Option<(Leaf, Telling)> {
        let values = self.keys.get(key);
        if let Some(leaf) = values.and_then(|values| values.exact.get(value)) {
            return Some((*leaf, Telling::Nothing));
        }
        let matches = |wildcard: &&Wildcard| {
            let of_value = wildcard.value.as_ref();
            wildcard.key.matches(key) && of_value.is_none_or(|pattern| pattern.matches(value))
        };
        if let Some(wildcard) = self.wildcards.iter().find(matches) {
            return Some((wildcard.leaf, wildcard.telling));
        }
        values?.any.map(|leaf| (leaf, Telling::Value))
    }

    fn add(&mut self, descriptor: &Descriptor, leaf: Leaf) {
        let Descriptor { key, value, .. } = descriptor;
        let has_wildcard = |text: &String| text.contains('*');
        if has_wildcard(key) || value.as_ref().is_some_and(has_wildcard) {
            self.wildcards.push(Wildcard {
                key: Pattern::new(key),
                value: value.as_deref().map(Pattern::new),
                leaf,
                telling: Telling::of(descriptor),
            });
            return;
        }
        let values = self.keys.entry(key.as_str().into()).or_default();
        match value {
            Some(value) => drop(values.exact.insert(value.as_str().into(), leaf)),
            None => values.any = Some(leaf),
        }
    }
}

impl Descriptors {
    /// Adds a limit, whose rule has this index.
    pub(super) fn limit_of(
        &mut self,
        limit: &Limit,
        rule: usize,
        metric: Option<Box<[Segment]>>,
    ) -> usize {
        self.limits.push(DescriptorLimit {
            rule,
            per: match limit.per {
                Per::Unlimited => None,
                Per::Unit { requests, unit } => Some((requests, unit)),
            },
            name: limit.name.as_deref().map(Box::from),
            quota_mode: limit.quota,
            metadata: limit.metadata.clone(),
            replaces: limit.replaces.clone(),
            metric,
        });
        self.limits.len() - 1
    }

    /// A new branch.
    pub(super) fn branch(&mut self) -> usize {
        self.branches.push(Branch::default());
        self.branches.len() - 1
    }

    /// Adds a descriptor to a branch, with its limit and the branch of those below it.
    pub(super) fn add(
        &mut self,
        branch: usize,
        descriptor: &Descriptor,
        limit: Option<usize>,
        below: Option<usize>,
    ) {
        let leaf = Leaf {
            limit,
            branch: below,
        };
        if let Some(branch) = self.branches.get_mut(branch) {
            branch.add(descriptor, leaf);
        }
    }

    pub(super) fn domain(&mut self, name: &str, branch: usize) {
        self.domains.insert(name.into(), branch);
    }

    /// The index of the rule under which limits are counted that requests bring; the last of all.
    pub(crate) const fn own(&self) -> Option<usize> {
        self.own
    }

    /// How many files speak of them.
    pub const fn files(&self) -> usize {
        self.files
    }

    /// How many domains there are.
    pub fn domains(&self) -> usize {
        self.domains.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// Whether a file speaks of this domain.
    pub fn knows(&self, domain: &str) -> bool {
        self.domains.contains_key(domain)
    }

    /// The limits in the order of the files.
    pub fn limits(&self) -> &[DescriptorLimit] {
        &self.limits
    }

    /// The limit of a descriptor, by its number. What tells its counter from others of the limit is
    /// appended to `key`.
    pub(crate) fn find(
        &self,
        domain: &str,
        entries: &[(&str, &str)],
        key: &mut Vec<u8>,
    ) -> Option<usize> {
        let start = key.len();
        let found = self.walk(*self.domains.get(domain)?, entries, key);
        if found.is_none() {
            key.truncate(start);
        }
        found
    }

    fn walk(&self, root: usize, entries: &[(&str, &str)], out: &mut Vec<u8>) -> Option<usize> {
        let mut branch = self.branches.get(root)?;
        let (last, before) = entries.split_last()?;
        let mut step = |branch: &Branch, (key, value): &(&str, &str)| {
            let (leaf, telling) = branch.find(key, value)?;
            if telling == Telling::Both {
                push_text(key.as_bytes(), out);
            }
            if telling != Telling::Nothing {
                push_text(value.as_bytes(), out);
            }
            Some(leaf)
        };
        for entry in before {
            branch = self.branches.get(step(branch, entry)?.branch?)?;
        }
        step(branch, last)?.limit
    }
}
