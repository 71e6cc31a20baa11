//! What any report becomes in a dialect is read back as far as the dialect tells it.
#![no_main]
use jeton_wire::ratelimit::{
    Dialect, LimitItem, MAX_INTEGER, MAX_SPAN_S, PolicyItem, Report, Unit, is_policy_name,
};
use jeton_wire::read::read;
use libfuzzer_sys::fuzz_target;

type Rule = (String, u64, Option<u64>, u64, Option<u64>, Option<u64>);

fuzz_target!(|input: (u8, Vec<Rule>)| {
    let (dialect, rules) = input;
    let words: Vec<_> = Dialect::words().collect();
    let dialect: Dialect = words[usize::from(dialect) % words.len()].parse().unwrap();
    let rules = &rules[..rules.len().min(8)];
    let policies: Vec<_> = rules
        .iter()
        .map(|(name, quota, window_s, ..)| PolicyItem {
            name, quota: *quota, window_s: *window_s, unit: Unit::Requests,
        })
        .collect();
    let limits: Vec<_> = rules
        .iter()
        .map(|(name, .., remaining, effective_window_us, cost)| LimitItem {
            name, remaining: *remaining, effective_window_us: *effective_window_us, cost: *cost,
        })
        .collect();
    let report = Report { policies: &policies, limits: &limits, now_us: 1_800_000_000_000_000 };
    let mut fields = Vec::new();
    dialect.write_fields(&report, &mut String::new(), |name, value| {
        fields.push((name, value.to_owned()));
    });
    let readings = read(report.now_us, |name| {
        let lines = fields.iter().filter(move |field| field.0 == name);
        lines.map(|field| field.1.as_bytes())
    });
    let told = match dialect {
        Dialect::None => 0,
        Dialect::Ietf11 | Dialect::IetfNext => rules.len(),
        _ => rules.len().min(1),
    };
    assert!(readings.len() >= told);
    for (reading, (policy, limit)) in readings.iter().zip(policies.iter().zip(&limits)).take(told) {
        assert_eq!(reading.remaining, Some(limit.remaining.min(MAX_INTEGER)));
        if matches!(dialect, Dialect::Ietf11 | Dialect::IetfNext) && is_policy_name(policy.name) {
            assert_eq!(reading.name.as_deref(), Some(policy.name));
            let span_us = limit.effective_window_s().map(|s| s.min(MAX_SPAN_S) * 1_000_000);
            assert_eq!(reading.effective_window_us, span_us);
        }
    }
});
