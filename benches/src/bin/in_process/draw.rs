//! Which key is next: drawn beforehand, in blocks that fit a core's cache, so that neither drawing a key
//! nor fetching its text is in the figures.

/// Keys in a block.
pub const BLOCK: usize = 2048;

/// How keys are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Each as often as any other.
    Uniform,
    /// The k-th with a weight of 1/k (Zipf's law with exponent 1).
    Zipf,
}

pub struct Draw {
    random: u64,
    keys: u64,
    spread: Spread,
    pub block: Vec<String>,
}

impl Draw {
    pub fn new(keys: u64, spread: Spread, seed: u64) -> Self {
        Self {
            random: 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed + 1),
            keys,
            spread,
            block: vec![text(0); BLOCK],
        }
    }

    /// Draws another block.
    pub fn refill(&mut self) {
        for at in 0..BLOCK {
            let key = self.next();
            self.block[at] = text(key);
        }
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let unit = (self.random >> 11) as f64 / (1_u64 << 53) as f64;
        let most = self.keys as f64;
        let key = match self.spread {
            Spread::Uniform => unit * most,
            Spread::Zipf => (most + 1.0).powf(unit) - 1.0,
        };
        (key as u64).min(self.keys - 1)
    }
}

/// The text of a key.
pub fn text(key: u64) -> String {
    format!("user:{key:08x}")
}
