//! Reading limits back: the examples of the drafts and of those who serve them, what is malformed,
//! what is absurd, and the round trip of every dialect.

use jeton_wire::{
    ratelimit::{Dialect, LimitItem, MAX_INTEGER, MAX_SPAN_S, PolicyItem, Report, Unit},
    read::{MAX_ITEMS, Reading, read},
};
use proptest::prelude::*;

const SECOND_US: u64 = 1_000_000;
const NOW_US: u64 = 1_800_000_000_250_000;

fn read_all<'a>(fields: &'a [(&str, &str)]) -> Vec<Reading<'a>> {
    read(NOW_US, |name| {
        let lines = fields.iter().filter(move |field| field.0 == name);
        lines.map(|field| field.1.as_bytes())
    })
}

/// Name, limit, window in seconds, remaining, effective window in seconds.
type Told<'a> = (
    Option<&'a str>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
);

fn told<'a>(reading: &'a Reading<'_>) -> Told<'a> {
    let Reading {
        limit,
        window_s,
        remaining,
        effective_window_us,
        ..
    } = *reading;
    let effective_window_s = effective_window_us.map(|us| us / SECOND_US);
    (
        reading.name.as_deref(),
        limit,
        window_s,
        remaining,
        effective_window_s,
    )
}

#[track_caller]
fn check(fields: &[(&str, &str)], dialect: Dialect, expected: &[Told<'_>]) {
    let readings = read_all(fields);
    assert_eq!(readings.iter().map(told).collect::<Vec<_>>(), expected);
    assert!(
        readings.iter().all(|reading| reading.dialect == dialect),
        "{readings:?}"
    );
}

fn limit(value: &str) -> Vec<(Option<u64>, Option<u64>)> {
    let fields = [("ratelimit", value)];
    let readings = read_all(&fields);
    let numbers = |reading: &Reading<'_>| {
        (
            reading.remaining,
            reading.effective_window_us.map(|us| us / SECOND_US),
        )
    };
    readings.iter().map(numbers).collect()
}

#[test]
fn the_examples_of_draft_11_are_read() {
    check(
        &[
            (
                "ratelimit-policy",
                r#""burst";q=100;w=60,"daily";q=1000;w=86400"#,
            ),
            ("ratelimit", r#""default";r=50;t=30"#),
        ],
        Dialect::Ietf11,
        &[
            (Some("default"), None, None, Some(50), Some(30)),
            (Some("burst"), Some(100), Some(60), None, None),
            (Some("daily"), Some(1000), Some(86_400), None, None),
        ],
    );
    let fields = [(
        "ratelimit-policy",
        r#""peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:"#,
    )];
    let readings = read_all(&fields);
    assert_eq!(readings[0].unit, Some(Unit::ContentBytes));
    assert_eq!(readings[0].partition_key, Some("sdfjLJUOUH=="));
    assert_eq!(
        told(&readings[0]),
        (Some("peruser"), Some(65_535), Some(10), None, None)
    );
}

#[test]
fn the_next_draft_is_read() {
    let fields = [("ratelimit", r#""default";a=50;w=30;c=5"#)];
    let readings = read_all(&fields);
    assert_eq!(
        told(&readings[0]),
        (Some("default"), None, None, Some(50), Some(30))
    );
    assert_eq!(
        (readings[0].dialect, readings[0].cost),
        (Dialect::IetfNext, Some(5))
    );
    // Both generations in one item: the new names win, each for itself.
    assert_eq!(limit(r#""d";r=1;a=2;t=3;w=4"#), [(Some(2), Some(4))]);
    assert_eq!(limit(r#""d";a=2;t=3"#), [(Some(2), Some(3))]);
    // The window of the policy is not that of the limit.
    check(
        &[
            ("ratelimit-policy", r#""default";q=100;w=60"#),
            ("ratelimit", r#""default";r=50"#),
        ],
        Dialect::Ietf11,
        &[(Some("default"), Some(100), Some(60), Some(50), None)],
    );
}

#[test]
fn the_older_dialects_are_read() {
    check(
        &[
            ("ratelimit-policy", "100;w=60"),
            ("ratelimit", "limit=100, remaining=50, reset=30"),
        ],
        Dialect::Draft7,
        &[(None, Some(100), Some(60), Some(50), Some(30))],
    );
    check(
        &[
            (
                "ratelimit-policy",
                "10;w=1, 100;w=60;comment=\"per minute\"",
            ),
            ("ratelimit-limit", "100"),
            ("ratelimit-remaining", "50"),
            ("ratelimit-reset", "30"),
        ],
        Dialect::Draft6,
        &[
            (None, Some(100), Some(60), Some(50), Some(30)),
            (None, Some(10), Some(1), None, None),
        ],
    );
    check(
        &[
            (
                "ratelimit-policy",
                r#""100-in-1min"; q=100; w=60; pk=:YWJjZGVm:"#,
            ),
            ("ratelimit", r#""100-in-1min"; r=50; t=30"#),
        ],
        Dialect::Ietf11,
        &[(Some("100-in-1min"), Some(100), Some(60), Some(50), Some(30))],
    );
}

#[test]
fn the_habits_of_services_are_read() {
    let github = [
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "4999"),
        ("x-ratelimit-reset", "1800003600"),
        ("x-ratelimit-resource", "core"),
    ];
    let expected = [(None, Some(5000), None, Some(4999), Some(3599))];
    check(&github, Dialect::LegacyEpoch, &expected);
    let twitter = [
        ("x-rate-limit-limit", "15"),
        ("x-rate-limit-remaining", "0"),
        ("x-rate-limit-reset", "1800000900"),
    ];
    let expected = [(None, Some(15), None, Some(0), Some(899))];
    check(&twitter, Dialect::LegacyEpoch, &expected);
    let envoy = [
        (
            "x-ratelimit-limit",
            r#"10, 10;w=1;name="per-ip", 1000;w=3600"#,
        ),
        ("x-ratelimit-remaining", "3"),
        ("x-ratelimit-reset", "1"),
    ];
    let expected = [
        (Some("per-ip"), Some(10), Some(1), Some(3), Some(1)),
        (None, Some(1000), Some(3600), None, None),
    ];
    check(&envoy, Dialect::Envoy, &expected);
    let discord = [
        ("x-ratelimit-limit", "5"),
        ("x-ratelimit-remaining", "4"),
        ("x-ratelimit-reset", "1800000001.987"),
    ];
    let readings = read_all(&discord);
    assert_eq!(readings[0].effective_window_us, Some(1_737_000));
    let cloudflare = [
        ("ratelimit", r#""default";r=50;t=30"#),
        ("ratelimit-policy", r#""burst";q=100;w=60"#),
    ];
    assert_eq!(read_all(&cloudflare).len(), 2);
}

#[test]
fn instants_are_told_from_spans() {
    let reset = |text: &str| {
        let fields = [("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", text)];
        let readings = read_all(&fields);
        (readings[0].dialect, readings[0].effective_window_us)
    };
    let (delta, epoch) = (Dialect::LegacyDelta, Dialect::LegacyEpoch);
    assert_eq!(reset("0"), (delta, Some(0)));
    assert_eq!(reset(" 7.25 "), (delta, Some(7_250_000)));
    assert_eq!(
        reset("1000000000"),
        (delta, Some(1_000_000_000 * SECOND_US))
    );
    assert_eq!(reset("1000000001"), (epoch, Some(0)));
    assert_eq!(reset("1800000030"), (epoch, Some(29_750_000)));
    assert_eq!(reset("1800000030000"), (epoch, Some(29_750_000)));
    assert_eq!(
        reset("99999999999999999999999"),
        (epoch, Some(MAX_SPAN_S * SECOND_US))
    );
    for no_number in ["", "-1", "soon", "1h", "1.", ".5", "1.2.3", "0x10", "1e3"] {
        assert_eq!(reset(no_number), (delta, None), "{no_number:?}");
    }
}

#[test]
fn of_two_numbers_in_one_field_the_tighter_counts() {
    check(
        &[
            ("x-ratelimit-limit", "10,10"),
            ("x-ratelimit-remaining", "9"),
            ("x-ratelimit-remaining", "3"),
            ("x-ratelimit-reset", "5, 60"),
        ],
        Dialect::LegacyDelta,
        &[(None, Some(10), None, Some(3), Some(60))],
    );
}

#[test]
fn a_malformed_item_is_ignored_alone() {
    let good = [(Some(1), Some(2))];
    for bad in [
        r#""x";r"#,
        r#""x";r=;t=1"#,
        r#""x";r=1.5"#,
        r#""x";r=-1"#,
        r#""x";r="5""#,
        r#""x";t=5"#,
        r#""x""#,
        r#""x" r=5"#,
        r#""x"; r =5"#,
        r#""x";R=5"#,
        r#""x";r=5;"#,
        r#""x\y";r=5"#,
        r"x y;r=5",
        r"5;r=5",
        r#"("x");r=5"#,
        r#""x";r=9999999999999999"#,
        "",
    ] {
        assert_eq!(limit(&format!("{bad}, \"d\";r=1;t=2")), good, "{bad}");
        assert_eq!(limit(&format!("\"d\";r=1;t=2,{bad}")), good, "{bad}");
    }
    // A string that is never closed takes the rest of its line, and no more.
    let fields = [
        ("ratelimit", r#""d";r=1;t=2, "x;r=5"#),
        ("ratelimit", r#""e";r=3;t=4"#),
    ];
    assert_eq!(read_all(&fields).len(), 2);
    for bad in [
        r#""x";w=60"#,
        r#""x";q=-1;w=60"#,
        r#""x";q=1;w=60;"#,
        "x;Q=1",
    ] {
        let fields = [("ratelimit-policy", bad), ("ratelimit-policy", "\"d\";q=1")];
        assert_eq!(read_all(&fields).len(), 1, "{bad}");
    }
}

#[test]
fn optional_parameters_of_the_wrong_kind_are_no_such_parameters() {
    for value in [
        r#""x";r=5;t=-1"#,
        r#""x";r=5;t=1.5"#,
        r#""x";r=5;t"#,
        r#""x";r=5;w=?1"#,
    ] {
        assert_eq!(limit(value), [(Some(5), None)], "{value}");
    }
    assert_eq!(
        limit(r#""x";r=5;acme-burst=?1;b=%"%c3%a9";d=@5;e=1.5;t=7"#),
        [(Some(5), Some(7))]
    );
    let fields = [("ratelimit-policy", r#""x";q=5;w=0;qu="cows";pk=5"#)];
    let readings = read_all(&fields);
    assert_eq!(
        (
            readings[0].window_s,
            readings[0].unit,
            readings[0].partition_key
        ),
        (None, None, None)
    );
}

#[test]
fn the_last_duplicate_wins() {
    assert_eq!(limit(r#""x";r=5;t=1;r=6;t=2"#), [(Some(6), Some(2))]);
    assert_eq!(limit(r#""x";r=5;r="six""#), []);
    assert_eq!(
        limit("limit=1, remaining=5, remaining=6, reset=1, reset=2"),
        [(Some(6), Some(2))]
    );
}

#[test]
fn a_dictionary_is_not_a_list() {
    assert_eq!(
        limit("limit=100, remaining=50, reset=30"),
        [(Some(50), Some(30))]
    );
    assert_eq!(limit("remaining=50,limit=100"), [(Some(50), None)]);
    assert_eq!(
        limit("limit=100, remaining=x, reset=30"),
        [(None, Some(30))]
    );
    assert_eq!(limit("reset=30"), []);
    // Whose parts come from two limiters is read as both.
    assert_eq!(
        limit(r#"limit=9, remaining=5, reset=3, "d";r=1;t=2"#).len(),
        2
    );
}

#[test]
fn names_may_be_tokens_and_have_escapes() {
    let fields = [
        ("ratelimit", r#"default;r=5, "a \"b\\";r=6, "a, b; c";r=7"#),
        (
            "ratelimit-policy",
            r#""a, b; c";q=70, "default";q=50, "a \"b\\";q=60"#,
        ),
    ];
    let readings = read_all(&fields);
    let names: Vec<_> = readings
        .iter()
        .map(|r| (r.name.as_deref(), r.limit))
        .collect();
    assert_eq!(
        names,
        [
            (Some("default"), Some(50)),
            (Some("a \"b\\"), Some(60)),
            (Some("a, b; c"), Some(70))
        ]
    );
}

#[test]
fn policies_of_one_name_are_joined_by_partition_or_order() {
    let fields = [
        (
            "ratelimit-policy",
            r#""d";q=1;pk=:AQ==:, "d";q=2;pk=:Ag==:, "d";q=3"#,
        ),
        ("ratelimit", r#""d";r=9;pk=:Ag==:, "d";r=8, "d";r=7"#),
    ];
    let readings = read_all(&fields);
    let joined: Vec<_> = readings.iter().map(|r| (r.limit, r.remaining)).collect();
    assert_eq!(
        joined,
        [(Some(2), Some(9)), (Some(1), Some(8)), (Some(3), Some(7))]
    );
}

#[test]
fn absurd_values_are_cut() {
    let largest = "999999999999999";
    assert_eq!(
        limit(&format!("\"d\";r={largest};t={largest}")),
        [(Some(MAX_INTEGER), Some(MAX_SPAN_S))]
    );
    let policy = format!("\"d\";q={largest};w={largest}");
    let fields = [("ratelimit-policy", policy.as_str())];
    assert_eq!(
        told(&read_all(&fields)[0]),
        (Some("d"), Some(MAX_INTEGER), Some(MAX_SPAN_S), None, None)
    );
    let many = vec!["\"d\";r=1"; 10_000].join(",");
    assert_eq!(limit(&many).len(), MAX_ITEMS);
}

fn written(dialect: Dialect, report: &Report<'_>) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    dialect.write_fields(report, &mut String::new(), |name, value| {
        fields.push((name, value.to_owned()));
    });
    fields
}

prop_compose! {
    fn a_rule()(
        name in "[ -~]{1,64}",
        quota in 0_u64..=MAX_INTEGER,
        window_us in prop::option::of(1_u64..=MAX_SPAN_S * SECOND_US),
        unit in prop::sample::select(vec![Unit::Requests, Unit::ContentBytes, Unit::ConcurrentRequests]),
        remaining in 0_u64..=MAX_INTEGER,
        left_us in prop::option::of(0_u64..=MAX_SPAN_S * SECOND_US),
        cost in prop::option::of(0_u64..=MAX_INTEGER),
    ) -> (String, u64, Option<u64>, Unit, u64, Option<u64>, Option<u64>) {
        (name, quota, window_us, unit, remaining, left_us, cost)
    }
}

/// What a reader can know of a rule that is told in a list.
fn listed<'a>(dialect: Dialect, policy: &PolicyItem<'a>, limit: &LimitItem<'a>) -> Reading<'a> {
    Reading {
        dialect,
        name: Some(policy.name.into()),
        limit: Some(policy.quota),
        window_s: policy.window_s,
        unit: Some(policy.unit),
        remaining: Some(limit.remaining),
        effective_window_us: limit.effective_window_s().map(|s| s * SECOND_US),
        cost: limit.cost.filter(|_| dialect == Dialect::IetfNext),
        partition_key: None,
    }
}

/// What a reader can know of the first rule where it is told in numbers.
fn numbered<'a>(dialect: Dialect, policy: &PolicyItem<'a>, limit: &LimitItem<'a>) -> Reading<'a> {
    let reset_us = match dialect {
        Dialect::LegacyEpoch => limit.effective_window_us.map(|us| {
            ((NOW_US + us).div_ceil(SECOND_US) * SECOND_US - NOW_US).min(MAX_SPAN_S * SECOND_US)
        }),
        _ => limit.effective_window_s().map(|s| s * SECOND_US),
    };
    let has_name = dialect == Dialect::Envoy && policy.window_s.is_some();
    let has_window = ![Dialect::LegacyEpoch, Dialect::LegacyDelta].contains(&dialect);
    Reading {
        name: has_name.then(|| policy.name.into()),
        window_s: policy.window_s.filter(|_| has_window),
        unit: Some(Unit::Requests),
        effective_window_us: reset_us,
        cost: None,
        ..listed(dialect, policy, limit)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn what_is_written_is_read_back(rules in prop::collection::vec(a_rule(), 1..5)) {
        let policies: Vec<_> = rules
            .iter()
            .map(|(name, quota, window_us, unit, ..)| PolicyItem {
                name, quota: *quota, window_s: window_us.map(|us| us.div_ceil(SECOND_US)), unit: *unit,
            })
            .collect();
        let limits: Vec<_> = rules
            .iter()
            .map(|(name, .., remaining, effective_window_us, cost)| LimitItem {
                name, remaining: *remaining, effective_window_us: *effective_window_us, cost: *cost,
            })
            .collect();
        let report = Report { policies: &policies, limits: &limits, now_us: NOW_US };
        for dialect in Dialect::words().filter_map(|word| word.parse::<Dialect>().ok()) {
            let fields = written(dialect, &report);
            let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let readings = read_all(&fields);
            match dialect {
                Dialect::None => prop_assert!(readings.is_empty()),
                Dialect::Ietf11 | Dialect::IetfNext => {
                    let told = policies.iter().zip(&limits);
                    let expected: Vec<_> = told.map(|(p, l)| listed(dialect, p, l)).collect();
                    prop_assert_eq!(readings, expected);
                }
                _ => {
                    // The reader of a list finds the first policy by its limit: be that unique.
                    let first = policies[0].quota;
                    prop_assume!(policies[1..].iter().all(|policy| policy.quota != first));
                    let mut expected = numbered(dialect, &policies[0], &limits[0]);
                    let is_marked = match dialect {
                        Dialect::LegacyEpoch => limits[0].effective_window_us.is_some(),
                        Dialect::Envoy => policies.iter().any(|policy| policy.window_s.is_some()),
                        _ => true,
                    };
                    if !is_marked {
                        expected.dialect = Dialect::LegacyDelta;
                    }
                    prop_assert_eq!(&readings[0], &expected);
                    let rest: Vec<_> = readings[1..].iter().map(|r| (r.limit, r.window_s)).collect();
                    let others = policies[1..].iter().filter(|policy| policy.window_s.is_some());
                    let others: Vec<_> = others.map(|p| (Some(p.quota), p.window_s)).collect();
                    let lists = ![Dialect::LegacyEpoch, Dialect::LegacyDelta].contains(&dialect);
                    prop_assert_eq!(rest, if lists { others } else { Vec::new() });
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_read_within_bounds(
        fields in prop::collection::vec((0_usize..12, prop::collection::vec(any::<u8>(), 0..48)), 0..12),
        now_us: u64,
    ) {
        let readings = read(now_us, |name| {
            let lines = fields.iter().filter(move |field| NAMES.get(field.0) == Some(&name));
            lines.map(|field| field.1.as_slice())
        });
        for reading in &readings {
            bounded(reading)?;
        }
    }

    #[test]
    fn any_pieces_are_read_within_bounds(
        fields in prop::collection::vec((0_usize..12, pieces()), 0..12), now_us: u64,
    ) {
        let readings = read(now_us, |name| {
            let lines = fields.iter().filter(move |field| NAMES.get(field.0) == Some(&name));
            lines.map(|field| field.1.as_bytes())
        });
        for reading in &readings {
            bounded(reading)?;
        }
    }
}

const NAMES: [&str; 11] = [
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-rate-limit-limit",
    "x-rate-limit-remaining",
    "x-rate-limit-reset",
];

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\"a\"",
        "b",
        ";r=5",
        ";t=9",
        ";q=7",
        ";w=60",
        "; a=2",
        ";pk=:AQ==:",
        "limit=5",
        "remaining=3",
        "reset=8",
        ", ",
        ",",
        "100",
        "999999999999999",
        "1800000000",
        "\"",
        "\\",
        ".5",
        "-",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn bounded(reading: &Reading<'_>) -> Result<(), TestCaseError> {
    let within = |value: Option<u64>, bound| value.is_none_or(|value| value <= bound);
    prop_assert!(within(reading.limit, MAX_INTEGER));
    prop_assert!(within(reading.remaining, MAX_INTEGER));
    prop_assert!(within(reading.cost, MAX_INTEGER));
    prop_assert!(within(reading.window_s, MAX_SPAN_S));
    prop_assert!(within(reading.effective_window_us, MAX_SPAN_S * SECOND_US));
    prop_assert!(reading.limit.is_some() || reading.remaining.is_some());
    Ok(())
}
