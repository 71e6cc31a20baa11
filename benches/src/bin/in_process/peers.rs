//! The contenders: each takes one unit for a key, under a quota that it never exhausts and whose states
//! stay alive (a unit comes back a minute after it was taken).

use std::collections::HashMap;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::Instant;

use governor::DefaultKeyedRateLimiter;
use jeton::{Clock, Limiter, Overflow, Quota, Rate, Settings, Span};
use jeton_core::{Answers, Cost, Op, Plan, RuleId};
use jeton_memory::Table;
use limitador::limit::{Limit, Namespace};

pub type Fault = Box<dyn std::error::Error + Send + Sync>;

const MINUTE_US: u64 = 60_000_000;
const BURST: u32 = 1_000_000;

/// What is measured.
pub trait Peer: Send + Sync {
    /// Takes one unit for each key, one after the other.
    fn take(&self, keys: &[String]);
}

/// The names of the contenders, the one that the others are compared with first.
pub const NAMES: [&str; 6] = [
    "governor",
    "locked HashMap",
    "limitador",
    "jeton, default clock",
    "jeton, TSC",
    "jeton, TSC, batches of 32",
];
/// The place of `limitador` among them.
pub const LIMITADOR: usize = 2;

/// A new contender with room for `keys` keys.
pub fn peer(name: &str, keys: u64) -> Result<Box<dyn Peer>, Fault> {
    Ok(match name {
        "governor" => {
            let one = NonZeroU32::new(1).ok_or("one")?;
            let burst = NonZeroU32::new(BURST).ok_or("burst")?;
            Box::new(Governor(DefaultKeyedRateLimiter::keyed(
                governor::Quota::per_minute(one).allow_burst(burst),
            )))
        }
        "locked HashMap" => Box::new(Locked::default()),
        "limitador" => Box::new(Limitador::new(keys)?),
        "jeton, default clock" => Box::new(Single(limiter(keys, Clock::system())?)),
        "jeton, TSC" => Box::new(Single(limiter(keys, Clock::tsc())?)),
        "jeton, TSC, batches of 32" => Box::new(Batched::new(keys, bucket()?)?),
        other => return Err(format!("no contender is called {other:?}").into()),
    })
}

pub fn bucket() -> Result<Quota, Fault> {
    let rate = Rate::new(1, Span::from_micros(MINUTE_US)?)?;
    Ok(Quota::bucket(rate, u64::from(BURST))?)
}

/// A bucket that is refilled quickly.
pub fn refilled() -> Result<Quota, Fault> {
    Ok(Quota::bucket(Rate::new(1_000, Span::SECOND)?, 100)?)
}

pub fn settings(keys: u64) -> Settings {
    Settings {
        max_keys: keys + keys / 8 + 1_000,
        max_memory_bytes: 4 << 30,
        overflow: Overflow::Share,
        seed: None,
    }
}

fn limiter(keys: u64, clock: Clock) -> Result<Limiter, Fault> {
    Ok(Limiter::with(bucket()?, &settings(keys), clock)?)
}

struct Governor(DefaultKeyedRateLimiter<String>);

impl Peer for Governor {
    fn take(&self, keys: &[String]) {
        for key in keys {
            black_box(self.0.check_key(key).is_ok());
        }
    }
}

/// What one writes first: a bucket of floats for each key, under one lock.
#[derive(Default)]
struct Locked(Mutex<HashMap<String, (Instant, f64)>>);

impl Peer for Locked {
    fn take(&self, keys: &[String]) {
        for key in keys {
            let now = Instant::now();
            let Ok(mut buckets) = self.0.lock() else {
                return;
            };
            let burst = f64::from(BURST);
            let (at, left) = match buckets.get_mut(key) {
                Some(bucket) => bucket,
                None => buckets.entry(key.clone()).or_insert((now, burst)),
            };
            *left = (*left + now.duration_since(*at).as_secs_f64() / 60.0).min(burst);
            *at = now;
            let allowed = *left >= 1.0;
            if allowed {
                *left -= 1.0;
            }
            black_box(allowed);
        }
    }
}

struct Limitador {
    limiter: limitador::RateLimiter,
    namespace: Namespace,
}

impl Limitador {
    fn new(keys: u64) -> Result<Self, Fault> {
        let limiter = limitador::RateLimiter::new(keys * 2 + 1_000);
        let user = "user".try_into().map_err(|_| "not an expression")?;
        limiter.add_limit(Limit::new(
            "bench",
            u64::from(BURST),
            86_400,
            vec![],
            vec![user],
        ));
        Ok(Self {
            limiter,
            namespace: "bench".into(),
        })
    }
}

impl Peer for Limitador {
    fn take(&self, keys: &[String]) {
        for key in keys {
            let values = HashMap::from([(String::from("user"), key.clone())]);
            let context = values.into();
            let result = self
                .limiter
                .check_rate_limited_and_update(&self.namespace, &context, 1);
            black_box(result.is_ok_and(|result| !result.limited));
        }
    }
}

struct Single(Limiter);

impl Peer for Single {
    fn take(&self, keys: &[String]) {
        for key in keys {
            black_box(self.0.take(key.as_str()).fit.passes());
        }
    }
}

/// One take after the other under any quota.
pub struct Each {
    table: Table,
    clock: Clock,
    quota: Quota,
}

impl Each {
    pub fn new(keys: u64, quota: Quota) -> Result<Self, Fault> {
        Ok(Self {
            table: Table::new(&settings(keys))?,
            clock: Clock::tsc(),
            quota,
        })
    }
}

impl Peer for Each {
    fn take(&self, keys: &[String]) {
        for key in keys {
            let when = self.clock.reading();
            let decision =
                self.table
                    .take(RuleId::new(1), key.as_bytes(), &self.quota, Cost::ONE, when);
            black_box(decision.fit.passes());
        }
    }
}

/// 32 independent plans at a time, as a pipeline brings them: one reading of the clock for all.
pub struct Batched(Each);

impl Batched {
    pub fn new(keys: u64, quota: Quota) -> Result<Self, Fault> {
        Each::new(keys, quota).map(Self)
    }
}

const TOGETHER: usize = 32;

impl Peer for Batched {
    fn take(&self, keys: &[String]) {
        let Each {
            table,
            clock,
            quota,
        } = &self.0;
        let mut answers = Answers::new();
        for keys in keys.as_chunks::<TOGETHER>().0 {
            let op = |at: usize| Op::take(RuleId::new(1), keys[at].as_bytes(), quota, Cost::ONE);
            let ops: [Op<'_>; TOGETHER] = std::array::from_fn(op);
            let plans = ops.each_ref().map(Plan::one);
            answers.clear();
            table.decide_each(&plans, clock.reading(), &mut (), &mut answers);
            let _ = black_box(answers.plan(TOGETHER - 1));
        }
    }
}
