//! The keyed hash that is a state's identity in the table.
//!
//! It is a strongly universal hash ([`multilinear`]) under a secret of 128 bits over rule, kind and
//! key. Clients choose keys and never see a hash, so they can neither crowd one region of the table
//! nor look for a key that meets another's counter.
//!
//! 64 bits are kept, and the key itself is not. Two keys of one kind with equal hashes share one
//! counter: the chance that a given new key meets any of n others is n / 2^64 (one in 18 million
//! million for a million keys), and that any two of a million meet is below 3 in 10^8 per seed.
//! Kinds are kept beside the hash, so states of different kinds never meet.

mod multilinear;

use core::fmt;
use core::hash::{Hash, Hasher};

use jeton_core::{Kind, Op, Quota, RuleId};
use siphasher::sip::SipHasher13;

use self::multilinear::Secrets;
use crate::SettingsError;

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
}

impl fmt::Debug for Seed {
    /// Hides the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(…)")
    }
}

/// What a table hashes with.
pub(crate) struct Hashing {
    seed: Seed,
    secrets: Secrets,
}

impl Hashing {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            seed,
            secrets: Secrets::new(SipHasher13::new_with_keys(seed.0, seed.1)),
        }
    }

    /// Where the state of `op` lives.
    #[inline]
    pub(crate) fn place(&self, op: &Op<'_>) -> Place {
        let (rule, kind, key) = op.place();
        self.close(rule, kind, |row| row.write(key))
    }

    /// Where the state of a key lives that is known by what it hands to its hasher.
    #[inline]
    pub(crate) fn place_of(&self, rule: RuleId, kind: Kind, key: &(impl Hash + ?Sized)) -> Place {
        self.close(rule, kind, |row| key.hash(row))
    }

    /// What tells this seed from others, and nothing else about it.
    pub(crate) fn mark(&self) -> [u8; 8] {
        let sip = SipHasher13::new_with_keys(self.seed.0, self.seed.1);
        sip.hash(b"which seed").to_le_bytes()
    }

    #[inline]
    fn close(
        &self,
        rule: RuleId,
        kind: Kind,
        key: impl FnOnce(&mut multilinear::Row<'_>),
    ) -> Place {
        let mut row = self.secrets.start();
        key(&mut row);
        Place {
            rule,
            kind,
            hash: row.close(rule.get(), kind as u64),
        }
    }

    /// The identity of the cell that keys of `rule` under `quota` share when the table is full.
    pub(crate) fn shared(&self, rule: RuleId, quota: &Quota) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.seed.0, self.seed.1);
        (rule, quota).hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for Hashing {
    /// Hides the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seed.fmt(f)
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
        Hashing::new(Seed::new(seed)).place(&op).hash
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
        // What a disk keeps under this hash must be found again by every later release. Worked out
        // from the definition by other means.
        let log = Quota::sliding_log(5, Span::SECOND).unwrap();
        let seed: [u8; 16] = core::array::from_fn(|i| u8::try_from(i).unwrap());
        let known = hash(seed, 0x0102_0304_0506_0708, b"alice in chains", &log);
        assert_eq!(known, 0xe396_38e0_ce5f_ea75);
    }

    #[test]
    fn every_byte_and_every_length_counts() {
        let quota = Quota::sliding_log(5, Span::SECOND).unwrap();
        let hashing = Hashing::new(Seed::new([3; 16]));
        let place = |key: &[u8]| {
            hashing
                .place(&Op::take(RuleId::new(7), key, &quota, Cost::ONE))
                .hash
        };
        let mut seen = std::collections::HashSet::new();
        for len in 0..600 {
            assert!(seen.insert(place(&vec![0; len])), "{len} zeros");
            for at in 0..len {
                let mut key = vec![0; len];
                key[at] = 1;
                assert!(seen.insert(place(&key)), "{at} of {len}");
            }
        }
    }

    #[test]
    fn keys_of_several_parts_are_told_apart() {
        let hashing = Hashing::new(Seed::new([3; 16]));
        let place = |parts: &[&str]| {
            let whole =
                |row: &mut multilinear::Row<'_>| parts.iter().for_each(|part| part.hash(row));
            hashing.close(RuleId::new(1), Kind::Log, whole).hash
        };
        let parts: [&[&str]; 6] = [
            &["ab", "c"],
            &["a", "bc"],
            &["abc"],
            &["abc", ""],
            &["", "abc"],
            &["a", "b", "c"],
        ];
        let hashes: std::collections::HashSet<u64> =
            parts.iter().map(|parts| place(parts)).collect();
        assert_eq!(hashes.len(), parts.len());
        let same = hashing.place_of(RuleId::new(1), Kind::Log, &String::from("abc"));
        assert_eq!(same.hash, place(&["abc"]));
    }

    #[test]
    fn keys_that_follow_each_other_spread_over_regions_and_slots() {
        let quota = Quota::sliding_log(5, Span::SECOND).unwrap();
        for seed in 0..20 {
            let hashing = Hashing::new(Seed::new([seed; 16]));
            let (mut low, mut high) = ([0_u32; 256], [0_u32; 256]);
            for n in 0..25_600_u64 {
                let key = (n * u64::from(seed + 1)).to_le_bytes();
                let op = Op::take(RuleId::new(1), &key, &quota, Cost::ONE);
                let hash = hashing.place(&op).hash.to_le_bytes();
                low[usize::from(hash[0])] += 1;
                high[usize::from(hash[7])] += 1;
            }
            // A hundred each: seven standard deviations of a fair draw to either side.
            for count in low.iter().chain(&high) {
                assert!((30..170).contains(count), "{count} under seed {seed}");
            }
        }
    }

    #[test]
    fn a_seed_does_not_show_itself() {
        assert_eq!(format!("{:?}", Seed::new([7; 16])), "Seed(…)");
    }
}
