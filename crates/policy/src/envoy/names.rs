//! What limits of files of descriptors are called.
//!
//! As the reference service calls them in its metrics, which does not tell all of them apart (`a: b_c` and
//! `a_b: c`), nor fits into a name always. Such a name carries a hash of what it stands for. Names are for
//! people: counters are told apart by paths.

use std::collections::HashMap;
use std::fmt::Write;

use jeton_wire::ratelimit::MAX_NAME_LEN;
use sha2::{Digest, Sha256};

use super::limit::Descriptor;
use super::rules::Domain;

/// What names of limits begin with; those of rules do not.
pub(crate) const PREFIX: &str = "rls:";

/// Behind this, a name has the hash of what it stands for.
const JOINT: char = '~';
/// Digits of that hash.
const DIGITS: usize = 16;

/// The names that limits would like to have, and how many would.
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    pub(super) fn of(domains: &[Domain]) -> Self {
        let mut names = Self(HashMap::new());
        for domain in domains {
            names.count(&domain.name, &domain.descriptors, &mut Vec::new());
        }
        names
    }

    fn count<'d>(
        &mut self,
        domain: &str,
        descriptors: &'d [Descriptor],
        path: &mut Vec<&'d Descriptor>,
    ) {
        for descriptor in descriptors {
            path.push(descriptor);
            if descriptor.limit.is_some() {
                *self.0.entry(plain(domain, path)).or_default() += 1;
            }
            self.count(domain, &descriptor.descriptors, path);
            path.pop();
        }
    }

    /// The name of a limit, which no other has, in whatever order they stand.
    pub(super) fn name(&self, domain: &str, path: &[&Descriptor]) -> String {
        let plain = plain(domain, path);
        let is_shared = self.0.get(&plain).is_some_and(|limits| *limits > 1);
        let fits = |c: char| c == ' ' || (c.is_ascii_graphic() && c != '"' && c != '\\');
        let is_sound = plain.len() <= MAX_NAME_LEN && plain.chars().all(fits);
        if is_sound && !is_shared && !has_hash(&plain) {
            return plain;
        }
        let plain = plain.chars().map(|c| if fits(c) { c } else { '?' });
        let cut: String = plain.take(MAX_NAME_LEN - DIGITS - 1).collect();
        format!("{cut}{JOINT}{}", hash(domain, path))
    }
}

/// `rls:domain.key_value.key`.
fn plain(domain: &str, path: &[&Descriptor]) -> String {
    let mut name = format!("{PREFIX}{domain}");
    for Descriptor { key, value, .. } in path {
        let value = value.as_deref().unwrap_or_default();
        let joint = if value.is_empty() { "" } else { "_" };
        // Writing to a text does not fail.
        let _ = write!(name, ".{key}{joint}{value}");
    }
    name
}

/// Whether a name looks as if a hash had been added.
fn has_hash(name: &str) -> bool {
    let hash = name.rsplit_once(JOINT).map_or("", |(_, hash)| hash);
    hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// 64 bits of SHA-256 over the path, each text with its length.
fn hash(domain: &str, path: &[&Descriptor]) -> String {
    let mut hash = Sha256::new();
    let mut feed = |text: Option<&str>| {
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        hash.update(length.to_be_bytes());
        hash.update(text.unwrap_or_default());
    };
    feed(Some(domain));
    for Descriptor { key, value, .. } in path {
        feed(Some(key));
        feed(value.as_deref());
    }
    let digest = hash.finalize();
    let bytes = digest.iter().take(DIGITS / 2);
    bytes.fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
