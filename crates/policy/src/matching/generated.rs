//! Matches and requests made at random, from few words, so that they often have to do with each
//! other.

use proptest::prelude::*;

use super::Match;
use crate::testing::Sample;
use crate::{NoReferences, Policy, Source};

#[allow(clippy::unwrap_used)]
pub(super) fn of(words: &str) -> Match {
    let matches = match words {
        "" => String::new(),
        words => format!("match = {{ {words} }}\n"),
    };
    let text = format!("[[rule]]\nname = \"a\"\nlimit = \"deny\"\n{matches}");
    let loaded = Policy::load(&Source::new("t", text), &NoReferences).unwrap();
    loaded.policy.rules()[0].rule().matches.clone()
}

/// Conditions from few words, so that two of them often speak of the same requests.
pub(super) fn conditions() -> impl Strategy<Value = String> {
    let of = |key: &'static str, values: &'static [&'static str]| {
        prop::option::of(prop::sample::select(values))
            .prop_map(move |value| value.map(|value| format!("{key} = {value}")))
    };
    let parts = &[
        "\"header:a\"",
        "\"header:cookie\"",
        "\"cookie:a\"",
        "[\"header:a\", \"cookie:a\"]",
    ];
    (
        of(
            "method",
            &["\"GET\"", "\"HEAD\"", "[\"GET\", \"POST\"]", "\"CONNECT\""],
        ),
        of(
            "path",
            &[
                "\"/a\"",
                "\"/{x}\"",
                "\"/{x..}\"",
                "\"/a\"",
                "\"/a/{x..}\"",
                "[\"/a/{x}\", \"/A\"]",
            ],
        ),
        of("match_case", &["true", "false"]),
        of("host", &["\"a\"", "[\"a\", \"b\"]"]),
        of("with", parts),
        of("without", parts),
        of("header", &["{ a = \"1\" }", "{ a = \"1\", b = \"1\" }"]),
    )
        .prop_map(|(method, path, case, host, with, without, header)| {
            let case = case.filter(|_| path.is_some());
            let all = [method, path, case, host, with, without, header];
            all.into_iter().flatten().collect::<Vec<_>>().join(", ")
        })
        .prop_filter("no part is both asked for and ruled out", |words| {
            let text = format!("[[rule]]\nname = \"a\"\nlimit = \"deny\"\nmatch = {{ {words} }}\n");
            words.is_empty() || Policy::load(&Source::new("t", text), &NoReferences).is_ok()
        })
}

pub(super) fn requests() -> impl Strategy<Value = Sample> {
    let field = prop::sample::select(vec![
        ("a", "1"),
        ("a", "2"),
        ("b", "1"),
        ("cookie", "a=1"),
        ("cookie", "b=1"),
    ]);
    (
        prop::sample::select(vec!["GET", "HEAD", "POST", "CONNECT"]),
        prop::option::of(prop::sample::select(vec![
            "/", "/a", "/A", "/a/b", "/A/b/c", "*",
        ])),
        prop::sample::select(vec!["a", "b", "c"]),
        prop::collection::vec(field, 0..4),
    )
        .prop_map(|(method, path, host, fields)| {
            let sample = Sample {
                method: Some(method.to_owned()),
                // As RFC 9110 has it.
                path: path.filter(|_| method != "CONNECT").map(str::to_owned),
                host: Some(host.to_owned()),
                ..Sample::default()
            };
            fields
                .iter()
                .fold(sample, |sample, (name, value)| sample.header(name, value))
        })
}
