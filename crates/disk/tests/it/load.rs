//! Callers that charge pairs of keys in one step, and what must be found of it later.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use jeton_core::{Anchor, Cost, Op, Quota, RuleId, Store};
use jeton_testkit::random::Random;

use crate::support::{DAY, START, decide, log, remaining, span};

pub(crate) const THREADS: u64 = 8;
pub(crate) const PAIRS: usize = 12;
const LIMIT: u32 = 10_000_000;

/// What each pair has been charged.
pub(crate) type Charged = [u64; PAIRS];

/// One quota of each pair: a count, and a log that grows long.
pub(crate) fn quotas() -> [Quota; 2] {
    let limit = u64::from(LIMIT);
    let count = Quota::fixed_window(limit, span(300 * DAY), Anchor::FirstRequest).unwrap();
    [count, log(limit, 300 * DAY)]
}

/// Sets a flag when it goes, however that comes.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Charges pairs on many threads until `is_over`; tells `answered` after every answer. A store that
/// waits for its disk sets the pace, another one is asked a few thousand times a second.
pub(crate) fn drive(
    store: &dyn Store,
    pace_is_free: bool,
    is_over: &AtomicBool,
    answered: &(dyn Fn(usize) + Sync),
) {
    let quotas = quotas();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let quotas = &quotas;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                let mut now = START + thread;
                while !is_over.load(SeqCst) {
                    let pair = random.index(PAIRS);
                    let key = pair.to_be_bytes();
                    let op = |rule: u64| {
                        let quota = &quotas[usize::try_from(rule).unwrap()];
                        Op::take(RuleId::new(rule + 1), &key, quota, Cost::ONE)
                    };
                    now += 8;
                    if pace_is_free {
                        thread::sleep(Duration::from_millis(1));
                    }
                    if let (Ok(verdict), _) = decide(store, &[op(0), op(1)], now) {
                        assert!(verdict.allowed);
                        answered(pair);
                    }
                }
            });
        }
    });
}

/// What each pair has been charged, as the store has it: both keys alike.
pub(crate) fn charged(store: &dyn Store) -> Charged {
    let [count, log] = quotas();
    core::array::from_fn(|pair| {
        let key = pair.to_be_bytes();
        let counted = LIMIT - remaining(store, &key, &count, START);
        let op = Op::new(
            RuleId::new(2),
            &key,
            &log,
            jeton_core::Act::Peek { cost: Cost::ZERO },
        );
        let (_, decisions) = decide(store, &[op], START);
        let logged = LIMIT - decisions[0].remaining;
        assert_eq!(counted, logged, "pair {pair} was torn");
        counted.into()
    })
}
