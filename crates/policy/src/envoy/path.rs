//! Where a limit of a file of descriptors stands: what it is, whatever it is called.

use std::fmt;

use super::limit::Descriptor;
use super::pattern::Pattern;
use crate::printable::printable;

/// The domain and the descriptors that lead to a limit. Its [`Display`](fmt::Display) is what
/// descriptors of requests look like that it is for: `(message_type=marketing, to_number=*) of the domain
/// messaging`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DescriptorPath {
    /// The domain.
    pub domain: String,
    /// One for each entry, from the outermost.
    pub entries: Vec<PathEntry>,
}

/// One step on the way to a limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PathEntry {
    /// The key, as the file has it.
    pub key: String,
    /// The value; none for every value.
    pub value: Option<String>,
}

impl DescriptorPath {
    pub(super) fn of(domain: &str, path: &[&Descriptor]) -> Self {
        let entry = |descriptor: &&Descriptor| PathEntry {
            key: descriptor.key.clone(),
            value: descriptor.value.clone(),
        };
        Self {
            domain: domain.to_owned(),
            entries: path.iter().map(entry).collect(),
        }
    }

    /// Texts that no other path has: a value is told from none by what it begins with.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let of_entry = |PathEntry { key, value }: &PathEntry| {
            let value = value.as_ref().map(|value| format!("={value}"));
            [key.clone(), value.unwrap_or_default()]
        };
        let entries = self.entries.iter().flat_map(of_entry);
        std::iter::once(self.domain.clone()).chain(entries)
    }
}

impl DescriptorPath {
    /// `(message_type=marketing, to_number=*)`.
    pub(crate) fn entries_in_words(&self) -> String {
        let entries: Vec<String> = self.entries.iter().map(PathEntry::to_string).collect();
        format!("({})", entries.join(", "))
    }

    /// Whether a descriptor has these entries, whatever else the file may say of it.
    pub(crate) fn is_like(&self, asked: &[(&str, &str)]) -> bool {
        let is_like = |(own, (key, value)): (&PathEntry, &(&str, &str))| {
            let of_value = own.value.as_deref().map(Pattern::new);
            Pattern::new(&own.key).matches(key)
                && of_value.is_none_or(|pattern| pattern.matches(value))
        };
        self.entries.len() == asked.len() && self.entries.iter().zip(asked).all(is_like)
    }
}

impl fmt::Display for PathEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.as_deref().unwrap_or("*");
        write!(f, "{}={}", printable(&self.key), printable(value))
    }
}

impl fmt::Display for DescriptorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let domain = printable(&self.domain);
        write!(f, "{} of the domain {domain}", self.entries_in_words())
    }
}
