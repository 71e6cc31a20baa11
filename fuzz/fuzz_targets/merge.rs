//! Limit fields of any upstream and ours: what can be sent now never grows, lists never shrink.
#![no_main]
use jeton_wire::merge::{Change, merge};
use jeton_wire::ratelimit::{Dialect, PolicyItem, Report};
use jeton_wire::read::read;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 8] = [
    "ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset",
    "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
];

type Fields = Vec<(&'static str, Vec<u8>)>;

fn lines<'a>(fields: &'a Fields, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    let lines = fields.iter().filter(move |field| field.0 == name);
    lines.map(|field| field.1.as_slice())
}

fn least(fields: &Fields) -> Option<u64> {
    let readings = read(1_800_000_000_000_000, |name| lines(fields, name));
    readings.iter().filter_map(|reading| reading.remaining).min()
}

fuzz_target!(|input: (u8, u64, u64, Vec<(u8, Vec<u8>)>)| {
    let (dialect, remaining, left_us, theirs) = input;
    let words: Vec<_> = Dialect::words().collect();
    let dialect: Dialect = words[usize::from(dialect) % words.len()].parse().unwrap();
    let policy = PolicyItem::window("a", 1000, 60_000_000);
    let report = Report {
        policies: &[policy],
        limits: &[policy.limit(remaining, left_us)],
        now_us: 1_800_000_000_000_000,
    };
    let mut ours = Fields::new();
    dialect.write_fields(&report, &mut String::new(), |name, value| {
        ours.push((name, value.as_bytes().to_vec()));
    });
    let theirs: Fields = theirs
        .into_iter()
        .map(|(name, value)| (NAMES[usize::from(name) % NAMES.len()], value))
        .collect();
    let mut answer = theirs.clone();
    merge(
        report.now_us,
        |name| lines(&ours, name),
        |name| lines(&theirs, name),
        |change| match change {
            Change::Append(name, value) => answer.push((name, value.to_vec())),
            Change::Set(name, value) => {
                answer.retain(|field| field.0 != name);
                answer.push((name, value.to_vec()));
            }
            Change::Remove(name) => answer.retain(|field| field.0 != name),
        },
    );
    let before = least(&theirs);
    assert!(before.is_none() || least(&answer) <= before);
    assert!(lines(&answer, "ratelimit-policy").count() >= lines(&theirs, "ratelimit-policy").count());
});
