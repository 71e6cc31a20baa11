//! Field case F43, second half: an upstream's own limit fields are handled by a stated rule.

use jeton_wire::{
    merge::{Change, merge},
    ratelimit::{Dialect, LimitItem, PolicyItem, Report},
    read::{Reading, read},
};
use proptest::prelude::*;

const SECOND_US: u64 = 1_000_000;
const NOW_US: u64 = 1_800_000_000_000_000;

type Fields = Vec<(String, Vec<u8>)>;

fn fields(lines: &[(&str, &str)]) -> Fields {
    let field = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    lines.iter().map(field).collect()
}

fn lines<'a>(fields: &'a Fields, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let lines = fields.iter().filter(move |field| field.0 == name);
    lines.map(|field| field.1.as_slice())
}

/// The answer that goes on to the client.
fn merged(ours: &Fields, theirs: &Fields) -> Fields {
    let mut answer = theirs.clone();
    merge(
        NOW_US,
        |name| lines(ours, name),
        |name| lines(theirs, name),
        |change| match change {
            Change::Append(name, value) => answer.push((name.to_owned(), value.to_vec())),
            Change::Set(name, value) => {
                answer.retain(|field| field.0 != name);
                answer.push((name.to_owned(), value.to_vec()));
            }
            Change::Remove(name) => answer.retain(|field| field.0 != name),
        },
    );
    answer
}

#[track_caller]
fn check(theirs: &[(&str, &str)], ours: &[(&str, &str)], expected: &[(&str, &str)]) {
    assert_eq!(merged(&fields(ours), &fields(theirs)), fields(expected));
}

fn both(theirs: (&'static str, &'static str), ours: (&'static str, &'static str)) -> Vec<String> {
    let answer = merged(&fields(&[ours]), &fields(&[theirs]));
    let text = |field: &(String, Vec<u8>)| String::from_utf8(field.1.clone()).expect("text");
    answer.iter().map(text).collect()
}

fn read_all(fields: &Fields) -> Vec<Reading<'_>> {
    read(NOW_US, |name| lines(fields, name))
}

#[test]
fn without_fields_of_theirs_ours_are_appended() {
    let ours = [
        ("ratelimit-policy", r#""a";q=5;w=1"#),
        ("ratelimit", r#""a";r=4;t=1"#),
        ("x-ratelimit-limit", "5"),
        ("x-ratelimit-remaining", "4"),
        ("x-ratelimit-reset", "1800000001"),
    ];
    check(&[], &ours, &ours);
    check(
        &[("etag", "\"x\"")],
        &ours[..1],
        &[("etag", "\"x\""), ours[0]],
    );
    check(&ours, &[], &ours);
}

#[test]
fn f43_lists_of_both_stand_beside_each_other() {
    check(
        &[
            ("ratelimit-policy", r#""inner";q=10;w=60"#),
            ("ratelimit", r#""inner";r=3;t=9"#),
        ],
        &[
            (
                "ratelimit-policy",
                r#""everyone";q=100;w=5, "user";q=5;w=1"#,
            ),
            ("ratelimit", r#""everyone";r=99;t=1, "user";r=4;t=1"#),
        ],
        &[
            ("ratelimit-policy", r#""inner";q=10;w=60"#),
            ("ratelimit", r#""inner";r=3;t=9"#),
            (
                "ratelimit-policy",
                r#""everyone";q=100;w=5, "user";q=5;w=1"#,
            ),
            ("ratelimit", r#""everyone";r=99;t=1, "user";r=4;t=1"#),
        ],
    );
}

#[test]
fn a_name_of_theirs_is_told_again_only_if_tighter() {
    let inner = ("ratelimit", r#""a";r=3;t=9, "b";r=1"#);
    for (ours, told) in [
        (r#""a";r=2;t=1"#, Some(r#""a";r=2;t=1"#)),
        (r#""a";r=3;t=10"#, Some(r#""a";r=3;t=10"#)),
        (r#""a";r=3;t=9"#, None),
        (r#""a";r=4;t=99"#, None),
        (r#""a";r=4;t=99, "c";r=1;t=1"#, Some(r#""c";r=1;t=1"#)),
        (r#""b";r=1;t=1"#, Some(r#""b";r=1;t=1"#)),
        (
            r#""a";a=4;w=99, "c";a=1;w=1;c=1"#,
            Some(r#""c";a=1;w=1;c=1"#),
        ),
    ] {
        let expected: Vec<_> = [Some(inner.1), told].into_iter().flatten().collect();
        assert_eq!(both(inner, ("ratelimit", ours)), expected, "{ours}");
    }
    let inner = ("ratelimit-policy", r#""a";q=10;w=60"#);
    let ours = ("ratelimit-policy", r#""a";q=5;w=1, "b";q=6;w=1"#);
    assert_eq!(both(inner, ours), [inner.1, r#""b";q=6;w=1"#]);
    let inner = ("ratelimit-policy", "100;w=60");
    let ours = ("ratelimit-policy", "10;w=1, 100;w=60, 100;w=61");
    assert_eq!(both(inner, ours), [inner.1, "10;w=1, 100;w=61"]);
}

#[test]
fn a_list_and_a_dictionary_cannot_share_a_field() {
    let dictionary = |text| ("ratelimit", text);
    let list = ("ratelimit", r#""a";r=4;t=1"#);
    let looser = dictionary("limit=100, remaining=50, reset=30");
    let tighter = dictionary("limit=100, remaining=2, reset=30");
    assert_eq!(both(looser, list), [list.1]);
    assert_eq!(both(tighter, list), [tighter.1]);
    assert_eq!(both(list, tighter), [tighter.1]);
    assert_eq!(both(list, looser), [list.1]);
    assert_eq!(both(looser, tighter), [tighter.1]);
    assert_eq!(both(dictionary("limit=x"), list), ["limit=x"]);
}

#[test]
fn f43_single_numbers_are_those_of_the_tighter_side() {
    let set = |remaining, reset| {
        [
            ("x-ratelimit-limit", "100"),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset),
        ]
    };
    let ours = set("4", "1800000001");
    check(&set("50", "30"), &ours, &ours);
    for theirs in [set("3", "1"), set("4", "1"), set("4", "1800000001")] {
        check(&theirs, &ours, &theirs);
    }
    check(&set("4", "0"), &ours, &ours);
    // What nobody can compare is left alone.
    for theirs in [set("lots", "1"), set("", "")] {
        check(&theirs, &ours, &theirs);
    }
    check(&ours[..1], &ours, &ours[..1]);
}

#[test]
fn numbers_of_both_are_never_mixed() {
    let theirs = [
        ("x-ratelimit-limit", "100"),
        ("x-ratelimit-remaining", "50"),
        ("x-ratelimit-reset", "30"),
        ("ratelimit-remaining", "7"),
    ];
    let ours = [("x-ratelimit-limit", "4"), ("x-ratelimit-remaining", "1")];
    check(&theirs, &ours, &[theirs[3], ours[0], ours[1]]);
}

fn report_fields(dialect: Dialect, rules: &[(String, u64, u64)]) -> Fields {
    let policies: Vec<_> = rules
        .iter()
        .map(|(name, ..)| PolicyItem::window(name, 100, 60 * SECOND_US))
        .collect();
    let limits: Vec<LimitItem<'_>> = policies
        .iter()
        .zip(rules)
        .map(|(policy, (_, remaining, seconds))| policy.limit(*remaining, seconds * SECOND_US))
        .collect();
    let report = Report {
        policies: &policies,
        limits: &limits,
        now_us: NOW_US,
    };
    let mut fields = Vec::new();
    dialect.write_fields(&report, &mut String::new(), |name, value| {
        fields.push((name.to_owned(), value.as_bytes().to_vec()));
    });
    fields
}

fn rules() -> impl Strategy<Value = Vec<(String, u64, u64)>> {
    prop::collection::vec(("[abc]", 0_u64..=6, 0_u64..=3), 1..4)
}

fn dialect() -> impl Strategy<Value = Dialect> {
    let words: Vec<Dialect> = Dialect::words().map(|word| word.parse().unwrap()).collect();
    prop::sample::select(words)
}

/// The least that can be sent now, by the fields whose names begin so.
fn least(fields: &Fields, prefix: &str) -> Option<u64> {
    let group: Fields = fields
        .iter()
        .filter(|field| field.0.starts_with(prefix))
        .cloned()
        .collect();
    read_all(&group)
        .iter()
        .filter_map(|reading| reading.remaining)
        .min()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn an_answer_is_never_made_more_permissive(
        ours in rules(), theirs in rules(), our_dialect in dialect(), their_dialect in dialect(),
    ) {
        let ours = report_fields(our_dialect, &ours);
        let theirs = report_fields(their_dialect, &theirs);
        let answer = merged(&ours, &theirs);
        for prefix in ["ratelimit", "x-ratelimit"] {
            let (our_least, their_least) = (least(&ours, prefix), least(&theirs, prefix));
            let told = least(&answer, prefix);
            let expected = our_least.into_iter().chain(their_least).min();
            prop_assert_eq!(told, expected);
        }
        // The last of a list's items of one name is no looser than theirs.
        let list = |fields: &Fields| -> Fields {
            fields.iter().filter(|field| field.0 == "ratelimit").cloned().collect()
        };
        let (theirs, merged) = (list(&theirs), list(&answer));
        let (before, after) = (read_all(&theirs), read_all(&merged));
        for their in before.iter().filter(|reading| reading.name.is_some()) {
            let last = |readings: &[Reading<'_>]| {
                let last = readings.iter().rfind(|reading| reading.name == their.name);
                last.and_then(|reading| reading.remaining)
            };
            prop_assert!(last(&after) <= last(&before), "{:?}", answer);
        }
        // One number stays one number.
        for (name, value) in &answer {
            if name.starts_with("x-ratelimit") || name == "ratelimit-remaining" {
                prop_assert_eq!(answer.iter().filter(|field| field.0 == *name).count(), 1);
                prop_assert!(!value.is_empty());
            }
        }
    }

    #[test]
    fn merging_twice_changes_nothing_more(
        ours in rules(), theirs in rules(), our_dialect in dialect(), their_dialect in dialect(),
    ) {
        let ours = report_fields(our_dialect, &ours);
        let once = merged(&ours, &report_fields(their_dialect, &theirs));
        let names = |fields: &Fields| read_all(fields).iter().filter_map(|r| r.remaining).min();
        prop_assert_eq!(names(&merged(&ours, &once)), names(&once));
    }

    #[test]
    fn any_fields_of_theirs_are_merged_with(
        theirs in prop::collection::vec((0_usize..8, "[ -~]{0,24}"), 0..6),
        ours in rules(), our_dialect in dialect(),
    ) {
        let names = [
            "ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining",
            "ratelimit-reset", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
        ];
        let theirs: Fields = theirs
            .iter()
            .map(|(name, value)| (names[*name].to_owned(), value.clone().into_bytes()))
            .collect();
        let ours = report_fields(our_dialect, &ours);
        let answer = merged(&ours, &theirs);
        let told = read_all(&theirs).iter().filter_map(|reading| reading.remaining).min();
        let least = read_all(&answer).iter().filter_map(|reading| reading.remaining).min();
        prop_assert!(told.is_none() || least <= told, "{:?} {:?}", theirs, answer);
    }
}
