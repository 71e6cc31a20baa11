//! Multilinear hashing of words of 64 bits: the high half of b + Σ aᵢ·xᵢ modulo 2^128, where b and all
//! aᵢ are secret words of 128 bits.
//!
//! Under secrets drawn at random, two different rows of words have equal hashes with a chance of
//! exactly 2^-64, and any two hashes are independent of each other: the family is strongly universal
//! (Lemire and Kaser, "Strongly universal string hashing is fast", The Computer Journal, 2014). It is
//! a few multiplications that do not wait for each other, where a cipher-like hash waits at each step.
//!
//! What goes beyond [`WORDS`] words goes through `SipHash-1-3` (Aumasson and Bernstein, 2012) first.

use core::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Words that are hashed at a time: of a key as text, about 120 bytes.
const WORDS: usize = 16;
/// Writes of this length and more say it in a word of its own.
const LONG: usize = 0xff;

/// The secret words, drawn from a seed by a keyed function. What every row needs comes first.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct Secrets {
    add: u128,
    /// Of the two words that close a row.
    last: [u128; 2],
    words: [u128; WORDS],
    long: SipHasher13,
}

impl Secrets {
    pub(super) fn new(sip: SipHasher13) -> Self {
        let mut count = 0_u8;
        let mut half = || {
            count += 1;
            u128::from(sip.hash(&[count]))
        };
        let mut draw = || half() | half() << 64;
        let words = core::array::from_fn(|_| draw());
        let last = core::array::from_fn(|_| draw());
        Self {
            add: draw(),
            last,
            words,
            long: sip,
        }
    }

    /// A row without words.
    #[inline]
    pub(super) const fn start(&self) -> Row<'_> {
        Row {
            secrets: self,
            sum: self.add,
            used: 0,
            folds: 0,
        }
    }
}

/// A row of words that is being hashed. It takes bytes as any hasher does: each write becomes its
/// words of eight bytes and one that closes it, which holds the rest and the length. So rows can be
/// read backwards, and two of them are the same only if all their writes were.
///
/// What is rare takes and returns a row by value, so that a common one stays in registers.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    secrets: &'a Secrets,
    sum: u128,
    /// Words since the last fold.
    used: usize,
    folds: u64,
}

impl Row<'_> {
    #[inline]
    fn push(&mut self, word: u64) {
        match self.secrets.words.get(self.used) {
            Some(secret) => {
                self.sum = self.sum.wrapping_add(product(*secret, word));
                self.used = self.used.wrapping_add(1);
            }
            None => *self = self.folded(word),
        }
    }

    /// Puts the hash of a full row in the place of its words, and goes on with `word`.
    #[cold]
    #[inline(never)]
    fn folded(mut self, word: u64) -> Self {
        self.folds += 1;
        let mut whole = [0; 16];
        whole[..8].copy_from_slice(&high(self.sum).to_le_bytes());
        whole[8..].copy_from_slice(&self.folds.to_le_bytes());
        let folded = self.secrets.long.hash(&whole);
        self.sum = self.secrets.add;
        self.used = 0;
        self.push(folded);
        self.push(word);
        self
    }

    /// The hash of the row and of two numbers that every row ends with; `few` is below 256.
    #[inline]
    pub(super) const fn close(self, number: u64, few: u64) -> u64 {
        // The same for all rows of equal words, and another one for each number of them.
        let before = self.folds.wrapping_mul(WORDS as u64);
        let count = before.wrapping_add(self.used as u64);
        let [first, second] = self.secrets.last;
        let ends = product(first, number).wrapping_add(product(second, count << 8 | few));
        spread(high(self.sum.wrapping_add(ends)))
    }

    /// A write of two words and more.
    #[inline(never)]
    fn with_words(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.push(u64::from_le_bytes(*word));
        }
        if bytes.len() >= LONG {
            self.push(bytes.len() as u64);
        }
        self.push(short(rest) | closing(bytes.len().min(LONG)));
        self
    }
}

impl Hasher for Row<'_> {
    #[allow(clippy::inline_always)] // else the row has to stand in memory
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(first), Some(last)) if bytes.len() < 16 => {
                self.push(u64::from_le_bytes(*first));
                // What of the last eight bytes is not among the first: from 0 to 7 of them.
                let rest = bytes.len() & 7;
                let rest = (u64::from_le_bytes(*last) >> 1) >> (63 - 8 * rest);
                self.push(rest | closing(bytes.len()));
            }
            (None, _) => self.push(short(bytes) | closing(bytes.len())),
            _ => *self = self.with_words(bytes),
        }
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn write_u8(&mut self, byte: u8) {
        self.push(u64::from(byte) | closing(1));
    }

    /// The hash so far, for those who ask before a row is closed.
    fn finish(&self) -> u64 {
        spread(high(self.sum))
    }
}

/// What tells the length of a write, in the byte of its last word that it leaves free.
#[inline]
const fn closing(len: usize) -> u64 {
    (len as u64) << 56
}

#[inline]
const fn product(secret: u128, word: u64) -> u128 {
    secret.wrapping_mul(word as u128)
}

#[allow(clippy::cast_possible_truncation)] // that half is kept
#[inline]
const fn high(sum: u128) -> u64 {
    (sum >> 64) as u64
}

/// Up to seven bytes as a number; which of equal numbers they are, their length tells.
#[inline]
fn short(bytes: &[u8]) -> u64 {
    let four = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    match (bytes.first_chunk(), bytes.last_chunk(), bytes) {
        // Those in the middle are read twice, and fall on themselves.
        (Some(first), Some(last), _) => four(first) | four(last) << (8 * (bytes.len() & 3)),
        (_, _, &[a, b, c]) => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        (_, _, &[a, b]) => u64::from(a) | u64::from(b) << 8,
        (_, _, &[a]) => u64::from(a),
        _ => 0,
    }
}

/// Keys that differ evenly have sums that differ evenly; this spreads them. No two numbers become
/// one.
#[inline]
const fn spread(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 32).wrapping_mul(0x9fb2_1c65_1e98_df25);
    hash ^ hash >> 28
}
