//! First stage: the file as it is written. Every key and value keeps its place, nothing is judged.

mod context;
mod elsewhere;
mod later;
mod read;
mod reader;
mod resolve;
#[cfg(feature = "toml")]
mod toml;

pub(crate) use context::Context;
pub(crate) use later::{Later, RULE, SECTIONS};
pub(crate) use read::{Spotted, text, word, wrong_type};
pub(crate) use reader::Section;
pub use resolve::{
    MAX_FILES, MAX_REFERENCE_BYTES, MAX_TEXT_BYTES, NoReferences, Resolve, Unresolved,
};
#[cfg(feature = "toml")]
pub(crate) use toml::parse;

use crate::source::Mark;

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) mark: Mark,
}

/// What can stand on the right of an equals sign.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    /// Saturates far outside every range that a setting takes.
    Integer(i128),
    /// As it is written: no setting takes one.
    Float(String),
    Bool(bool),
    Date,
    List(Vec<Item>),
    Table(Table),
}

impl Value {
    /// What people call this kind of value.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text in quotes",
            Self::Integer(_) => "a number",
            Self::Float(_) => "a number with a fraction",
            Self::Bool(_) => "true or false",
            Self::Date => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Item> {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.item)
    }
}

/// One key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_mark: Mark,
    pub(crate) item: Item,
}
