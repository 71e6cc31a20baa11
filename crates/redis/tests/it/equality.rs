//! The script decides, writes and forgets what the engine would, on traffic of every kind.

use std::collections::HashMap;

use jeton_core::{Act, Cost, Mode, OnDeny, Op, Quota, Receipt, RuleId, Span};
use jeton_testkit::laws::{act_of, full_size, quota_of, told_of};
use jeton_testkit::random::Random;
use jeton_testkit::redis_server::Version;
use jeton_testkit::trace::{Ask, Event, Family, Memory, Subject, Told, compare};
use jeton_testkit::vectors::{read, replay};

use crate::mirror::Mirror;

const SECOND: u64 = 1_000_000;

/// One key, its traffic from the generator of traces.
struct OneKey {
    mirror: Mirror,
    receipts: HashMap<usize, Receipt>,
}

impl Subject for OneKey {
    /// What is over is not seen, and it is seen again by a clock that went back.
    fn memory(&mut self, event: &Event) -> Memory {
        if self.mirror.is_any_over(event.now_us) {
            Memory::Unknown
        } else {
            Memory::Kept
        }
    }

    fn answer(&mut self, event: &Event) -> Told {
        let quota = quota_of(&event.quota);
        let act = act_of(&event.ask, |of| self.receipts[&of]);
        let op = Op::new(RuleId::new(1), b"key", &quota, act);
        let decision = self.mirror.op(&op, event.now_us);
        let charging = matches!(event.ask, Ask::Take { .. } | Ask::Hold { .. });
        if charging && decision.fit.passes() {
            self.receipts.insert(event.number, decision.receipt);
        }
        told_of(&event.ask, &decision)
    }
}

/// Script, engine and models say the same, on the same traces.
fn traces_agree(version: Version) {
    let traces = if full_size() { 1430 } else { 20 };
    for family in Family::ALL.into_iter().chain(Family::HELD) {
        let server = version.shared();
        let subject = || OneKey {
            mirror: Mirror::new(server),
            receipts: HashMap::new(),
        };
        if let Err(difference) = compare(family, 0..traces, 60, subject) {
            panic!("{difference}");
        }
    }
}

#[test]
fn traces_agree_on_redis_7_0() {
    traces_agree(Version::V7_0);
}

#[test]
fn traces_agree_on_redis_8_2() {
    traces_agree(Version::V8_2);
}

/// Logs of hundreds of entries: read in parts, written in parts, rewritten when most of one is dead.
#[test]
fn long_logs_agree() {
    let steps = if full_size() { 20_000 } else { 1500 };
    for (seed, version) in (0..).zip(Version::ALL) {
        let mut random = Random::new(seed);
        let mut mirror = Mirror::new(version.shared());
        let quotas = [300, 700].map(|limit| {
            Quota::sliding_log(limit, Span::from_micros(60 * SECOND).unwrap()).unwrap()
        });
        let mut now_us = 1_700_000_000 * SECOND;
        let mut receipts: Vec<Receipt> = Vec::new();
        for step in 0..steps {
            now_us = match random.below(40) {
                0 => now_us - random.below(5 * SECOND),
                1 => now_us + random.below(40 * SECOND),
                2..6 => now_us,
                _ => now_us + random.below(SECOND / 8),
            };
            let cost = Cost::new(random.below(4));
            let act = match (random.below(60), receipts.len()) {
                (0, _) => Act::Give {
                    units: Cost::new(random.below(90)),
                },
                (1..6, many @ 1..) => Act::Settle {
                    receipt: receipts.swap_remove(random.index(many)),
                    actual: Cost::new(random.below(9)),
                    max_debt: Cost::MAX,
                },
                (6..9, _) => Act::Peek {
                    cost: Cost::new(random.below(300)),
                },
                (9, _) => Act::Take {
                    cost: Cost::new(random.below(300)),
                },
                _ => Act::Take { cost },
            };
            let mut op = Op::new(
                RuleId::new(1),
                b"key",
                &quotas[usize::from(step % 500 < 50)],
                act,
            );
            if random.once_in(20) {
                op.on_deny = OnDeny::Charge;
            }
            let decision = mirror.op(&op, now_us);
            if decision.receipt.cost > 0 {
                receipts.push(decision.receipt);
            }
            if receipts.len() > 50 {
                receipts.swap_remove(random.index(50));
            }
        }
    }
}

/// Several ops on long logs and others, some without a vote, some that charge their denials.
#[test]
fn plans_agree() {
    let steps = if full_size() { 20_000 } else { 800 };
    for (seed, version) in (10..).zip(Version::ALL) {
        let mut random = Random::new(seed);
        let mut mirror = Mirror::new(version.shared());
        let span = |us| Span::from_micros(us).unwrap();
        let quotas = [
            Quota::sliding_log(120, span(60 * SECOND)).unwrap(),
            Quota::sliding_counter(90, span(30 * SECOND)).unwrap(),
            Quota::fixed_window(50, span(20 * SECOND), jeton_core::Anchor::Epoch).unwrap(),
            Quota::bucket(jeton_core::Rate::new(7, span(SECOND)).unwrap(), 40).unwrap(),
            Quota::concurrency(60, span(40 * SECOND)).unwrap(),
        ];
        let mut now_us = 1_700_000_000 * SECOND;
        for _ in 0..steps {
            now_us = match random.below(30) {
                0 => now_us - random.below(9 * SECOND),
                1 => now_us + random.below(90 * SECOND),
                _ => now_us + random.below(SECOND / 2),
            };
            let ops: Vec<Op<'_>> = quotas
                .iter()
                .filter_map(|quota| {
                    let cost = Cost::new(random.below(6));
                    let held = matches!(quota, Quota::Concurrency(_));
                    let act = if held {
                        Act::Hold { cost }
                    } else {
                        Act::Take { cost }
                    };
                    let mut op = Op::new(RuleId::new(random.below(2)), b"key", quota, act);
                    op.mode = if random.once_in(5) {
                        Mode::Shadow
                    } else {
                        Mode::Enforce
                    };
                    op.on_deny = if random.once_in(4) {
                        OnDeny::Charge
                    } else {
                        OnDeny::Keep
                    };
                    (!random.once_in(3)).then_some(op)
                })
                .collect();
            mirror.plan(&ops, now_us);
        }
    }
}

#[test]
fn golden_vectors_give_the_same_answers_and_states() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/decisions.jsonl");
    let vectors = read(&std::fs::read_to_string(file).unwrap());
    for version in Version::ALL {
        // The mirror compares the bytes with the engine's, which are those of the file.
        let mut mirror = Mirror::new(version.shared());
        replay(&vectors, |trace, quota, act, now| {
            let op = Op::new(RuleId::new(1), trace.as_bytes(), quota, *act);
            mirror.op(&op, now.get())
        });
    }
}
