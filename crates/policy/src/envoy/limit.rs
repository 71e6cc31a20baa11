//! What files of descriptors say, after every check.

use super::unit::Unit;
#[cfg(feature = "toml")]
use super::yaml::{self, Node, Value};

/// A descriptor, with those below it.
#[derive(Clone, Debug)]
pub(crate) struct Descriptor {
    pub(crate) key: String,
    /// None for every value.
    pub(crate) value: Option<String>,
    /// One counter for all values that its wildcards match.
    pub(crate) shares: bool,
    pub(crate) value_to_metric: bool,
    pub(crate) limit: Option<Limit>,
    pub(crate) descriptors: Vec<Descriptor>,
}

/// `rate_limit`, with what its descriptor says of it.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) per: Per,
    pub(crate) name: Option<String>,
    pub(crate) replaces: Vec<String>,
    pub(crate) shadow: bool,
    pub(crate) quota: bool,
    pub(crate) detailed: bool,
    pub(crate) metadata: Option<Metadata>,
}

/// How much a limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Per {
    Unlimited,
    Unit { requests: u32, unit: Unit },
}

/// `metadata`: what is told to Envoy's filters of a descriptor that passed.
#[derive(Clone, Debug, PartialEq)]
pub enum Metadata {
    /// Nothing.
    Null,
    /// True or false.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Metadata>),
    /// A map.
    Map(Vec<(String, Metadata)>),
}

#[cfg(feature = "toml")]
impl Metadata {
    pub(super) fn of(node: &Node) -> Self {
        match &node.value {
            _ if node.is_null() => Self::Null,
            Value::Scalar { text, plain: false } => Self::Text(text.clone()),
            Value::Scalar { text, .. } => scalar(text),
            Value::List(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Map(entries) => Self::Map(
                entries
                    .iter()
                    .map(|entry| (entry.key.as_text(), Self::of(&entry.value)))
                    .collect(),
            ),
        }
    }
}

#[cfg(feature = "toml")]
#[allow(
    clippy::cast_precision_loss,
    reason = "a number of a Struct is a double"
)]
fn scalar(text: &str) -> Metadata {
    if let Some(flag) = yaml::flag(text) {
        return Metadata::Flag(flag);
    }
    let number = yaml::integer(text).map(|number| number as f64);
    match number.or_else(|| yaml::fraction(text)) {
        Some(number) => Metadata::Number(number),
        None => Metadata::Text(text.to_owned()),
    }
}

impl Metadata {
    /// Adds what another limit says. Of two values of one name the first stays, unless both are maps.
    pub fn merge(&mut self, other: &Self) {
        let (Self::Map(own), Self::Map(other)) = (self, other) else {
            return;
        };
        for (name, value) in other {
            match own.iter_mut().find(|(own, _)| own == name) {
                Some((_, own)) => own.merge(value),
                None => own.push((name.clone(), value.clone())),
            }
        }
    }
}
