//! Whatever stands in a file, reading it ends with an answer.

use jeton_policy::{Policy, Severity, Source};
use proptest::prelude::*;

use crate::common::References;

fn read(text: &str) {
    let loaded = Policy::load(&Source::new("jeton.toml", text), &References::sample());
    if loaded.is_ok() {
        let mistakes = crate::schema::mistakes(text);
        assert!(mistakes.is_empty(), "{text}\n{mistakes:?}");
    }
    if let Err(report) = loaded {
        assert!(report.errors() > 0);
        let shown = report.to_string();
        for found in &report {
            let warns = found.severity == Severity::Warning;
            assert!(warns || !found.fix.is_empty(), "no fix:\n{found}");
            assert!(found.line >= 1 && found.column >= 1 && found.length >= 1);
            assert!(shown.contains(&format!("{}:{}:{}", found.file, found.line, found.column)));
        }
    }
}

/// Words that get a text past the first checks.
const WORDS: &[&str] = &[
    "[[rule]]\n",
    "[proxy]\n",
    "[store]\n",
    "[client_ip]\n",
    "[answer]\n",
    "[lists]\n",
    "[api]\n",
    "name = ",
    "key = ",
    "algorithm = ",
    "limit = ",
    "window = ",
    "rate = ",
    "burst = ",
    "match = { ",
    "path = ",
    "header = ",
    "with = ",
    "replaces = ",
    "missing = ",
    "trusted = ",
    "hops = ",
    "listen = ",
    "upstream = ",
    "exempt = ",
    "mode = ",
    "plan = ",
    "plans = { pro = ",
    "count = { status = ",
    "cost = ",
    "cost = { response = ",
    "estimate = ",
    "trial = { ",
    "max_debt = ",
    "hold_wait = ",
    "on_deny = ",
    "on_failure = ",
    "lease = ",
    "token = ",
    "admin_token = ",
    "gateways = ",
    "\"header:x-plan\"",
    "\"concurrency\"",
    "\"4xx\"",
    "\"charge\"",
    "\"api\"",
    "[\"client-ip\"]",
    "\"token-bucket\"",
    "\"sliding-log\"",
    "\"20/s\"",
    "\"1m\"",
    "\"x-forwarded-for\"",
    "5",
    "0",
    "-1",
    "1.5",
    "true",
    "\"deny\"",
    "{ env = \"SECRET\" }",
    "{ file = \"x\" }",
    " }",
    "[",
    "]",
    ", ",
    "\n",
    "\"/a/{x..}\"",
    "\"é\u{202e}\"",
    "\"\\u0000\"",
];

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS);
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text(text in "(?s).{0,200}") {
        read(&text);
    }

    #[test]
    fn any_bytes_that_are_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_order_of_words(text in words()) {
        read(&text);
    }

    #[test]
    fn any_value_of_any_setting(
        key in prop::sample::select(vec![
            "name", "key", "missing", "algorithm", "limit", "window", "anchor", "rate", "burst",
            "mode", "replaces", "secret_key", "match", "match.path", "match.host", "match.method",
            "match.with", "match.header", "match.match_case", "plan", "plans", "plans.a", "plans.a.rate",
            "plans.a.limit", "count", "count.status", "cost", "cost.response", "cost.estimate",
            "trial", "trial.burst", "trial.rate", "max_debt", "hold_wait", "on_deny", "on_failure",
            "on_failure.local", "lease",
        ]),
        value in prop::sample::select(vec![
            "0", "1", "-1", "1.5", "nan", "inf", "true", "\"\"", "\"x\"", "[]", "[\"x\"]", "{}",
            "[[]]", "[{}]", "2026-11-30", "{ env = \"SECRET\" }", "\"0/0\"", "\"1/s\"",
            "9223372036854775807", "\"deny\"", "\"1us\"", "{ x-a = 1 }", "\"path\"", "\"/\"", "401",
            "[401, \"5xx\"]", "\"header:x-a\"", "\"trailer:x-a\"", "\"keep\"", "\"allow\"",
            "{ rate = \"1/s\" }", "{ local = 0.5 }", "{ local = 1e400 }", "{ status = \"4xx\" }", "{ response = \"header:x\", estimate = 1 }",
        ]),
    ) {
        read(&format!("[[rule]]\n{key} = {value}\n"));
        read(&format!("[[rule]]\nname = \"a\"\nkey = \"path\"\nalgorithm = \"gcra\"\n{key} = {value}\n"));
        let bucket = "name = \"a\"\nkey = \"path\"\nalgorithm = \"gcra\"\nrate = \"9/s\"";
        let plan = "plan = \"query:plan\"\nplans.b = \"deny\"";
        read(&format!("[[rule]]\n{bucket}\n{key} = {value}\n"));
        read(&format!("[[rule]]\n{bucket}\n{plan}\n{key} = {value}\n"));
        let concurrency = bucket.replace("gcra", "concurrency").replace("rate = \"9/s\"", "limit = 9\nlease = \"9s\"");
        read(&format!("[[rule]]\n{concurrency}\n{key} = {value}\n"));
    }
}
