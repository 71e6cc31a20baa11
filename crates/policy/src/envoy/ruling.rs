//! What the limits of descriptors say of one request.

use std::ops::Range;

use jeton_core::{Anchor, MAX_LIMIT, Quota};

use super::tree::{DescriptorLimit, Descriptors};
use super::unit::Unit;
use crate::compiled::{bound, push_text};

/// One descriptor of a request.
#[derive(Clone, Copy, Debug)]
pub struct AskedDescriptor<'a> {
    /// Keys and values, in their order.
    pub entries: &'a [(&'a str, &'a str)],
    /// A limit that the request brings; it holds instead of that of the file.
    pub limit: Option<(u32, Unit)>,
}

/// What is said of one descriptor.
#[derive(Clone, Debug)]
pub enum Ruling {
    /// No limit: it passes.
    Nothing,
    /// `unlimited: true`: it passes.
    Unlimited(usize),
    /// Another descriptor of the request replaces its limit: it passes.
    Replaced,
    /// The limit of this number, on the counter of this key.
    Limit {
        /// Which of [`Descriptors::limits`].
        limit: usize,
        /// The key, among those of the request.
        key: Range<usize>,
    },
    /// A limit that the request brings.
    Own(OwnLimit),
}

/// A limit that a request brings.
#[derive(Clone, Debug)]
pub struct OwnLimit {
    /// Requests in each unit.
    pub requests: u32,
    /// The unit.
    pub unit: Unit,
    /// The rule that it is counted under.
    pub rule: usize,
    pub(crate) quota: Option<Quota>,
    pub(crate) key: Range<usize>,
}

/// What is said of all descriptors of a request, in their order. Keep it: then nothing is allocated.
#[derive(Debug, Default)]
pub struct Rulings {
    pub(crate) keys: Vec<u8>,
    pub(crate) list: Vec<Ruling>,
}

impl Rulings {
    /// One for each descriptor.
    pub fn list(&self) -> &[Ruling] {
        &self.list
    }
}

impl Descriptors {
    /// What is said of the descriptors of a request for `domain`. Without any file, a limit that a
    /// request brings holds in every domain, else in those that files speak of.
    pub fn rule(&self, domain: &str, asked: &[AskedDescriptor<'_>], rulings: &mut Rulings) {
        let Rulings { keys, list } = rulings;
        keys.clear();
        list.clear();
        for descriptor in asked {
            let ruling = self.rule_one(domain, descriptor, keys);
            list.push(ruling);
        }
        // The limits that replace others, even those that are replaced themselves.
        for by in 0..list.len() {
            let replaces = match list.get(by) {
                Some(Ruling::Limit { limit, .. } | Ruling::Unlimited(limit)) => {
                    self.limits().get(*limit)
                }
                _ => None,
            };
            let replaces = replaces.map_or(&[][..], |limit| &limit.replaces);
            if replaces.is_empty() {
                continue;
            }
            for ruling in list.iter_mut() {
                let Ruling::Limit { limit, key } = ruling else {
                    continue;
                };
                let name = self
                    .limits()
                    .get(*limit)
                    .and_then(|limit| limit.name.as_deref());
                if name.is_some_and(|name| replaces.iter().any(|other| other == name)) {
                    // Marked for now by an empty range before the beginning: it may replace others.
                    *key = REPLACED;
                }
            }
        }
        for ruling in list.iter_mut() {
            if matches!(ruling, Ruling::Limit { key, .. } if *key == REPLACED) {
                *ruling = Ruling::Replaced;
            }
        }
    }

    fn rule_one(&self, domain: &str, asked: &AskedDescriptor<'_>, keys: &mut Vec<u8>) -> Ruling {
        let start = keys.len();
        let found = self.find(domain, asked.entries, keys);
        bound(keys, start);
        let key = start..keys.len();
        let limit = found.and_then(|found| Some((found, self.limits().get(found)?)));
        match (asked.limit, limit) {
            (Some(own), limit) => {
                let is_known = self.is_empty() || self.knows(domain);
                let own = is_known.then(|| self.own_limit(domain, own, limit, asked, key, keys));
                own.flatten().map_or(Ruling::Nothing, Ruling::Own)
            }
            (None, Some((found, limit))) if limit.per.is_none() => Ruling::Unlimited(found),
            (None, Some((limit, _))) => Ruling::Limit { limit, key },
            (None, None) => Ruling::Nothing,
        }
    }

    /// Over the same time it is another quota for the counter of the file's limit; else it has a counter
    /// of its own.
    fn own_limit(
        &self,
        domain: &str,
        (requests, unit): (u32, Unit),
        limit: Option<(usize, &DescriptorLimit)>,
        asked: &AskedDescriptor<'_>,
        key: Range<usize>,
        keys: &mut Vec<u8>,
    ) -> Option<OwnLimit> {
        let same = |limit: &DescriptorLimit| limit.per.is_some_and(|(_, own)| own == unit);
        let (rule, key) = match limit {
            Some((_, limit)) if same(limit) => (limit.rule, key),
            _ => {
                let start = key.start;
                keys.truncate(start);
                push_text(domain.as_bytes(), keys);
                push_text(unit.word().as_bytes(), keys);
                for (key, value) in asked.entries {
                    push_text(key.as_bytes(), keys);
                    push_text(value.as_bytes(), keys);
                }
                bound(keys, start);
                (self.own?, start..keys.len())
            }
        };
        let most = u64::from(requests.min(MAX_LIMIT));
        Some(OwnLimit {
            requests: requests.min(MAX_LIMIT),
            unit,
            rule,
            quota: Quota::fixed_window(most, unit.span(), Anchor::Epoch).ok(),
            key,
        })
    }
}

/// Where no key is.
const REPLACED: Range<usize> = usize::MAX..usize::MAX;
