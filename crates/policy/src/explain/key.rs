//! Keys as people may see them.

use std::fmt;

use jeton_wire::client_ip::AddressKey;

use crate::compiled::{CompiledRule, KeyText, PartValue, read_key};
use crate::fingerprint::{Fingerprint, Fingerprints};
use crate::key::KeyPart;
use crate::printable::printable_bytes;

/// One part of a key. Its [`Display`](fmt::Display) is the value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownPart {
    /// The part as policies write it, such as `header:x-user`.
    pub part: String,
    /// What it is for this key.
    pub value: ShownValue,
}

/// The value of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownValue {
    /// The value, with odd characters escaped and cut to 256 characters.
    Text(String),
    /// It is a secret.
    Fingerprint(Fingerprint),
    /// It is not there.
    Missing,
    /// There is one for everybody.
    Global,
    /// The key was too long to be kept: a fingerprint of all its parts.
    TooLong(Fingerprint),
}

impl CompiledRule {
    /// The key under which a counter of this rule stands, for people: none of its parts is told if
    /// they are secrets. No part at all for bytes that are no key of this rule.
    pub fn show_key(&self, key: &[u8], fingerprints: &Fingerprints) -> Vec<ShownPart> {
        let parts = &self.rule().key;
        let shown = |part: &KeyPart, value| ShownPart {
            part: part.to_string(),
            value,
        };
        let values = match read_key(parts, key) {
            None => return Vec::new(),
            Some(KeyText::Digest) => {
                let value = ShownValue::TooLong(fingerprints.of(key));
                return parts
                    .iter()
                    .map(|part| shown(part, value.clone()))
                    .collect();
            }
            Some(KeyText::Parts(values)) => values,
        };
        let mut values = values.into_iter();
        let value = |part: &KeyPart| match part {
            KeyPart::Global => Some(ShownValue::Global),
            part => Some(self.value(part, values.next()?, fingerprints)),
        };
        let values: Option<Vec<_>> = parts.iter().map(value).collect();
        let values = values.unwrap_or_default();
        let parts = parts.iter().zip(values);
        parts.map(|(part, value)| shown(part, value)).collect()
    }

    /// The same in one text per part that has values: an absent part as `-`, a secret one as its
    /// fingerprint. One fingerprint alone if the key was too long to be kept, or is none of this
    /// rule.
    pub fn shown_key(&self, key: &[u8], fingerprints: &Fingerprints) -> Vec<String> {
        let text = |ShownPart { value, .. }| match value {
            ShownValue::Text(text) => Some(text),
            ShownValue::Fingerprint(fingerprint) => Some(fingerprint.to_string()),
            ShownValue::Missing => Some("-".to_owned()),
            ShownValue::Global | ShownValue::TooLong(_) => None,
        };
        match read_key(&self.rule().key, key) {
            Some(KeyText::Parts(_)) => {
                let parts = self.show_key(key, fingerprints).into_iter();
                parts.filter_map(text).collect()
            }
            Some(KeyText::Digest) | None => vec![fingerprints.of(key).to_string()],
        }
    }

    fn value(
        &self,
        part: &KeyPart,
        value: PartValue<'_>,
        fingerprints: &Fingerprints,
    ) -> ShownValue {
        let (text, is_secret) = match value {
            PartValue::Missing => return ShownValue::Missing,
            PartValue::Text(text) => (text.to_vec(), self.rule().secret_key),
            PartValue::Address(address) => {
                let prefix = match part {
                    KeyPart::ClientIp(Some(own)) => *own,
                    _ => self.ipv6_prefix(),
                };
                let text = AddressKey::new(address, prefix).to_string();
                (text.into_bytes(), self.rule().secret_key)
            }
        };
        if is_secret {
            ShownValue::Fingerprint(fingerprints.of(&text))
        } else {
            ShownValue::Text(printable_bytes(&text))
        }
    }
}

impl fmt::Display for ShownPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            ShownValue::Text(text) => f.write_str(text),
            ShownValue::Fingerprint(fingerprint) => fingerprint.fmt(f),
            ShownValue::Missing => write!(f, "(no {})", self.part),
            ShownValue::Global => f.write_str("(all together)"),
            ShownValue::TooLong(fingerprint) => write!(f, "(long, {fingerprint})"),
        }
    }
}
