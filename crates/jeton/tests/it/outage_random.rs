//! Under any sequence of failures: nothing is denied but by a limit that was really used up, nothing
//! passes a local limit, and memory keeps to its cap.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jeton::{Answered, Disposition, Event, Gate, Micros, StoreErrorKind};

use crate::faulty::{Fault, Faulty};
use crate::support::{Request, S, gate_over};

const START_S: u64 = 1_800_000_000;
const LIMIT: u32 = 8;
const LOCAL: u32 = 4;

const RULES: &str = r#"
[store]
max_keys = 4_000
max_memory = "1MiB"

[[rule]]
name = "local"
match = { path = ["/local", "/both", "/mixed"] }
key = "client-ip"
algorithm = "fixed-window"
limit = 8
window = "10s"
on_failure = { local = 0.5 }

[[rule]]
name = "allow"
match = { path = ["/allow", "/both"] }
key = "client-ip"
algorithm = "fixed-window"
limit = 8
window = "10s"

[[rule]]
name = "deny"
match = { path = ["/deny", "/mixed"] }
key = "client-ip"
algorithm = "fixed-window"
limit = 8
window = "10s"
on_failure = "deny"
"#;

const PATHS: [&str; 5] = ["/local", "/allow", "/deny", "/both", "/mixed"];

/// A small generator of numbers (`SplitMix64`, Steele et al. 2014): the same seed, the same run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn fault(&mut self) -> Fault {
        let kinds = [
            StoreErrorKind::Unavailable,
            StoreErrorKind::Refused,
            StoreErrorKind::BadState,
            StoreErrorKind::BadAnswer,
            StoreErrorKind::Timeout,
        ];
        let kind = kinds[usize::try_from(self.below(5)).unwrap()];
        match self.below(9) {
            0..=2 => Fault::None,
            3 => Fault::Error(kind),
            4 => Fault::LateError(kind),
            5 => Fault::Plans(kind),
            6 => Fault::Hang,
            7 => Fault::Lost,
            _ => Fault::Slow(Duration::from_millis(self.below(40))),
        }
    }
}

/// What must hold, counted apart from the engine: by rule, address and window.
#[derive(Default)]
struct Model {
    local: HashMap<(String, u64), u32>,
    degraded: u64,
    decided: u64,
    denied_locally: u64,
}

impl Model {
    fn see(&mut self, path: &str, ip: &str, window: u64, answered: &Answered) {
        if !answered.is_degraded() {
            // The store decided, by what had been charged there.
            for decided in answered.decisions() {
                assert_eq!(decided.decision.limit, LIMIT);
                if !decided.decision.fit.passes() {
                    assert_eq!(decided.decision.remaining, 0, "an invented denial");
                }
            }
            self.decided += 1;
            return;
        }
        self.degraded += 1;
        let refuses = matches!(path, "/deny" | "/mixed");
        let decides = matches!(path, "/local" | "/both");
        match answered.disposition() {
            Disposition::Degraded { denied, .. } => {
                assert!(!decides && denied == refuses, "{path}");
                assert!(answered.decisions().next().is_none() && answered.told().is_empty());
                assert_eq!(answered.retry_after(), None);
            }
            Disposition::Decided(_) => {
                assert!(decides, "{path}");
                let used = self.local.entry((ip.to_owned(), window)).or_default();
                assert_eq!(answered.allowed(), *used < LOCAL, "{ip}: {used} used");
                *used += u32::from(answered.allowed());
                let told: Vec<_> = answered.decisions().map(|d| d.rule.name()).collect();
                assert_eq!(told, ["local"]);
                let decision = answered.decisions().next().unwrap().decision;
                assert_eq!((decision.limit, decision.remaining), (LOCAL, LOCAL - *used));
                self.denied_locally += u64::from(!answered.allowed());
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn run(seed: u64, steps: u32) -> Model {
    let mut numbers = Numbers(seed);
    let store = Arc::new(Faulty::new());
    let gate: Gate = gate_over(Arc::clone(&store) as _, RULES);
    let mut now_us = START_S * S;
    let mut model = Model::default();
    for step in 0..steps {
        if numbers.below(12) == 0 {
            store.set(numbers.fault());
        }
        now_us += numbers.below(3) * numbers.below(300_000);
        gate.clock().set(Micros::new(now_us));
        let ip = if numbers.below(2) == 0 {
            format!("192.0.2.{}", numbers.below(4))
        } else {
            format!("10.{}.{}.1", numbers.below(4), numbers.below(200))
        };
        let path = PATHS[usize::try_from(numbers.below(5)).unwrap()];
        let answered = match numbers.below(8) {
            0 => {
                gate.look().await;
                continue;
            }
            1 => gate.hold(&Request::get(&ip, path)).wait().await,
            _ => gate.take(&Request::get(&ip, path)).wait().await,
        };
        model.see(path, &ip, now_us / (10 * S), &answered);
        if step % 64 == 0
            && let Some(stats) = gate.local_stats()
        {
            assert!(stats.keys <= stats.max_keys && stats.bytes <= stats.max_bytes);
            assert!(stats.max_keys <= 4_000 && stats.max_bytes <= 1 << 20);
        }
    }
    assert_eq!(gate.tally().event(Event::Degraded), model.degraded);
    model
}

#[tokio::test(start_paused = true)]
async fn nothing_is_invented_under_any_sequence_of_failures() {
    let (runs, steps) = if std::env::var_os("JETON_FULL").is_some() {
        (400, 10_000)
    } else {
        (20, 2_000)
    };
    let mut all = Model::default();
    for seed in 0..runs {
        let model = run(seed, steps).await;
        all.degraded += model.degraded;
        all.decided += model.decided;
        all.denied_locally += model.denied_locally;
    }
    // The run met what it is about.
    assert!(all.decided > 1_000 && all.degraded > 1_000 && all.denied_locally > 100);
}
