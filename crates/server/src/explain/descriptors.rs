//! Descriptors that are asked about, as Envoy would send them.

use jeton::{Descriptor, DescriptorRequest, Explained, Gate};

use super::question::wrong;
use crate::engine::InputError;

/// More descriptors, or entries in one, than the door takes.
const MOST: usize = 64;

/// The descriptors of a domain.
#[derive(Clone, Debug)]
pub(super) struct Descriptors {
    domain: String,
    list: Vec<Entries>,
}

type Entries = Vec<(String, String)>;

impl Descriptors {
    pub(super) fn read(domain: &str, written: &[String]) -> Result<Self, InputError> {
        if domain.is_empty() {
            return Err(wrong("domain", "is empty; name that of Envoy's filter"));
        }
        if written.is_empty() {
            let what = "is missing; write what Envoy sends, such as \"user=anna,path=/login\"";
            return Err(wrong("descriptor", what));
        }
        let list: Vec<Entries> = written
            .iter()
            .map(|text| entries(text))
            .collect::<Result<_, _>>()?;
        if list.len() > MOST || list.iter().any(|entries| entries.len() > MOST) {
            let what = format!("more than {MOST} of them, or entries in one");
            return Err(wrong("descriptor", what));
        }
        let domain = domain.to_owned();
        Ok(Self { domain, list })
    }

    pub(super) fn explain(&self, gate: &Gate) -> impl Future<Output = Explained> + Send + use<> {
        let entries: Vec<Vec<(&str, &str)>> = self
            .list
            .iter()
            .map(|own| own.iter().map(|(key, value)| (&**key, &**value)).collect())
            .collect();
        let descriptors = entries.iter().map(|entries| Descriptor {
            entries,
            limit: None,
            hits: None,
        });
        let descriptors: Vec<Descriptor<'_>> = descriptors.collect();
        gate.explain_descriptors(&DescriptorRequest {
            domain: &self.domain,
            descriptors: &descriptors,
            cost: None,
        })
    }
}

/// `user=anna,path=/login`; a comma in a value has a backslash before it, and so has a backslash.
fn entries(text: &str) -> Result<Entries, InputError> {
    let mut entries = Vec::new();
    for entry in pieces(text) {
        match entry.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                entries.push((key.to_owned(), value.to_owned()));
            }
            _ => {
                let what = format!(
                    "{entry:?} is no key=value; a comma in a value is written \\, \
                     and a descriptor \"user=anna,path=/login\""
                );
                return Err(wrong("descriptor", what));
            }
        }
    }
    Ok(entries)
}

/// What commas part.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            ',' => {
                pieces.push(String::new());
                continue;
            }
            '\\' => letters.next().unwrap_or('\\'),
            letter => letter,
        };
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_parted_by_commas_and_values_may_have_some() {
        for (text, wanted) in [
            ("user=anna", &[("user", "anna")][..]),
            ("a=1,b=2", &[("a", "1"), ("b", "2")]),
            (r"a=1\,2,b=\\", &[("a", "1,2"), ("b", r"\")]),
            ("q=x=y,empty=", &[("q", "x=y"), ("empty", "")]),
            (r"a=\", &[("a", r"\")]),
        ] {
            let read = entries(text).unwrap();
            let read: Vec<(&str, &str)> = read.iter().map(|(k, v)| (&**k, &**v)).collect();
            assert_eq!(read, wanted, "{text}");
        }
        for text in ["", "user", "a=1,", "=x", "a=1,,b=2"] {
            let error = entries(text).expect_err(text);
            assert!(error.what.contains("no key=value"), "{error}");
        }
    }
}
