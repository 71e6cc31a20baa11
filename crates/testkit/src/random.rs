//! A small seeded generator, so that a trace can be replayed from the number printed on failure.

/// `xoshiro256**` seeded through `SplitMix64` (Blackman and Vigna, "Scrambled linear pseudorandom
/// number generators", 2021).
///
/// ```
/// use jeton_testkit::random::Random;
/// let (mut a, mut b) = (Random::new(7), Random::new(7));
/// assert_eq!(a.next_u64(), b.next_u64());
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose whole sequence follows from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut mixer = seed;
        Self {
            state: std::array::from_fn(|_| split_mix(&mut mixer)),
        }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number in `0..bound`; 0 when `bound` is 0. The bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("the high half of a 128-bit product")
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// A number in `low..=high` in which every order of magnitude is as likely as any other.
    pub fn scaled(&mut self, low: u64, high: u64) -> u64 {
        let bits = |number: u64| u64::from(64 - number.leading_zeros());
        let width = self.between(bits(low), bits(high));
        let top = if width >= 64 {
            u64::MAX
        } else {
            (1 << width) - 1
        };
        let bottom = if width == 0 { 0 } else { 1 << (width - 1) };
        self.between(bottom.max(low), top.min(high))
    }

    /// True once in `of` times on average.
    pub fn once_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// One of the items.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// An index in `0..len`; 0 when `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("below a usize")
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the reference implementation of `SplitMix64` for the seed 1234567.
    #[test]
    fn split_mix_matches_its_reference() {
        let mut state = 1_234_567;
        let first: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn ranges_are_kept_and_their_ends_reached() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..2000).map(|_| random.between(3, 9)).collect();
        assert_eq!(
            (drawn.iter().min(), drawn.iter().max()),
            (Some(&3), Some(&9))
        );
        let drawn: Vec<u64> = (0..2000).map(|_| random.scaled(1, 1_000_000_000)).collect();
        assert!(
            drawn
                .iter()
                .all(|number| (1..=1_000_000_000).contains(number))
        );
        assert!(drawn.iter().filter(|&&number| number < 1000).count() > 400);
        assert!(drawn.iter().any(|&number| number > 100_000_000));
        assert_eq!(random.below(0), 0);
        assert!((0..100).any(|_| random.between(0, u64::MAX) > 1 << 63));
    }
}
