//! Descriptors by name, where a file of envoyproxy/ratelimit wants values of requests in metrics
//! (`value_to_metric`, `detailed_metric`).
//!
//! Its writer asks for them, and still a client must not be able to fill the memory with names: those
//! beyond the first are counted together.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::render::counter;

/// The most names, and what comes beyond.
const MOST_NAMES: usize = 1000;
const OTHERS: &str = "others";

/// The longest name, in bytes.
const LONGEST: usize = 256;

/// How often descriptors passed and were over their limit, by name.
#[derive(Debug, Default)]
pub(super) struct Descriptors(Mutex<HashMap<Box<str>, [u64; 2]>>);

impl Descriptors {
    pub(super) fn count(&self, name: &str, over: bool) {
        let mut counts = self.lock();
        let fits =
            name.len() <= LONGEST && (counts.contains_key(name) || counts.len() < MOST_NAMES);
        let name = if fits { name } else { OTHERS };
        let count = match counts.get_mut(name) {
            Some(count) => count,
            None => counts.entry(name.into()).or_default(),
        };
        let [passed, refused] = count;
        *(if over { refused } else { passed }) += 1;
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counts = self.lock();
        if counts.is_empty() {
            return Ok(());
        }
        let help = "Descriptors whose file wants values of requests in metrics: within their limit, or over it";
        let name = "jeton_descriptors";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (name, count) in counts.iter() {
            for (outcome, count) in ["within_limit", "over_limit"].into_iter().zip(count) {
                let labels = [("descriptor", &**name), ("outcome", outcome)];
                counter(&mut family.encode_family(&labels)?, *count)?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, [u64; 2]>> {
        // A count is never left half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_most_are_counted_together() {
        let descriptors = Descriptors::default();
        for number in 0..MOST_NAMES + 500 {
            descriptors.count(&format!("d.user_{number}"), number % 2 == 0);
        }
        descriptors.count(&"x".repeat(LONGEST + 1), true);
        let counts = descriptors.lock();
        assert_eq!(counts.len(), MOST_NAMES + 1);
        assert_eq!(counts[OTHERS].iter().sum::<u64>(), 501);
    }
}
