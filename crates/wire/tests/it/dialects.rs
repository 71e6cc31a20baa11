//! Every dialect: field cases F43 to F45, the words of the setting, sets of dialects.

use jeton_wire::ratelimit::{Dialect, Dialects, LimitItem, MAX_INTEGER, PolicyItem, Report};
use proptest::prelude::*;
use sfv::{Dictionary, List, Parser};

const SECOND_US: u64 = 1_000_000;
const NOW_US: u64 = 1_800_000_000_250_000;

const ALL: [Dialect; 7] = [
    Dialect::Ietf11,
    Dialect::IetfNext,
    Dialect::Draft7,
    Dialect::Draft6,
    Dialect::LegacyEpoch,
    Dialect::LegacyDelta,
    Dialect::Envoy,
];

fn fields(dialects: impl Into<Dialects>, report: &Report<'_>) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    dialects
        .into()
        .write_fields(report, &mut String::new(), |name, value| {
            fields.push((name, value.to_owned()));
        });
    fields
}

fn told(dialects: impl Into<Dialects>, report: &Report<'_>) -> Vec<String> {
    let line = |(name, value)| format!("{name}: {value}");
    fields(dialects, report).into_iter().map(line).collect()
}

/// Two rules; of the first there are 9 of 10 left for 400 ms.
fn burst_and_day() -> ([PolicyItem<'static>; 2], [LimitItem<'static>; 2]) {
    let rules = [
        PolicyItem::window("burst", 10, SECOND_US),
        PolicyItem::window("day", 1000, 86_400 * SECOND_US),
    ];
    let left = [
        rules[0].limit(9, 400_000).with_cost(1),
        rules[1].limit(999, 86_399 * SECOND_US).with_cost(1),
    ];
    (rules, left)
}

#[test]
fn f43_f44_two_rules_in_every_dialect() {
    let (policies, limits) = burst_and_day();
    let report = Report {
        policies: &policies,
        limits: &limits,
        now_us: NOW_US,
    };
    let policy = r#"ratelimit-policy: "burst";q=10;w=1, "day";q=1000;w=86400"#;
    let quotas = "ratelimit-policy: 10;w=1, 1000;w=86400";
    let numbers = ["x-ratelimit-limit: 10", "x-ratelimit-remaining: 9"];
    for (dialect, expected) in [
        (
            Dialect::Ietf11,
            [policy, r#"ratelimit: "burst";r=9;t=1, "day";r=999;t=86399"#].as_slice(),
        ),
        (
            Dialect::IetfNext,
            &[
                policy,
                r#"ratelimit: "burst";a=9;w=1;c=1, "day";a=999;w=86399;c=1"#,
            ],
        ),
        (
            Dialect::Draft7,
            &[quotas, "ratelimit: limit=10, remaining=9, reset=1"],
        ),
        (
            Dialect::Draft6,
            &[
                quotas,
                "ratelimit-limit: 10",
                "ratelimit-remaining: 9",
                "ratelimit-reset: 1",
            ],
        ),
        (
            Dialect::LegacyEpoch,
            &[numbers[0], numbers[1], "x-ratelimit-reset: 1800000001"],
        ),
        (
            Dialect::LegacyDelta,
            &[numbers[0], numbers[1], "x-ratelimit-reset: 1"],
        ),
        (
            Dialect::Envoy,
            &[
                r#"x-ratelimit-limit: 10, 10;w=1;name="burst", 1000;w=86400;name="day""#,
                numbers[1],
                "x-ratelimit-reset: 1",
            ],
        ),
        (Dialect::None, &[]),
    ] {
        assert_eq!(told(dialect, &report), expected, "{dialect}");
        let names: Vec<_> = fields(dialect, &report)
            .iter()
            .map(|field| field.0)
            .collect();
        assert_eq!(
            names,
            dialect.field_names().collect::<Vec<_>>(),
            "{dialect}"
        );
    }
}

#[test]
fn f43_each_single_number_stands_once() {
    let (policies, limits) = burst_and_day();
    let report = Report {
        policies: &policies,
        limits: &limits,
        now_us: NOW_US,
    };
    for dialect in [Dialect::Draft6, Dialect::LegacyEpoch, Dialect::LegacyDelta] {
        let fields = fields(dialect, &report);
        for (name, value) in &fields {
            assert_eq!(fields.iter().filter(|field| field.0 == *name).count(), 1);
            let is_number = value.parse::<u64>().is_ok();
            assert!(is_number || *name == "ratelimit-policy", "{name}: {value}");
        }
    }
}

#[test]
fn f45_epochs_round_up_and_stay_below_milliseconds() {
    let policy = PolicyItem::window("w", 5, 60 * SECOND_US);
    let reset = |now_us, effective_window_us| {
        let report = Report {
            policies: &[policy],
            limits: &[policy.limit(1, effective_window_us)],
            now_us,
        };
        let mut fields = fields(Dialect::LegacyEpoch, &report);
        fields.pop().expect("a reset").1
    };
    assert_eq!(reset(NOW_US, 0), "1800000001");
    assert_eq!(reset(NOW_US, 750_000), "1800000001");
    assert_eq!(reset(NOW_US, 750_001), "1800000002");
    assert_eq!(reset(NOW_US, 60 * SECOND_US), "1800000061");
    assert_eq!(reset(u64::MAX, u64::MAX), "99999999999");
}

#[test]
fn a_policy_without_a_window_has_a_limit_but_no_quota_to_list() {
    let slots = PolicyItem {
        name: "slots",
        quota: 4,
        window_s: None,
        unit: jeton_wire::ratelimit::Unit::ConcurrentRequests,
    };
    let left = LimitItem {
        name: "slots",
        remaining: 1,
        effective_window_us: None,
        cost: None,
    };
    let report = Report {
        policies: &[slots],
        limits: &[left],
        now_us: NOW_US,
    };
    let expected = ["ratelimit: limit=4, remaining=1"];
    assert_eq!(told(Dialect::Draft7, &report), expected);
    let expected = ["x-ratelimit-limit: 4", "x-ratelimit-remaining: 1"];
    assert_eq!(told(Dialect::Envoy, &report), expected);
}

#[test]
fn without_an_answer_of_the_store_no_number_is_told() {
    let (policies, _) = burst_and_day();
    let report = Report {
        policies: &policies,
        limits: &[],
        now_us: NOW_US,
    };
    for dialect in ALL {
        let names: Vec<_> = fields(dialect, &report)
            .iter()
            .map(|field| field.0)
            .collect();
        assert!(
            names.iter().all(|name| *name == "ratelimit-policy"),
            "{names:?}"
        );
    }
}

#[test]
fn words_of_the_setting() {
    assert_eq!("ietf".parse(), Ok(Dialect::Ietf11));
    for word in Dialect::words() {
        let dialect: Dialect = word.parse().expect("a word that is offered");
        let shown = dialect.to_string();
        assert!(
            shown == word || (shown == "ietf" && word == "ietf-11"),
            "{word}"
        );
    }
    for word in ["", "IETF", "draft-8", "off"] {
        assert!(word.parse::<Dialect>().is_err(), "{word}");
    }
    assert_eq!(
        "draft-8".parse::<Dialect>().unwrap_err().to_string(),
        "there is no header dialect \"draft-8\"; use one of \"ietf\", \"ietf-11\", \"ietf-next\", \
         \"draft-7\", \"draft-6\", \"legacy-epoch\", \"legacy-delta\", \"envoy\", \"none\""
    );
}

#[test]
fn two_dialects_stand_in_one_answer_if_they_share_no_field() {
    let (policies, limits) = burst_and_day();
    let report = Report {
        policies: &policies,
        limits: &limits,
        now_us: NOW_US,
    };
    for first in ALL {
        for second in ALL {
            let shared = first
                .field_names()
                .any(|name| second.field_names().any(|other| other == name));
            let both = Dialects::new(&[first, second]);
            assert_eq!(both.is_err(), shared, "{first} {second}");
            if let Ok(both) = both {
                let expected = [told(first, &report), told(second, &report)].concat();
                assert_eq!(told(both, &report), expected);
                assert_eq!(both.iter().collect::<Vec<_>>(), [first, second]);
            }
            assert!(
                ALL.iter()
                    .all(|third| Dialects::new(&[first, second, *third]).is_err())
            );
        }
        assert_eq!(Dialects::new(&[first]), Ok(first.into()));
        assert!(Dialects::new(&[first, Dialect::None]).is_err());
        assert!(Dialects::new(&[Dialect::None, first]).is_err());
    }
    assert_eq!(Dialects::new(&[Dialect::None]), Ok(Dialect::None.into()));
    assert_eq!(Dialects::new(&[]), Ok(Dialect::None.into()));
    assert_eq!(Dialects::default(), Dialect::Ietf11.into());
}

#[test]
fn a_clash_is_explained() {
    let message = |dialects: &[Dialect]| Dialects::new(dialects).unwrap_err().to_string();
    assert_eq!(
        message(&[Dialect::Envoy, Dialect::LegacyEpoch]),
        r#"the dialects "envoy" and "legacy-epoch" both write "x-ratelimit-limit"; keep one of them"#
    );
    assert_eq!(
        message(&[Dialect::Envoy, Dialect::Envoy]),
        r#"the dialect "envoy" is named twice; keep one of them"#
    );
    assert_eq!(
        message(&[Dialect::Envoy, Dialect::None]),
        r#"the dialect "none" stands alone; leave it out or keep only it"#
    );
}

prop_compose! {
    fn a_rule()(
        name in "[ !#-\\[\\]-~]{1,64}",
        quota in 1_u64..=1 << 40,
        window_us in 1_u64..=315_360_000_000_000,
        remaining: u64,
        share in 0_u64..=1000,
        cost: Option<u64>,
    ) -> (String, u64, u64, u64, u64, Option<u64>) {
        (name, quota, window_us, remaining, window_us / 1000 * share, cost)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn f44_whatever_is_structured_parses(rules in prop::collection::vec(a_rule(), 0..5)) {
        let policies: Vec<_> = rules
            .iter()
            .map(|rule| PolicyItem::window(&rule.0, rule.1, rule.2))
            .collect();
        let limits: Vec<_> = policies
            .iter()
            .zip(&rules)
            .map(|(policy, rule)| LimitItem { cost: rule.5, ..policy.limit(rule.3, rule.4) })
            .collect();
        let report = Report { policies: &policies, limits: &limits, now_us: NOW_US };
        for dialect in ALL {
            for (name, value) in fields(dialect, &report) {
                if (dialect, name) == (Dialect::Draft7, "ratelimit") {
                    prop_assert!(Parser::new(&value).parse::<Dictionary>().is_ok(), "{}", value);
                    continue;
                }
                let list = Parser::new(&value).parse::<List>();
                prop_assert!(list.is_ok(), "{}", value);
                let expected = match name {
                    "ratelimit-policy" | "ratelimit" => rules.len(),
                    "x-ratelimit-limit" if dialect == Dialect::Envoy => rules.len() + 1,
                    _ => 1,
                };
                prop_assert_eq!(list.unwrap().len(), expected, "{}", value);
            }
        }
    }

    #[test]
    fn f45_a_reset_lies_within_the_window(
        window_us in 1_u64..=315_360_000_000_000, share in 0_u64..=1000, now_us in 0_u64..1 << 52,
    ) {
        let policy = PolicyItem::window("w", 5, window_us);
        let left = window_us / 1000 * share;
        let report = Report { policies: &[policy], limits: &[policy.limit(1, left)], now_us };
        for dialect in [Dialect::Draft6, Dialect::LegacyDelta, Dialect::LegacyEpoch, Dialect::Envoy] {
            let reset: u64 = fields(dialect, &report).pop().unwrap().1.parse().unwrap();
            let window_s = policy.window_s.unwrap();
            if dialect == Dialect::LegacyEpoch {
                let least = now_us / SECOND_US;
                prop_assert!((least..=now_us.div_ceil(SECOND_US) + window_s).contains(&reset));
                prop_assert!(reset < 100_000_000_000);
                prop_assert!(u128::from(reset) * 1_000_000 >= u128::from(now_us + left));
            } else {
                prop_assert!(reset <= window_s);
            }
        }
    }

    #[test]
    fn no_number_leaves_the_domain(
        quota: u64, window_s: Option<u64>, remaining: u64, effective_window_us: Option<u64>,
        cost: Option<u64>, now_us: u64,
    ) {
        let unit = jeton_wire::ratelimit::Unit::Requests;
        let policy = PolicyItem { name: "x", quota, window_s, unit };
        let limit = LimitItem { name: "x", remaining, effective_window_us, cost };
        let report = Report { policies: &[policy], limits: &[limit], now_us };
        for dialect in ALL {
            for (_, value) in fields(dialect, &report) {
                let numbers = value.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
                for number in numbers {
                    prop_assert!(number.parse::<u64>().is_ok_and(|n| n <= MAX_INTEGER), "{}", value);
                }
            }
        }
    }
}
