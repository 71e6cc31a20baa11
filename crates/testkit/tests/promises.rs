//! The models against the promises of the algorithms, on random traffic: what passes is counted
//! without any model, waits and refusals are tried.

use jeton_testkit::bound::{Passed, check};
use jeton_testkit::model::{Act, Answer, Model, ModelQuota};
use jeton_testkit::random::Random;
use jeton_testkit::trace::{Ask, Event, Family, Traffic};

/// Runs a trace's takes at a clock that only goes on, under the quota it starts with.
fn forward_takes(family: Family, seed: u64, mut each: impl FnMut(&Model, &Event, &Answer)) {
    let mut traffic = Traffic::new(family, seed);
    let mut model = Model::default();
    let (mut quota, mut now_us) = (None, 0);
    for _ in 0..150 {
        let mut event = traffic.next_event();
        let (Ask::Take { cost } | Ask::Hold { cost }) = event.ask else {
            continue;
        };
        if event.now_us < now_us {
            continue;
        }
        now_us = event.now_us;
        event.quota = *quota.get_or_insert(event.quota);
        let before = model.clone();
        let answer = model.act(&event.quota, &Act::Take { cost }, now_us);
        each(&before, &event, &answer);
        traffic.hear(&event, &answer);
    }
}

#[test]
fn no_algorithm_passes_more_than_it_promises() {
    for family in Family::ALL {
        let mut passing = 0;
        for seed in 0..200 {
            let (mut passed, mut quota) = (Vec::new(), None);
            forward_takes(family, seed, |_, event, answer| {
                quota = Some(event.quota);
                if let Some(receipt) = answer.receipt {
                    passed.push(Passed::new(event.now_us, receipt.cost));
                }
            });
            passing += passed.len();
            if let Some(quota) = quota {
                let broken = check(&quota, &passed).err();
                assert_eq!(broken, None, "{family:?}, seed {seed}: {quota:?}");
            }
        }
        assert!(passing > 2000, "{family:?}: only {passing} passed");
    }
}

#[test]
fn a_stated_wait_suffices_and_one_microsecond_less_does_not() {
    for family in Family::ALL {
        let mut waits = 0;
        for seed in 0..100 {
            forward_takes(family, seed, |before, event, answer| {
                let Some(retry_us) = answer.retry_us() else {
                    return;
                };
                let (Ask::Take { cost } | Ask::Hold { cost }) = event.ask else {
                    return;
                };
                let allowed_after = |wait_us: u64| {
                    let act = Act::Take { cost };
                    before
                        .clone()
                        .act(&event.quota, &act, event.now_us + wait_us)
                        .allowed()
                };
                assert!(
                    allowed_after(retry_us),
                    "{family:?}, seed {seed}: {event:?}"
                );
                assert!(
                    !allowed_after(retry_us - 1),
                    "{family:?}, seed {seed}: {event:?}"
                );
                waits += 1;
            });
        }
        assert!(waits > 1000, "{family:?}: only {waits} denials");
    }
}

/// F49: whatever is raised, and however often, what was allowed stays allowed.
#[test]
fn raising_a_quota_never_turns_an_allow_into_a_deny() {
    for family in Family::ALL {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            forward_takes(family, seed, |before, event, answer| {
                let (Ask::Take { cost } | Ask::Hold { cost }) = event.ask else {
                    return;
                };
                if !answer.allowed() {
                    return;
                }
                let raised = raise(event.quota, &mut random);
                let after = before
                    .clone()
                    .act(&raised, &Act::Take { cost }, event.now_us);
                assert!(
                    after.allowed(),
                    "{family:?}, seed {seed}: {event:?} under {raised:?}"
                );
            });
        }
    }
}

fn raise(quota: ModelQuota, random: &mut Random) -> ModelQuota {
    let more = 1 + random.scaled(1, 1000);
    match quota {
        ModelQuota::Bucket {
            units,
            per_us,
            burst,
        } => ModelQuota::Bucket {
            units: units + more % 7,
            per_us,
            burst: burst + more,
        },
        ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch,
        } => ModelQuota::FixedWindow {
            limit: limit + more,
            window_us,
            epoch,
        },
        ModelQuota::SlidingCounter { limit, window_us } => ModelQuota::SlidingCounter {
            limit: limit + more,
            window_us,
        },
        ModelQuota::SlidingLog { limit, window_us } => ModelQuota::SlidingLog {
            limit: limit + more,
            window_us,
        },
        ModelQuota::Concurrency { limit, lease_us } => ModelQuota::Concurrency {
            limit: limit + more,
            lease_us,
        },
        ModelQuota::Ticket { .. } => quota,
    }
}
