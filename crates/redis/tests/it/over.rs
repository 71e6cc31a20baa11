//! A state that is over is none, though its key still stands: under a virtual clock it does, and
//! another plan of the same rule may have a longer window.

use jeton_core::{Act, Anchor, Cost, Op, Quota, Rate, Receipt, RuleId, Span};
use jeton_testkit::laws::full_size;
use jeton_testkit::random::Random;
use jeton_testkit::redis_server::{Server, Version};

use crate::mirror::Mirror;

const SECOND: u64 = 1_000_000;
const START_US: u64 = 1_700_000_000 * SECOND;

fn span(us: u64) -> Span {
    Span::from_micros(us).unwrap()
}

/// One quota of each kind, on windows or at a pace of this many µs.
fn quotas(us: u64, limit: u64) -> [Quota; 7] {
    [
        Quota::bucket(Rate::new(1, span(us)).unwrap(), limit).unwrap(),
        Quota::fixed_window(limit, span(us), Anchor::Epoch).unwrap(),
        Quota::fixed_window(limit, span(us), Anchor::FirstRequest).unwrap(),
        Quota::sliding_counter(limit, span(us)).unwrap(),
        Quota::sliding_log(limit, span(us)).unwrap(),
        Quota::concurrency(limit, span(us)).unwrap(),
        Quota::ticket(span(us)).unwrap(),
    ]
}

fn op(quota: &Quota, act: Act) -> Op<'_> {
    Op::new(RuleId::new(1), b"key", quota, act)
}

fn hold(units: u64) -> Act {
    let cost = Cost::new(units);
    Act::Hold { cost }
}

fn stands(server: &Server, mirror: &Mirror, quota: &Quota) -> Option<Vec<u8>> {
    let key = mirror.store.key_of(&op(quota, hold(1)));
    redis::cmd("GET")
        .arg(key)
        .query(&mut server.client())
        .unwrap()
}

/// A look leaves it where it is, and before its end it is there again; a charge begins anew.
#[test]
fn what_is_over_is_none_until_the_clock_goes_back() {
    for version in Version::ALL {
        let server = version.shared();
        for (short, long) in quotas(SECOND, 50).iter().zip(&quotas(60 * SECOND, 50)) {
            let mut mirror = Mirror::new(server);
            let look = Act::Peek { cost: Cost::ONE };
            // So many that a log is read and written in parts.
            for _ in 0..40 {
                mirror.op(&op(short, hold(1)), START_US);
            }
            let left = mirror.op(&op(short, look), START_US).remaining;
            let kept = stands(server, &mirror, short);
            assert!(kept.is_some());

            let over_us = START_US + 50 * SECOND;
            let full = Mirror::new(server).op(&op(long, look), over_us);
            assert_eq!(mirror.op(&op(long, look), over_us), full);
            assert_eq!(stands(server, &mirror, short), kept, "{short:?}");
            assert_eq!(mirror.op(&op(short, look), START_US).remaining, left);

            let fresh = Mirror::new(server).op(&op(long, hold(1)), over_us);
            assert_eq!(
                mirror.op(&op(long, hold(1)), over_us).remaining,
                fresh.remaining
            );
            assert!(stands(server, &mirror, short) != kept, "{short:?}");
        }
    }
}

/// What forgets a state forgets one that is over as well, and so does what would have replaced it.
#[test]
fn what_is_over_is_forgotten() {
    let one = Quota::fixed_window(1, span(SECOND), Anchor::Epoch).unwrap();
    let neighbour = Op::take(RuleId::new(2), b"key", &one, Cost::new(2));
    for version in Version::ALL {
        let server = version.shared();
        for quota in &quotas(SECOND, 50) {
            let mut mirror = Mirror::new(server);
            let over_us = START_US + 100 * SECOND;
            mirror.op(&op(quota, hold(3)), START_US);
            mirror.op(&op(quota, Act::Reset), over_us);
            assert_eq!(stands(server, &mirror, quota), None, "{quota:?}");

            mirror.op(&op(quota, hold(3)), START_US);
            let denied = mirror.plan(&[op(quota, hold(1)), neighbour], over_us).0;
            assert!(!denied.allowed);
            assert_eq!(stands(server, &mirror, quota), None, "{quota:?}");
        }
    }
}

/// Traffic whose windows change all the time, on a clock that leaps both ways.
#[test]
fn windows_of_every_length_agree() {
    let steps = if full_size() { 20_000 } else { 1500 };
    for (seed, version) in (20..).zip(Version::ALL) {
        let mut random = Random::new(seed);
        let mut mirror = Mirror::new(version.shared());
        let sizes = [(SECOND / 10, 3), (SECOND, 60), (7 * SECOND, 9)];
        let quotas = sizes.map(|(us, limit)| quotas(us, limit));
        let mut receipts: Vec<(usize, Receipt)> = Vec::new();
        let mut now_us = START_US;
        for _ in 0..steps {
            now_us = match random.below(20) {
                0 => now_us - random.below(4 * SECOND),
                1 => now_us + random.below(20 * SECOND),
                2..8 => now_us + random.below(SECOND),
                _ => now_us + random.below(SECOND / 50),
            };
            let (kind, cost) = (random.index(7), Cost::new(random.below(4)));
            let act = match (random.below(20), receipts.len()) {
                (0, _) => Act::Reset,
                (1, _) => Act::Give { units: cost },
                (2, _) => Act::Peek { cost },
                (3..6, many @ 1..) => {
                    let (of, receipt) = receipts.swap_remove(random.index(many));
                    let act = Act::Settle {
                        receipt,
                        actual: cost,
                        max_debt: Cost::new(2),
                    };
                    mirror.op(&op(&random.pick(&quotas)[of], act), now_us);
                    continue;
                }
                _ => Act::Hold { cost },
            };
            let receipt = mirror
                .op(&op(&random.pick(&quotas)[kind], act), now_us)
                .receipt;
            if receipt.cost > 0 {
                receipts.push((kind, receipt));
            }
            if receipts.len() > 30 {
                receipts.swap_remove(random.index(30));
            }
        }
    }
}
