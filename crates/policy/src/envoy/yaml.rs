//! YAML text to a tree of marked values. The only file that knows the YAML library.
//!
//! What a scalar means is decided by who reads it, as the reference service does: `value: 10` is the
//! text `10`, and `shadow_mode: yes` is true (YAML 1.1). Anchors, aliases and merge keys are carried
//! out, within bounds, so that a small file cannot become a large tree.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::hints;
use crate::diagnostic::{Fault, Findings, code};
use crate::source::Mark;

/// Deeper than any tree of descriptors that somebody wrote.
const DEEPEST: usize = 64;

/// More values, aliases carried out, than fit into the longest file that is read.
const MOST_NODES: usize = 1 << 20;

/// More keys than any map of descriptors has: they are compared with each other.
const MOST_KEYS: usize = 1024;

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) mark: Mark,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// `plain` has no quotes, so that it may stand for more than a text.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    /// In the order of the file.
    Map(Vec<Entry>),
}

/// One key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Node,
    pub(super) value: Node,
    /// Whether a merge key brought it: then what the map says itself takes its place.
    merged: bool,
}

impl Node {
    fn null(mark: Mark) -> Self {
        let value = Value::Scalar {
            text: String::new(),
            plain: true,
        };
        Self { value, mark }
    }

    /// Nothing stands there, or a word for nothing.
    pub(super) fn is_null(&self) -> bool {
        let Value::Scalar { text, plain: true } = &self.value else {
            return false;
        };
        matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// What people call this kind of value.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "nothing",
            Value::Scalar { plain: true, text } if is_number(text) => "a number",
            Value::Scalar { .. } => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The text of a key.
    pub(super) fn key(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, plain } if !plain || !(is_number(text) || self.is_null()) => {
                Some(text)
            }
            _ => None,
        }
    }

    /// Whether both are scalars of one text.
    fn is_written_as(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Scalar { text: own, .. }, Value::Scalar { text, .. }) => own == text,
            _ => false,
        }
    }

    /// What stands there if it is a scalar.
    pub(super) fn as_text(&self) -> String {
        match &self.value {
            Value::Scalar { text, .. } => text.clone(),
            _ => String::new(),
        }
    }

    fn count(&self) -> usize {
        1 + match &self.value {
            Value::Scalar { .. } => 0,
            Value::List(items) => items.iter().map(Self::count).sum(),
            Value::Map(entries) => entries
                .iter()
                .map(|entry| entry.key.count() + entry.value.count())
                .sum(),
        }
    }

    fn depth(&self) -> usize {
        1 + match &self.value {
            Value::Scalar { .. } => 0,
            Value::List(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Value::Map(entries) => entries
                .iter()
                .map(|entry| entry.value.depth())
                .max()
                .unwrap_or(0),
        }
    }
}

/// Whether a plain scalar is a number, with or without a fraction.
pub(super) fn is_number(text: &str) -> bool {
    integer(text).is_some() || fraction(text).is_some()
}

/// A plain whole number, in the forms that YAML 1.1 has.
pub(super) fn integer(text: &str) -> Option<i128> {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.as_bytes().first()? {
        b'-' => (true, plain.get(1..)?),
        b'+' => (false, plain.get(1..)?),
        _ => (false, plain.as_str()),
    };
    if !digits.bytes().next()?.is_ascii_digit() {
        return None;
    }
    let radix = |prefix: &str, radix| Some((digits.strip_prefix(prefix)?, radix));
    let (digits, radix) = radix("0x", 16)
        .or_else(|| radix("0b", 2))
        .or_else(|| radix("0o", 8))
        .or_else(|| radix("0", 8).filter(|(rest, _)| !rest.is_empty()))
        .unwrap_or((digits, 10));
    let number = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -number } else { number })
}

/// A plain number with a fraction or an exponent.
pub(super) fn fraction(text: &str) -> Option<f64> {
    let special = text.trim_start_matches(['-', '+']);
    if matches!(special, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Some(f64::NAN);
    }
    let first = special.bytes().next()?;
    if !(first.is_ascii_digit() || first == b'.') || integer(text).is_some() {
        return None;
    }
    text.parse().ok()
}

/// The words for true and false.
pub(super) fn flag(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            Some(true)
        }
        "false" | "False" | "FALSE" | "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            Some(false)
        }
        _ => None,
    }
}

/// Reads the first document of a text. `None` if it is no YAML, which is told.
pub(super) fn parse(text: &str, findings: &mut Findings<'_>) -> Option<Node> {
    Reader::new(text).read(findings)
}

/// A list or a map that is still open.
struct Open {
    node: Node,
    anchor: usize,
    /// A key that waits for its value.
    key: Option<Node>,
}

struct Reader<'t> {
    text: &'t str,
    /// Where the character of each number begins, in bytes.
    starts: Vec<usize>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let starts = text.char_indices().map(|(at, _)| at);
        Self {
            text,
            starts: starts.chain([text.len()]).collect(),
            open: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            root: None,
        }
    }

    fn at(&self, character: usize) -> usize {
        self.starts
            .get(character)
            .copied()
            .unwrap_or(self.text.len())
    }

    fn mark(&self, span: Span) -> Mark {
        let (start, end) = (self.at(span.start.index()), self.at(span.end.index()));
        let marked = self.text.get(start..end).unwrap_or_default();
        Mark::from(start..start + marked.trim_end().len())
    }

    fn read(mut self, findings: &mut Findings<'_>) -> Option<Node> {
        for event in Parser::new_from_str(self.text) {
            let (event, span) = match event {
                Ok(found) => found,
                Err(error) => {
                    let at = self.at(error.marker().index());
                    let fault =
                        Fault::new(code::SYNTAX, format!("this is not YAML: {}", error.info()));
                    return findings
                        .error(Mark::from(at..at + 1), fault.fix(hints::of(error.info())));
                }
            };
            let mark = self.mark(span);
            if let Err(fault) = self.take(event, mark) {
                // The first of two stays, and whatever else is wrong is told as well.
                let goes_on = fault.code == code::DUPLICATE;
                let nothing = findings.error(mark, fault);
                if !goes_on {
                    return nothing;
                }
            }
        }
        Some(self.root.unwrap_or_else(|| Node::null(Mark::default())))
    }

    fn take(&mut self, event: Event<'_>, mark: Mark) -> Result<(), Fault> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                // A tag says what it is: `!!str 10` is a text.
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let text = text.into_owned();
                let value = Value::Scalar { text, plain };
                self.counted(1)?;
                self.put(Node { value, mark }, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(Value::List(Vec::new()), mark, anchor),
            Event::MappingStart(anchor, _) => self.begin(Value::Map(Vec::new()), mark, anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { node, anchor, .. }) => self.put(node, anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => self.alias(anchor, mark),
            Event::DocumentStart(_) if self.root.is_some() => {
                let fault = Fault::new(code::SYNTAX, "a file of descriptors is one document");
                Err(fault.fix("a file for each domain: what begins here in one of its own"))
            }
            _ => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize, mark: Mark) -> Result<(), Fault> {
        let Some(named) = self.anchors.get(&anchor) else {
            let fault = Fault::new(code::SYNTAX, "this alias stands within what it names");
            return Err(fault.fix("write it out"));
        };
        let (nodes, depth) = (named.count(), named.depth());
        self.counted(nodes)?;
        if self.open.len() + depth > DEEPEST {
            return Err(too_deep());
        }
        let value = self.anchors.get(&anchor).map(|named| named.value.clone());
        let node = value.map_or_else(|| Node::null(mark), |value| Node { value, mark });
        self.put(node, 0)
    }

    fn counted(&mut self, nodes: usize) -> Result<(), Fault> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MOST_NODES {
            return Err(too_much("becomes too large with its aliases carried out"));
        }
        Ok(())
    }

    fn begin(&mut self, value: Value, mark: Mark, anchor: usize) -> Result<(), Fault> {
        if self.open.len() >= DEEPEST {
            return Err(too_deep());
        }
        self.counted(1)?;
        let (node, key) = (Node { value, mark }, None);
        self.open.push(Open { node, anchor, key });
        Ok(())
    }

    /// A whole value, in the place where it stands.
    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        if anchor != 0 {
            // It is kept twice, and what lies in it again for each anchor around it.
            self.counted(node.count())?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            if self.root.is_some() {
                let fault = Fault::new(code::SYNTAX, "a file of descriptors is one document");
                return Err(fault.fix("a file for each domain"));
            }
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(key)) => insert(entries, key, node)?,
            (_, None) => open.key = Some(node),
            (Value::Scalar { .. }, Some(_)) => {}
        }
        Ok(())
    }
}

/// An entry of a map; those behind `<<` do not replace what the map says itself.
fn insert(entries: &mut Vec<Entry>, key: Node, value: Node) -> Result<(), Fault> {
    if matches!(&key.value, Value::Scalar { text, plain: true } if text == "<<") {
        return merge(entries, value);
    }
    let same = |entry: &Entry| entry.key.is_written_as(&key);
    if let Some(before) = entries.iter().position(same) {
        if !entries[before].merged {
            let name = key.as_text();
            let what = format!("`{name}` stands twice in one map");
            return Err(Fault::new(code::DUPLICATE, what).fix("write it once"));
        }
        entries.remove(before);
    }
    let merged = false;
    push(entries, Entry { key, value, merged })
}

fn merge(entries: &mut Vec<Entry>, value: Node) -> Result<(), Fault> {
    let maps = match value.value {
        Value::List(items) => items,
        _ => vec![value],
    };
    for map in maps {
        let Value::Map(brought) = map.value else {
            let fault = Fault::new(code::TYPE, "`<<` takes an alias of a map");
            return Err(fault.fix("<<: *NAME"));
        };
        for entry in brought {
            if !entries.iter().any(|own| own.key.is_written_as(&entry.key)) {
                let merged = true;
                push(entries, Entry { merged, ..entry })?;
            }
        }
    }
    Ok(())
}

fn push(entries: &mut Vec<Entry>, entry: Entry) -> Result<(), Fault> {
    if entries.len() >= MOST_KEYS {
        return Err(too_much(&format!("map has more than {MOST_KEYS} keys")));
    }
    entries.push(entry);
    Ok(())
}

fn too_deep() -> Fault {
    too_much(&format!("lies deeper than {DEEPEST} levels"))
}

fn too_much(why: &str) -> Fault {
    Fault::new(code::TOO_MANY, format!("this {why}")).fix("a smaller file")
}
