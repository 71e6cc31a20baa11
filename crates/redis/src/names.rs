//! Where a state stands: the names of keys.
//!
//! ```text
//! jeton1:PREFIX{SUBJECT}RULE KIND
//! ```
//!
//! SUBJECT is a hash of the key bytes, 128 bits in base64: SHA-256, or HMAC-SHA-256 where there is a
//! secret. It is the hash tag of Redis Cluster, so that all rules of one subject meet in one slot, and
//! it keeps whatever clients send (addresses, tokens, braces) out of the server. RULE is the rule's
//! id, KIND one digit.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jeton_core::Op;
use sha2::{Digest as _, Sha256};

/// The version of names and states: another one shares nothing with it.
const VERSION: &str = "jeton1:";
const SUBJECT_BYTES: usize = 16;
/// Braces, the subject and the rule in base64, the kind.
const SUFFIX_BYTES: usize = 2 + 22 + 11 + 1;

/// Names keys.
#[derive(Clone)]
pub(crate) struct Names {
    prefix: Box<str>,
    keyed: Option<Hmac<Sha256>>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keyed = self.keyed.is_some();
        f.debug_struct("Names")
            .field("prefix", &self.prefix)
            .field("keyed", &keyed)
            .finish()
    }
}

impl Names {
    pub(crate) fn new(prefix: &str, secret: Option<&[u8]>) -> Self {
        // An HMAC takes keys of any length.
        let keyed = secret.and_then(|secret| Hmac::new_from_slice(secret).ok());
        Self {
            prefix: format!("{VERSION}{prefix}").into(),
            keyed,
        }
    }

    /// The key of an op's state.
    pub(crate) fn state(&self, op: &Op<'_>) -> Vec<u8> {
        let (rule, kind, key) = op.place();
        let mut name = String::with_capacity(self.prefix.len() + SUFFIX_BYTES);
        name.push_str(&self.prefix);
        name.push('{');
        let subject = self.digest(key);
        let subject = subject.first_chunk::<SUBJECT_BYTES>();
        URL_SAFE_NO_PAD.encode_string(subject.unwrap_or(&[0; SUBJECT_BYTES]), &mut name);
        name.push('}');
        URL_SAFE_NO_PAD.encode_string(rule.get().to_be_bytes(), &mut name);
        name.push(char::from(b'0' + kind as u8));
        name.into_bytes()
    }

    /// The key of the notes.
    pub(crate) fn notes(&self) -> Vec<u8> {
        format!("{}{{notes}}", self.prefix).into_bytes()
    }

    /// A key at which nothing ever stands.
    pub(crate) fn scratch(&self, word: &str) -> Vec<u8> {
        format!("{}{{{word}}}", self.prefix).into_bytes()
    }

    /// What all keys begin with.
    pub(crate) fn start(&self) -> &str {
        &self.prefix
    }

    /// A pattern that all keys of this prefix match, and no others.
    pub(crate) fn pattern(&self) -> String {
        format!("{}{{*", self.prefix)
    }

    fn digest(&self, key: &[u8]) -> [u8; 32] {
        match &self.keyed {
            Some(keyed) => keyed
                .clone()
                .chain_update(key)
                .finalize()
                .into_bytes()
                .into(),
            None => Sha256::digest(key).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::{Cost, Quota, RuleId, Span};

    fn name(names: &Names, rule: u64, key: &[u8]) -> String {
        let quota = Quota::sliding_log(1, Span::SECOND).unwrap();
        let op = Op::take(RuleId::new(rule), key, &quota, Cost::ONE);
        String::from_utf8(names.state(&op)).unwrap()
    }

    #[test]
    fn names_stay_as_they_are_from_release_to_release() {
        let names = Names::new("", None);
        // The first half of the SHA-256 of "abc", FIPS 180-2.
        let expected = "jeton1:{ungWv48Bz-pBQUDeXa4iIw}AAAAAAAAAAE5";
        assert_eq!(name(&names, 1, b"abc"), expected);
        assert_eq!(names.notes(), b"jeton1:{notes}");
    }

    #[test]
    fn what_clients_send_stands_nowhere_and_cannot_move_the_hash_tag() {
        let names = Names::new("blue:", Some(b"secret"));
        let odd = name(&names, 7, b"}{203.0.113.9}");
        assert!(
            odd.starts_with("jeton1:blue:{") && !odd.contains("203"),
            "{odd}"
        );
        assert_eq!((odd.matches('{').count(), odd.matches('}').count()), (1, 1));
        assert_ne!(
            odd,
            name(&Names::new("blue:", Some(b"other")), 7, b"}{203.0.113.9}")
        );
        assert!(!format!("{names:?}").contains("secret"));
    }

    #[test]
    fn all_rules_of_a_subject_share_the_hash_tag() {
        let names = Names::new("", None);
        let tag = |name: String| name.split('}').next().map(str::to_owned);
        let (one, other) = (name(&names, 1, b"abc"), name(&names, 2, b"abc"));
        assert_ne!(one, other);
        assert_eq!(tag(one), tag(other));
    }
}
