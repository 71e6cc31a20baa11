//! Secrets made recognisable without being told.

use std::fmt;

use hmac::digest::Key;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Makes fingerprints under one secret: the first 32 bits of HMAC-SHA-256 (RFC 2104, FIPS 198-1).
///
/// A value has the same fingerprint wherever it is shown, so an operator can follow one client
/// through console, logs and `explain`. The secret is what keeps anybody else from trying values
/// until a fingerprint fits. It is handed in, for nothing here is random: one per process will do,
/// and then fingerprints of two processes do not compare.
///
/// ```
/// use jeton_policy::Fingerprints;
/// let fingerprints = Fingerprints::new(b"32 random bytes, or a configured");
/// let shown = fingerprints.of(b"Bearer s3cret").to_string();
/// assert_eq!(shown.len(), 9);
/// assert!(shown.starts_with('#'));
/// assert_eq!(shown, fingerprints.of(b"Bearer s3cret").to_string());
/// ```
#[derive(Clone)]
pub struct Fingerprints(Hmac<Sha256>);

impl Fingerprints {
    /// Fingerprints under `secret`, which should hold at least 16 bytes that nobody can guess.
    pub fn new(secret: &[u8]) -> Self {
        // Hashed, it fits the block that keys have, whatever its length.
        let mut key = Key::<Hmac<Sha256>>::default();
        let digest = Sha256::digest(secret);
        key.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        Self(Hmac::new(&key))
    }

    /// The fingerprint of a value.
    pub fn of(&self, value: &[u8]) -> Fingerprint {
        let tag = self.0.clone().chain_update(value).finalize().into_bytes();
        let mut head = [0; 4];
        head.iter_mut().zip(tag).for_each(|(to, from)| *to = from);
        Fingerprint(u32::from_be_bytes(head))
    }
}

impl fmt::Debug for Fingerprints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprints").finish_non_exhaustive()
    }
}

/// What is shown instead of a secret: `#` and eight hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u32);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:08x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_hmac_sha_256_under_the_hashed_secret() {
        // printf 'alice' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf 's' | sha256sum)
        assert_eq!(
            Fingerprints::new(b"s").of(b"alice").to_string(),
            "#c7d377c4"
        );
    }

    #[test]
    fn another_secret_or_value_is_another_fingerprint() {
        let (one, two) = (Fingerprints::new(b"one"), Fingerprints::new(b"two"));
        assert_ne!(one.of(b"alice"), two.of(b"alice"));
        assert_ne!(one.of(b"alice"), one.of(b"bob"));
        assert_eq!(one.of(b"alice"), one.clone().of(b"alice"));
        assert!(!format!("{one:?}").contains("one"));
    }
}
