//! The keyed hash that is a state's identity in the table.
//!
//! It is `SipHash-1-3` (Aumasson and Bernstein, 2012: "a fast short-input PRF"; with the rounds of
//! the standard library's maps) under a secret of 128 bits over rule, key and kind. Clients
//! choose keys and never see a hash, so they can neither crowd one region of the table nor look for
//! a key that meets another's counter.
//!
//! 64 bits are kept, and the key itself is not. Two keys of one kind with equal hashes share one
//! counter: the chance that a given new key meets any of n others is n / 2^64 (one in 18 million
//! million for a million keys), and that any two of a million meet is below 3 in 10^8 per seed.
//! Kinds are kept beside the hash, so states of different kinds never meet.

use core::fmt;
use core::hash::{Hash, Hasher};

use jeton_core::{Kind, Op, Quota, RuleId};
use siphasher::sip::SipHasher13;

use crate::SettingsError;

/// Keys up to this length are put together with their rule and kind before they are hashed.
const SHORT_KEY: usize = 119;

/// The secret of the key hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed(u64, u64);

impl Seed {
    /// The seed that was kept as these bytes.
    pub const fn new(secret: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(secret);
        #[allow(clippy::cast_possible_truncation)] // splitting is the purpose
        Self(both as u64, (both >> 64) as u64)
    }

    /// A new secret from the system.
    ///
    /// # Errors
    /// [`SettingsError::NoRandomness`] if the system has none to give.
    pub fn random() -> Result<Self, SettingsError> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|_| SettingsError::NoRandomness)?;
        Ok(Self::new(secret))
    }

    /// Where the state of `op` lives.
    #[inline]
    pub(crate) fn place(self, op: &Op<'_>) -> Place {
        let (rule, kind, key) = op.place();
        let sip = SipHasher13::new_with_keys(self.0, self.1);
        let head = rule.get().to_le_bytes();
        // The rule has a fixed length and the kind comes last: no two places read alike.
        let mut whole = [0; SHORT_KEY + 9];
        let hash = match (key.len(), whole.get_mut(..key.len() + 9)) {
            (..=SHORT_KEY, Some(whole)) => {
                whole[..8].copy_from_slice(&head);
                whole[8..key.len() + 8].copy_from_slice(key);
                whole[key.len() + 8] = kind as u8;
                sip.hash(whole)
            }
            _ => in_parts(sip, &head, key, kind),
        };
        Place { rule, kind, hash }
    }

    /// The identity of the cell that keys of `rule` under `quota` share when the table is full.
    pub(crate) fn shared(self, rule: RuleId, quota: &Quota) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        (rule, quota).hash(&mut hasher);
        hasher.finish()
    }
}

/// Hashing in parts costs three times what hashing a whole does.
#[cold]
fn in_parts(mut sip: SipHasher13, head: &[u8], key: &[u8], kind: Kind) -> u64 {
    sip.write(head);
    sip.write(key);
    sip.write(&[kind as u8]);
    sip.finish()
}

impl fmt::Debug for Seed {
    /// Hides the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(…)")
    }
}

/// The identity of a state: what a journal keeps it under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Whose state.
    pub rule: RuleId,
    /// What kind of state.
    pub kind: Kind,
    /// The keyed hash of rule, key and kind; with the kind, all that the table knows it by.
    pub hash: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::{Cost, Span};

    fn hash(seed: [u8; 16], rule: u64, key: &[u8], quota: &Quota) -> u64 {
        let op = Op::take(RuleId::new(rule), key, quota, Cost::ONE);
        Seed::new(seed).place(&op).hash
    }

    #[test]
    fn rule_kind_key_and_seed_all_count() {
        let log = Quota::sliding_log(5, Span::SECOND).unwrap();
        let counter = Quota::sliding_counter(5, Span::SECOND).unwrap();
        let base = hash([0; 16], 1, b"alice", &log);
        assert_eq!(base, hash([0; 16], 1, b"alice", &log));
        assert_ne!(base, hash([0; 16], 2, b"alice", &log));
        assert_ne!(base, hash([0; 16], 1, b"alicf", &log));
        assert_ne!(base, hash([0; 16], 1, b"alice", &counter));
        assert_ne!(base, hash([1; 16], 1, b"alice", &log));
    }

    #[test]
    fn a_known_vector_pins_the_function() {
        // What a disk keeps under this hash must be found again by every later release.
        let log = Quota::sliding_log(5, Span::SECOND).unwrap();
        let seed: [u8; 16] = core::array::from_fn(|i| u8::try_from(i).unwrap());
        let known = hash(seed, 0x0102_0304_0506_0708, b"alice", &log);
        // Worked out from the specification by other means.
        assert_eq!(known, 0x9978_a799_e5c1_9876);
    }

    #[test]
    fn short_and_long_keys_are_hashed_alike() {
        let quota = Quota::sliding_log(5, Span::SECOND).unwrap();
        let key: Vec<u8> = (0..=255).collect();
        for len in 0..=key.len() {
            let sip = SipHasher13::new_with_keys(0, 0);
            let parts = in_parts(sip, &7_u64.to_le_bytes(), &key[..len], quota.kind());
            assert_eq!(hash([0; 16], 7, &key[..len], &quota), parts, "{len}");
        }
    }

    #[test]
    fn a_seed_does_not_show_itself() {
        assert_eq!(format!("{:?}", Seed::new([7; 16])), "Seed(…)");
    }
}
