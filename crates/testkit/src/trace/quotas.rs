//! Quotas from the whole admissible domain, the awkward ones first.

use crate::exact::Ratio;
use crate::model::ModelQuota;
use crate::random::Random;

/// Which algorithm a trace is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `token-bucket` and `gcra`.
    Bucket,
    /// `fixed-window` with `anchor = "epoch"`.
    EpochWindow,
    /// `fixed-window` with `anchor = "first-request"`.
    FirstRequestWindow,
    /// `sliding-counter`.
    SlidingCounter,
    /// `sliding-log`.
    SlidingLog,
    /// `concurrency`.
    Concurrency,
    /// The records of reservations.
    Ticket,
}

impl Family {
    /// What is held and given back.
    pub const HELD: [Self; 2] = [Self::Concurrency, Self::Ticket];
    /// The algorithms of limits in time.
    pub const ALL: [Self; 5] = [
        Self::Bucket,
        Self::EpochWindow,
        Self::FirstRequestWindow,
        Self::SlidingCounter,
        Self::SlidingLog,
    ];
}

/// The longest span of time in the domain: 13.4 years, in microseconds.
pub(super) const LONGEST_SPAN_US: u64 = 3 << 47;
/// The last instant in the domain: July 2072, in microseconds.
pub(super) const LAST_INSTANT_US: u64 = 23 << 47;

const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400 * SECOND;
const YEAR: u64 = 365 * DAY;
const MOST_UNITS: u64 = 1_000_000_000;
const MOST_COUNTER_UNITS: u64 = 30_000_000;

const WINDOWS_US: [u64; 12] = [
    1000,
    1001,
    SECOND,
    1_500_000,
    7 * SECOND,
    10 * SECOND,
    60 * SECOND,
    3600 * SECOND,
    DAY,
    7 * DAY,
    YEAR,
    10 * YEAR,
];

const RATES: [(u64, u64); 16] = [
    (999_983, DAY),
    (7, 11),
    (1, 1_500_000),
    (1_000_000, SECOND),
    (1, 10 * YEAR),
    (17, 30 * SECOND),
    (65_535, SECOND),
    (2000, SECOND),
    (1_000_000, DAY),
    (9999, SECOND),
    (1, 1),
    (3, 2 * SECOND),
    (700, 60 * SECOND),
    (4_194_301, 4_194_303),
    (1, 3 << 47),
    (10, 3600 * SECOND),
];

/// Whether a bucket of `units` per `per_us` and `burst` is in the domain that is held exactly.
///
/// ```
/// # use jeton_testkit::trace::admissible;
/// assert!(admissible(999_983, 86_400_000_000, 999_983));
/// assert!(!admissible(1, 86_400_000_000, 5000), "would take 13.7 years to fill");
/// ```
pub fn admissible(units: u64, per_us: u64, burst: u64) -> bool {
    let unit_time = Ratio::new(per_us.into(), units.into());
    let parts = unit_time.denominator();
    let rest = (unit_time - Ratio::from(unit_time.floor())) * Ratio::from(parts);
    parts <= 1 << 22
        && (1..=MOST_UNITS).contains(&burst)
        && Ratio::from(2 * burst) * rest <= Ratio::from(1u64 << 52)
        && Ratio::from(burst) * unit_time <= Ratio::from(LONGEST_SPAN_US)
}

/// The quotas of one trace: the first is in force at the start.
pub(super) fn draw(family: Family, random: &mut Random) -> Vec<ModelQuota> {
    let first = one(family, random);
    let mut quotas = vec![first];
    if random.once_in(3) {
        return quotas;
    }
    while quotas.len() < 3 {
        let other = if random.once_in(2) {
            one(family, random)
        } else {
            near(first, random)
        };
        quotas.push(other);
    }
    quotas
}

fn one(family: Family, random: &mut Random) -> ModelQuota {
    let window_us = match random.below(3) {
        0 => random.scaled(1000, 10 * YEAR),
        _ => *random.pick(&WINDOWS_US),
    };
    let limit = limit(random, MOST_UNITS);
    match family {
        Family::Bucket => bucket(random),
        Family::EpochWindow => ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch: true,
        },
        Family::FirstRequestWindow => ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch: false,
        },
        Family::SlidingCounter => ModelQuota::SlidingCounter {
            limit: limit.min(MOST_COUNTER_UNITS),
            window_us,
        },
        Family::SlidingLog => ModelQuota::SlidingLog { limit, window_us },
        Family::Concurrency => ModelQuota::Concurrency {
            limit,
            lease_us: window_us,
        },
        Family::Ticket => ModelQuota::Ticket { ttl_us: window_us },
    }
}

fn limit(random: &mut Random, most: u64) -> u64 {
    match random.below(8) {
        0 => 1,
        1 => most,
        2 => random.scaled(1, most),
        3 => random.between(2, 4),
        _ => random.between(1, 60),
    }
}

fn bucket(random: &mut Random) -> ModelQuota {
    loop {
        let (units, per_us) = match random.below(3) {
            0 => (random.scaled(1, 1 << 22), random.scaled(1, 10 * YEAR)),
            _ => *random.pick(&RATES),
        };
        let burst = if random.once_in(6) {
            units
        } else {
            limit(random, MOST_UNITS)
        };
        if units <= per_us && admissible(units, per_us, burst) {
            return ModelQuota::Bucket {
                units,
                per_us,
                burst,
            };
        }
    }
}

/// The same quota a little raised, lowered or stretched, as an operator would change it.
fn near(quota: ModelQuota, random: &mut Random) -> ModelQuota {
    let scale = |random: &mut Random, amount: u64, most: u64| {
        let changed = match random.below(4) {
            0 => amount.saturating_mul(2),
            1 => amount / 2,
            2 => amount + 1,
            _ => amount,
        };
        changed.clamp(1, most)
    };
    match quota {
        ModelQuota::Bucket {
            units,
            per_us,
            burst,
        } => {
            let per_us = scale(random, per_us, LONGEST_SPAN_US);
            let units = scale(random, units, per_us.min(1 << 22));
            let burst = scale(random, burst, MOST_UNITS);
            let fits = admissible(units, per_us, burst);
            if fits {
                ModelQuota::Bucket {
                    units,
                    per_us,
                    burst,
                }
            } else {
                quota
            }
        }
        ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch,
        } => ModelQuota::FixedWindow {
            limit: scale(random, limit, MOST_UNITS),
            window_us: scale(random, window_us, 10 * YEAR).max(1000),
            epoch,
        },
        ModelQuota::SlidingCounter { limit, window_us } => ModelQuota::SlidingCounter {
            limit: scale(random, limit, MOST_COUNTER_UNITS),
            window_us: scale(random, window_us, 10 * YEAR).max(1000),
        },
        ModelQuota::SlidingLog { limit, window_us } => ModelQuota::SlidingLog {
            limit: scale(random, limit, MOST_UNITS),
            window_us: scale(random, window_us, 10 * YEAR).max(1000),
        },
        ModelQuota::Concurrency { limit, lease_us } => ModelQuota::Concurrency {
            limit: scale(random, limit, MOST_UNITS),
            lease_us: scale(random, lease_us, 10 * YEAR),
        },
        ModelQuota::Ticket { ttl_us } => ModelQuota::Ticket {
            ttl_us: scale(random, ttl_us, 10 * YEAR),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quotas_named_by_the_design_are_admissible() {
        for (units, per_us, burst) in [
            (999_983, DAY, 999_983),
            (1_000_000, SECOND, 1_000_000),
            (1_000_000, DAY, 1_000_000),
            (1, 10 * YEAR, 1),
            (7, 11, MOST_UNITS),
        ] {
            assert!(
                admissible(units, per_us, burst),
                "{units} per {per_us} µs, burst {burst}"
            );
        }
        assert!(!admissible(1, 10 * YEAR, 2), "fills in 20 years");
        assert!(
            !admissible(4_194_305, 4_194_307, 1),
            "too many parts of a microsecond"
        );
        assert!(
            !admissible(4_194_301, 4_194_301 * 2 - 1, 600_000_000),
            "2·B·r is above 2^52"
        );
    }

    #[test]
    fn the_whole_domain_is_drawn() {
        let mut random = Random::new(3);
        let drawn: Vec<ModelQuota> = Family::ALL
            .iter()
            .flat_map(|&family| (0..400).flat_map(move |_| [family]).collect::<Vec<_>>())
            .flat_map(|family| draw(family, &mut random))
            .collect();
        let limits: Vec<u64> = drawn.iter().map(ModelQuota::limit).collect();
        assert!(limits.contains(&1) && limits.contains(&MOST_UNITS));
        let memories: Vec<u64> = drawn.iter().map(ModelQuota::memory_us).collect();
        assert!(memories.iter().any(|&us| us <= 2000) && memories.contains(&(10 * YEAR)));
        assert!(drawn.contains(&ModelQuota::Bucket {
            units: 999_983,
            per_us: DAY,
            burst: 999_983
        }));
    }
}
