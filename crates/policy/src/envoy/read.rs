//! One file of descriptors: what it means, or every mistake in it.
//!
//! Refused is what the reference service refuses, and besides what it passes over: a key that it knows
//! in a place where it has no effect. Descriptors are tuples here: `a: b_c` and `a_b: c` are two.

use std::collections::HashSet;

use jeton_core::MAX_LIMIT;

use super::doubts::{self, Replaced};
use super::faults;
use super::limit::{Descriptor, Limit, Metadata, Per};
use super::unit::Unit;
use super::yaml::{self, Node, Value};
use crate::diagnostic::{Fault, Findings, code};
use crate::source::Mark;

/// The keys of each kind of map.
pub(super) const ROOT: &[&str] = &["domain", "descriptors"];
pub(super) const DESCRIPTOR: &[&str] = &[
    "key",
    "value",
    "rate_limit",
    "descriptors",
    "shadow_mode",
    "quota_mode",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
    "metadata",
];
pub(super) const RATE_LIMIT: &[&str] =
    &["unit", "requests_per_unit", "unlimited", "name", "replaces"];
const REPLACED: &[&str] = &["name"];

/// What a file says, with the places that other files may have to say something about.
#[derive(Debug)]
pub(super) struct File {
    pub(super) domain: String,
    pub(super) domain_mark: Mark,
    pub(super) descriptors: Vec<(Descriptor, Mark)>,
    /// What its limits replace.
    pub(super) replaced: Vec<Replaced>,
}

/// Reads a file. Mistakes become findings; `None` if it has no domain.
pub(super) fn read(text: &str, findings: &mut Findings<'_>) -> Option<File> {
    let root = yaml::parse(text, findings)?;
    let mut reader = Reader {
        findings,
        replaced: Vec::new(),
        doubts: Vec::new(),
    };
    let file = reader.file(&root);
    // What was read wrong may be what seems to be missing.
    if !reader.findings.has_errors() {
        for (mark, doubt) in reader.doubts {
            reader.findings.warning(mark, doubt);
        }
    }
    file
}

struct Reader<'a, 'f> {
    findings: &'a mut Findings<'f>,
    replaced: Vec<Replaced>,
    /// What is allowed, and hardly meant.
    doubts: Vec<(Mark, Fault)>,
}

/// The known entries of one map.
struct Map<'n> {
    mark: Mark,
    known: Vec<(&'static str, Mark, &'n Node)>,
}

impl<'n> Map<'n> {
    /// A value, unless it is nothing.
    fn get(&self, key: &str) -> Option<&'n Node> {
        let found = self.known.iter().find(|(own, ..)| *own == key);
        found.map(|(.., node)| *node).filter(|node| !node.is_null())
    }

    fn mark_of(&self, key: &str) -> Mark {
        let found = self.known.iter().find(|(own, ..)| *own == key);
        found.map_or(self.mark, |(_, mark, _)| *mark)
    }
}

impl Reader<'_, '_> {
    fn error(&mut self, mark: Mark, fault: Fault) {
        let _: Option<()> = self.findings.error(mark, fault);
    }

    fn file(&mut self, root: &Node) -> Option<File> {
        if root.is_null() {
            let fault = Fault::new(code::EMPTY, "this file says nothing");
            let fix = "a `domain` with its `descriptors`; or take the file out of the folder";
            return self.findings.error(root.mark, fault.fix(fix));
        }
        let map = self.map(root, "a file of descriptors", ROOT)?;
        let domain = self.text(&map, "domain").unwrap_or_default();
        let descriptors = self.descriptors(&map);
        if domain.is_empty() {
            let fault = Fault::new(code::EMPTY, "a file of descriptors needs a `domain`");
            let mark = map.mark_of("domain");
            return self
                .findings
                .error(mark, fault.fix("domain: the one that Envoy's filter names"));
        }
        Some(File {
            domain,
            domain_mark: map.mark_of("domain"),
            descriptors,
            replaced: std::mem::take(&mut self.replaced),
        })
    }

    /// The list `descriptors` of a map.
    fn descriptors(&mut self, map: &Map<'_>) -> Vec<(Descriptor, Mark)> {
        let Some(list) = self.list(map, "descriptors") else {
            return Vec::new();
        };
        let mut all: Vec<(Descriptor, Mark)> = Vec::new();
        let mut seen: HashSet<(String, Option<String>)> = HashSet::new();
        for node in list {
            let Some((descriptor, mark)) = self.descriptor(node) else {
                continue;
            };
            let tuple = (descriptor.key.clone(), descriptor.value.clone());
            if !seen.insert(tuple) {
                self.error(mark, faults::duplicate(&descriptor));
            }
            all.push((descriptor, mark));
        }
        doubts::leaves(&all, &mut self.doubts);
        all
    }

    fn descriptor(&mut self, node: &Node) -> Option<(Descriptor, Mark)> {
        let map = self.map(node, "a descriptor", DESCRIPTOR)?;
        let key = self.text(&map, "key").unwrap_or_default();
        if key.is_empty() {
            let fault = Fault::new(code::EMPTY, "a descriptor needs a `key`");
            self.error(map.mark_of("key"), fault.fix("key: generic_key"));
        }
        let value = self.text(&map, "value").filter(|value| !value.is_empty());
        let flags = ["shadow_mode", "quota_mode", "detailed_metric"];
        let [shadow, quota, detailed] = flags.map(|key| self.flag(&map, key));
        let value_to_metric = self.flag(&map, "value_to_metric");
        let shares = self.flag(&map, "share_threshold");
        let has_wildcard = key.contains('*') || value.as_deref().is_some_and(|v| v.contains('*'));
        if shares && !has_wildcard {
            let what = "`share_threshold` is for values with a `*`";
            let fault = Fault::new(code::CONTRADICTION, what)
                .label("one counter for all that match")
                .fix("value: \"prefix*\", or leave it out");
            self.error(map.mark_of("share_threshold"), fault);
        }
        let metadata = self.metadata(&map);
        let limit = map.get("rate_limit").and_then(|node| self.limit(node));
        let descriptors = self.descriptors(&map);
        let limit = limit.map(|limit| Limit {
            shadow,
            quota,
            detailed,
            metadata,
            ..limit
        });
        let descriptor = Descriptor {
            key,
            value,
            shares,
            value_to_metric,
            limit,
            descriptors: descriptors.into_iter().map(|(one, _)| one).collect(),
        };
        Some((descriptor, map.mark_of("key")))
    }

    fn limit(&mut self, node: &Node) -> Option<Limit> {
        let map = self.map(node, "`rate_limit`", RATE_LIMIT)?;
        let unlimited = self.flag(&map, "unlimited");
        let word = self.text(&map, "unit").filter(|word| !word.is_empty());
        let unit = word.as_deref().and_then(Unit::of_word);
        let requests = self.requests(&map);
        if unit.is_some() && map.get("requests_per_unit").is_none() {
            self.doubts
                .push((map.mark_of("unit"), doubts::denies_all()));
        }
        let name = self.text(&map, "name").filter(|name| !name.is_empty());
        let replaces = self.replaces(&map, name.as_deref());
        if unlimited && unit.is_some() {
            let what = "`unlimited` and a `unit` exclude each other";
            let fault = Fault::new(code::CONTRADICTION, what).fix("keep one of them");
            self.error(map.mark_of("unit"), fault);
        }
        let per = match unit {
            _ if unlimited => Per::Unlimited,
            Some(unit) => Per::Unit {
                requests: requests?,
                unit,
            },
            None => {
                self.error(map.mark_of("unit"), faults::unknown_unit(word.as_deref()));
                return None;
            }
        };
        Some(Limit {
            per,
            name,
            replaces,
            shadow: false,
            quota: false,
            detailed: false,
            metadata: None,
        })
    }

    /// None at all is 0, as the reference has it: nothing passes.
    fn requests(&mut self, map: &Map<'_>) -> Option<u32> {
        let Some(node) = map.get("requests_per_unit") else {
            return Some(0);
        };
        let number = match &node.value {
            Value::Scalar { text, plain: true } => yaml::integer(text),
            _ => None,
        };
        let most = u64::from(MAX_LIMIT);
        let requests = number.and_then(|number| u64::try_from(number).ok());
        match requests {
            Some(requests) if requests <= most => u32::try_from(requests).ok(),
            Some(requests) if u32::try_from(requests).is_ok() => {
                let what = format!("{requests} requests cannot be held exactly");
                let fault = Fault::new(code::QUOTA, what).label(format!("at most {most}"));
                let fix = format!("requests_per_unit: {most}, or unlimited: true");
                self.findings.error(node.mark, fault.fix(fix))
            }
            _ => {
                let what = "`requests_per_unit` is a whole number";
                let fault = Fault::new(code::NUMBER, what).fix(format!("0 to {most}"));
                self.findings.error(node.mark, fault)
            }
        }
    }

    fn replaces(&mut self, map: &Map<'_>, own: Option<&str>) -> Vec<String> {
        let mut names = Vec::new();
        for node in self.list(map, "replaces").into_iter().flatten() {
            let Some(entry) = self.map(node, "an entry of `replaces`", REPLACED) else {
                continue;
            };
            let name = self.text(&entry, "name").unwrap_or_default();
            if name.is_empty() {
                let fault = Fault::new(code::EMPTY, "an entry of `replaces` names nothing");
                self.error(node.mark, fault.fix("- name: the `name` of another limit"));
            } else if own == Some(name.as_str()) {
                let fault = Fault::new(code::REPLACES, format!("{name:?} cannot replace itself"));
                self.error(entry.mark_of("name"), fault.fix("leave it out"));
            }
            self.replaced.push(Replaced {
                name: name.clone(),
                mark: entry.mark_of("name"),
            });
            names.push(name);
        }
        names
    }

    fn metadata(&mut self, map: &Map<'_>) -> Option<Metadata> {
        let node = map.get("metadata")?;
        if let Value::Map(_) = &node.value {
            return Some(Metadata::of(node));
        }
        let fault = Fault::new(code::TYPE, "`metadata` must be a map");
        let fault = fault.label(format!("this is {}", node.kind()));
        self.findings
            .error(node.mark, fault.fix("metadata: { plan: gold }"))
    }

    /// A map; keys that it does not know are refused.
    fn map<'n>(
        &mut self,
        node: &'n Node,
        place: &'static str,
        keys: &[&'static str],
    ) -> Option<Map<'n>> {
        let Value::Map(entries) = &node.value else {
            let fault = Fault::new(code::TYPE, format!("{place} must be a map"));
            let fault = fault.label(format!("this is {}", node.kind()));
            let fix = keys
                .first()
                .map_or(String::new(), |key| format!("{key}: …"));
            return self.findings.error(node.mark, fault.fix(fix));
        };
        let mut known = Vec::new();
        for entry in entries {
            let Some(name) = entry.key.key() else {
                let fault = Fault::new(code::TYPE, "a key must be a text");
                let fault = fault.label(format!("this is {}", entry.key.kind()));
                self.error(
                    entry.key.mark,
                    fault.fix("take it out, or put it in quotes"),
                );
                continue;
            };
            match keys.iter().find(|key| **key == name) {
                Some(key) => known.push((*key, entry.key.mark, &entry.value)),
                None => self.error(entry.key.mark, faults::unknown(name, place, keys)),
            }
        }
        let mark = node.mark;
        Some(Map { mark, known })
    }

    fn list<'n>(&mut self, map: &Map<'n>, key: &str) -> Option<&'n [Node]> {
        let node = map.get(key)?;
        if let Value::List(items) = &node.value {
            return Some(items);
        }
        let fault = Fault::new(code::TYPE, format!("`{key}` must be a list"));
        let fault = fault.label(format!("this is {}", node.kind()));
        self.findings
            .error(node.mark, fault.fix(format!("{key}: [ … ]")))
    }

    /// A text, or what reads as one. Numbers with a fraction do not: nobody knows how they are written
    /// in a request.
    fn text(&mut self, map: &Map<'_>, key: &str) -> Option<String> {
        let node = map.get(key)?;
        match &node.value {
            Value::Scalar { text, plain } if !(*plain && yaml::fraction(text).is_some()) => {
                Some(text.clone())
            }
            Value::Scalar { text, .. } => {
                let fault = Fault::new(code::TYPE, format!("`{key}` is a number with a fraction"));
                self.findings
                    .error(node.mark, fault.fix(format!("{key}: \"{text}\"")))
            }
            _ => {
                let fault = Fault::new(code::TYPE, format!("`{key}` must be a text"));
                let fault = fault.label(format!("this is {}", node.kind()));
                self.findings
                    .error(node.mark, fault.fix(format!("{key}: …")))
            }
        }
    }

    fn flag(&mut self, map: &Map<'_>, key: &str) -> bool {
        let Some(node) = map.get(key) else {
            return false;
        };
        let flag = match &node.value {
            Value::Scalar { text, plain: true } => yaml::flag(text),
            _ => None,
        };
        flag.unwrap_or_else(|| {
            let fault = Fault::new(code::TYPE, format!("`{key}` must be true or false"));
            let fault = fault.label(format!("this is {}", node.kind()));
            self.error(node.mark, fault.fix(format!("{key}: true")));
            false
        })
    }
}
