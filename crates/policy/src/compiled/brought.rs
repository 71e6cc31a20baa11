//! Quotas that callers bring with their charges: those of the reserved rule, of which no file speaks.

use jeton_core::RuleId;

use super::encode::{bound, push_text};
use super::id::id_of;

/// The name of the rule whose quotas callers bring. No rule of a policy has it.
pub const BROUGHT: &str = "resp";

/// Where a caller's key stands under the quota that comes with it.
///
/// ```
/// use jeton_policy::Brought;
/// let brought = Brought::default();
/// let mut key = Vec::new();
/// brought.push_key(b"alice", &mut key);
/// assert!(key.ends_with(b"alice"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brought {
    id: RuleId,
}

impl Default for Brought {
    fn default() -> Self {
        Self {
            id: id_of("requests", BROUGHT, []),
        }
    }
}

impl Brought {
    /// The identity of its counter: the same on every node and after every restart.
    pub const fn id(self) -> RuleId {
        self.id
    }

    /// Appends a key of any bytes as a rule with one part would have it; bounded in length.
    pub fn push_key(self, key: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        push_text(key, out);
        bound(out, start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyPart;
    use crate::rule::{Allowance, Rule};

    #[test]
    fn it_is_its_own_rule_for_ever() {
        let id = Brought::default().id();
        assert_eq!(id.get(), 5_456_010_166_110_325_356);
        let named = |key| {
            let rule = Rule::new(BROUGHT.to_owned(), key, Allowance::Deny);
            let prefix = jeton_wire::client_ip::Ipv6Prefix::default();
            super::super::id::rule_id(&rule, prefix, super::super::Counter::Requests)
        };
        assert_ne!(id, named(vec![KeyPart::Path]));
    }

    #[test]
    fn a_long_key_is_bounded_and_stays_its_own() {
        let written = |key: &[u8]| {
            let mut out = b"before".to_vec();
            Brought::default().push_key(key, &mut out);
            assert!(out.starts_with(b"before"));
            out.split_off(6)
        };
        let (one, other) = (written(&[b'a'; 9_000]), written(&[b'a'; 9_001]));
        assert!(one.len() < 64 && one != other);
        assert_ne!(written(b""), written(b"a"));
    }
}
