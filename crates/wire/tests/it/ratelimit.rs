//! The limit fields: field cases F5 and F44, read back by a structured-field parser; laws.

use jeton_wire::{
    ratelimit::{
        Dialect, LimitItem, MAX_INTEGER, PolicyItem, Report, Unit, is_policy_name, write_limits,
        write_policies,
    },
    retry_after::{ceil_s, retry_after_s},
};
use proptest::prelude::*;
use sfv::{BareItem, Item, List, ListEntry, Parser};

const SECOND_US: u64 = 1_000_000;

fn items(value: &str) -> Vec<Item> {
    let list: List = Parser::new(value).parse().expect("a structured list");
    let item = |entry| match entry {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(_) => panic!("no inner lists in {value}"),
    };
    list.into_iter().map(item).collect()
}

fn name(item: &Item) -> &str {
    item.bare_item.as_string().expect("a String").as_str()
}

fn integer(item: &Item, key: &str) -> Option<i64> {
    item.params
        .get(key)
        .and_then(BareItem::as_integer)
        .map(i64::from)
}

fn report<'a>(policies: &'a [PolicyItem<'a>], limits: &'a [LimitItem<'a>]) -> Report<'a> {
    Report {
        policies,
        limits,
        now_us: 1_800_000_000_000_000,
    }
}

fn policies(items: &[PolicyItem<'_>]) -> String {
    let mut out = String::new();
    write_policies(items, &mut out);
    out
}

fn limits(items: &[LimitItem<'_>]) -> String {
    let mut out = String::new();
    write_limits(items, &mut out);
    out
}

#[test]
fn f5_sub_second_waits_are_one_whole_second() {
    // GCRA(1, 5/s), 50 ms after the first: 150 ms to wait.
    assert_eq!(retry_after_s(150_000).to_string(), "1");
    for index in 0..1000 {
        let told = retry_after_s(index * 999 + 1).to_string();
        assert_eq!(told, "1");
        assert!(told.bytes().all(|byte| byte.is_ascii_digit()));
    }
}

#[test]
fn f44_several_policies_stand_in_one_list_in_order() {
    let rules = [
        PolicyItem::window("burst", 10, SECOND_US),
        PolicyItem::window("day", 1000, 86_400 * SECOND_US),
    ];
    let left = [
        rules[0].limit(9, 400_000),
        rules[1].limit(999, 86_399 * SECOND_US),
    ];
    let report = report(&rules, &left);
    let mut fields = Vec::new();
    Dialect::Ietf11.write_fields(&report, &mut String::new(), |name, value| {
        fields.push((name, value.to_owned()));
    });

    assert_eq!(fields[0].0, "ratelimit-policy");
    let told = items(&fields[0].1);
    assert_eq!(told.iter().map(name).collect::<Vec<_>>(), ["burst", "day"]);
    let quota = |item: &Item| (integer(item, "q"), integer(item, "w"));
    assert_eq!(quota(&told[0]), (Some(10), Some(1)));
    assert_eq!(quota(&told[1]), (Some(1000), Some(86_400)));

    assert_eq!(fields[1].0, "ratelimit");
    let told = items(&fields[1].1);
    assert_eq!(told.iter().map(name).collect::<Vec<_>>(), ["burst", "day"]);
    let left = |item: &Item| (integer(item, "r"), integer(item, "t"));
    assert_eq!(left(&told[0]), (Some(9), Some(1)));
    assert_eq!(left(&told[1]), (Some(999), Some(86_399)));
    assert_eq!(fields.len(), 2);
}

#[test]
fn a_unit_is_written_unless_it_is_the_default() {
    let item = |unit| PolicyItem {
        name: "p",
        quota: 65_535,
        window_s: Some(10),
        unit,
    };
    assert_eq!(policies(&[item(Unit::Requests)]), r#""p";q=65535;w=10"#);
    assert_eq!(
        policies(&[item(Unit::ContentBytes)]),
        r#""p";q=65535;qu="content-bytes";w=10"#
    );
    let slots = PolicyItem {
        window_s: None,
        ..item(Unit::ConcurrentRequests)
    };
    assert_eq!(
        policies(&[slots]),
        r#""p";q=65535;qu="concurrent-requests""#
    );
    // The draft forbids a window of zero.
    let instant = PolicyItem {
        window_s: Some(0),
        ..item(Unit::Requests)
    };
    assert_eq!(policies(&[instant]), r#""p";q=65535;w=1"#);
}

#[test]
fn optional_parts_are_left_out() {
    let item = LimitItem {
        name: "p",
        remaining: 3,
        effective_window_us: None,
        cost: None,
    };
    assert_eq!(limits(&[item]), r#""p";r=3"#);
    assert_eq!(policies(&[]), "");
    assert_eq!(limits(&[]), "");
}

#[test]
fn windows_are_told_in_whole_seconds() {
    for (window_us, window_s) in [(1000, 1), (SECOND_US, 1), (1_500_000, 2), (0, 1)] {
        assert_eq!(
            PolicyItem::window("w", 5, window_us).window_s,
            Some(window_s)
        );
    }
    let ten_years = 3650 * 86_400;
    assert_eq!(
        PolicyItem::window("w", 5, ten_years * SECOND_US).window_s,
        Some(ten_years)
    );
}

#[test]
fn without_an_answer_of_the_store_nothing_is_invented() {
    let rule = [PolicyItem::window("a", 1, 1)];
    let mut names = Vec::new();
    let report = report(&rule, &[]);
    Dialect::Ietf11.write_fields(&report, &mut String::new(), |name, _| names.push(name));
    assert_eq!(names, ["ratelimit-policy"]);
}

#[test]
fn the_dialect_none_writes_nothing() {
    let rule = [PolicyItem::window("a", 1, 1)];
    let left = [rule[0].limit(1, 1)];
    let report = report(&rule, &left);
    Dialect::None.write_fields(&report, &mut String::new(), |name, _| {
        panic!("wrote {name}")
    });
    assert_eq!(Dialect::None.field_names().count(), 0);
    assert_eq!(
        Dialect::Ietf11.field_names().collect::<Vec<_>>(),
        ["ratelimit-policy", "ratelimit"]
    );
}

#[test]
fn names_are_printable_ascii() {
    for good in ["a", "per user", "~!#;=,", &"x".repeat(64)] {
        assert!(is_policy_name(good), "{good:?}");
    }
    for bad in [
        "",
        "a\"b",
        "a\\b",
        "a\tb",
        "\u{e9}",
        "\u{7f}",
        &"x".repeat(65),
    ] {
        assert!(!is_policy_name(bad), "{bad:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn f44_any_items_parse_as_a_structured_list(
        rules in prop::collection::vec((any::<String>(), any::<u64>(), any::<Option<u64>>()), 1..5),
    ) {
        let told: Vec<_> = rules
            .iter()
            .map(|(name, quota, window_s)| PolicyItem {
                name, quota: *quota, window_s: *window_s, unit: Unit::ContentBytes,
            })
            .collect();
        let left: Vec<_> = rules
            .iter()
            .map(|(name, remaining, window_s)| LimitItem {
                name, remaining: *remaining, effective_window_us: *window_s, cost: None,
            })
            .collect();
        let (told, left) = (items(&policies(&told)), items(&limits(&left)));
        prop_assert_eq!(told.len(), rules.len());
        for (((rule, quota, window_s), told), left) in rules.iter().zip(&told).zip(&left) {
            let clamped = |value: u64| i64::try_from(value.min(MAX_INTEGER)).ok();
            prop_assert_eq!(integer(told, "q"), clamped(*quota));
            prop_assert_eq!(integer(told, "w"), window_s.and_then(|w| clamped(w.max(1))));
            prop_assert_eq!(integer(left, "r"), clamped(*quota));
            prop_assert_eq!(integer(left, "t"), window_s.map(ceil_s).and_then(clamped));
            if is_policy_name(rule) {
                prop_assert_eq!(name(told), rule);
            }
        }
    }

    #[test]
    fn printable_names_survive(rule in "[ -~]{0,64}") {
        let value = limits(&[LimitItem { name: &rule, remaining: 1, effective_window_us: None,
        cost: None }]);
        let told = items(&value);
        prop_assert_eq!(name(&told[0]), rule);
    }

    #[test]
    fn a_bucket_is_never_told_smaller_than_its_burst_nor_faster_than_its_rate(
        units in 1_u64..=1 << 22, per_us in 1_u64..=1 << 48, burst in 1_u64..=1 << 30,
    ) {
        let told = PolicyItem::bucket("b", units, per_us, burst);
        let window_s = told.window_s.unwrap_or_default();
        prop_assume!(window_s < MAX_INTEGER);
        prop_assert!(told.quota >= burst);
        // q units or fewer come in w seconds, unless less than one does.
        let inflow = u128::from(units) * u128::from(window_s) * 1_000_000;
        prop_assert!(told.quota == 1 || u128::from(told.quota) * u128::from(per_us) <= inflow);
        // The bucket fills within w, and not within one second less.
        let fill_us = (u128::from(burst) * u128::from(per_us)).div_ceil(u128::from(units));
        prop_assert!(fill_us <= u128::from(window_s) * 1_000_000);
        prop_assert!(window_s == 1 || fill_us > u128::from(window_s - 1) * 1_000_000);
    }

    #[test]
    fn retry_after_is_enough_and_not_before_the_effective_window(wait_us: u64) {
        let told_s = retry_after_s(wait_us);
        prop_assert!(told_s >= 1);
        prop_assert!(u128::from(told_s) * 1_000_000 >= u128::from(wait_us));
        prop_assert!(told_s == 1 || (told_s - 1) * SECOND_US < wait_us);
        prop_assert!(told_s >= ceil_s(wait_us));
    }

    #[test]
    fn remaining_is_never_above_the_quota(quota: u64, remaining: u64, window_us: u64) {
        let rule = PolicyItem::window("w", quota, window_us);
        prop_assert!(rule.limit(remaining, window_us).remaining <= quota);
    }
}
