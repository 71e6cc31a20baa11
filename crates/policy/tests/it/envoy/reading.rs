//! Scalars, anchors and merge keys, as the reference service reads them.

use jeton_policy::{Metadata, Unit};

use super::{RLS, load, try_load};

/// Requests and unit of the limits, in the order of the file.
fn limits(yaml: &str) -> Vec<Option<(u32, Unit)>> {
    let policy = load(yaml);
    policy
        .descriptors()
        .limits()
        .iter()
        .map(|limit| limit.per)
        .collect()
}

fn one(limit: &str) -> Option<(u32, Unit)> {
    limits(&format!(
        "domain: d\ndescriptors: [{{ key: k, rate_limit: {limit} }}]\n"
    ))[0]
}

#[test]
fn units_are_read_in_any_case_and_weeks_are_units() {
    for unit in Unit::ALL {
        for word in [unit.word().to_owned(), unit.word().to_uppercase()] {
            let limit = format!("{{ unit: {word}, requests_per_unit: 7 }}");
            assert_eq!(one(&limit), Some((7, unit)), "{word}");
        }
    }
    let hours = Unit::ALL.map(|unit| unit.span().as_micros() / 3_600_000_000);
    assert_eq!(hours, [0, 0, 1, 24, 720, 8_760, 168]);
}

#[test]
fn numbers_have_the_forms_of_yaml() {
    for (written, number) in [
        ("1_000", 1_000),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("+5", 5),
    ] {
        let limit = format!("{{ unit: day, requests_per_unit: {written} }}");
        assert_eq!(one(&limit), Some((number, Unit::Day)), "{written}");
    }
    // None at all is none at all: nothing passes.
    assert_eq!(one("{ unit: day }"), Some((0, Unit::Day)));
    assert_eq!(
        one("{ unit: day, requests_per_unit: ~ }"),
        Some((0, Unit::Day))
    );
    assert_eq!(one("{ unlimited: yes, unit: '' }"), None);
}

#[test]
fn nothing_is_nothing_wherever_it_stands() {
    let policy = load(
        "domain: d\ndescriptors:\n  - key: k\n    value: null\n    shadow_mode:\n    metadata: ~\n    \
         descriptors:\n    rate_limit: { unit: day, requests_per_unit: 1, replaces: , name: }\n",
    );
    let [limit] = policy.descriptors().limits() else {
        panic!()
    };
    assert_eq!((&limit.name, &limit.metadata), (&None, &None));
    assert!(try_load(RLS, &[("a.yaml", "domain: d\ndescriptors:\n")]).is_ok());
    assert!(try_load(RLS, &[("a.yaml", "domain: d\n")]).is_ok());
    assert!(try_load(RLS, &[]).is_ok());
}

#[test]
fn anchors_and_merge_keys_are_carried_out() {
    let written = limits(
        "domain: d\ndescriptors:\n  - key: a\n    rate_limit: &base { unit: hour, requests_per_unit: 5 }\n  \
         - key: b\n    rate_limit: *base\n  - key: c\n    rate_limit: { <<: *base, requests_per_unit: 9 }\n  \
         - key: e\n    rate_limit: { unit: day, <<: [*base] }\n",
    );
    let per = |requests, unit| Some((requests, unit));
    let wanted = [
        per(5, Unit::Hour),
        per(5, Unit::Hour),
        per(9, Unit::Hour),
        per(5, Unit::Day),
    ];
    assert_eq!(written, wanted);
}

#[test]
fn metadata_keeps_its_types() {
    let policy = load(
        "domain: d\ndescriptors:\n  - key: k\n    metadata: { plan: gold, n: 3, half: 0.5, on: [true, '3', ~] }\n    \
         rate_limit: { unit: day, requests_per_unit: 1 }\n",
    );
    let text = |text: &str| Metadata::Text(text.to_owned());
    let list = vec![Metadata::Flag(true), text("3"), Metadata::Null];
    let wanted = [
        ("plan", text("gold")),
        ("n", Metadata::Number(3.0)),
        ("half", Metadata::Number(0.5)),
        ("on", Metadata::List(list)),
    ];
    let wanted = wanted.map(|(name, value)| (name.to_owned(), value));
    let limit = &policy.descriptors().limits()[0];
    assert_eq!(limit.metadata, Some(Metadata::Map(wanted.into())));
}

#[test]
fn a_mark_of_the_byte_order_and_other_ends_of_lines_are_nothing() {
    for text in [
        "\u{feff}domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 3 } }]\n",
        "domain: d\r\ndescriptors:\r\n  - key: k\r\n    rate_limit: { unit: day, requests_per_unit: 3 }\r\n",
        "--- # a comment\ndomain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 3 } }]\n...\n",
        "%YAML 1.2\n---\ndomain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 3 } }]\n",
    ] {
        assert_eq!(limits(text), [Some((3, Unit::Day))], "{text:?}");
    }
    // A place is told beyond it as well.
    let said = super::refused(RLS, &[("a.yaml", "\u{feff}domain: d\nx: 1\n")]);
    assert!(said.contains("a.yaml:2:1"), "{said}");
}
