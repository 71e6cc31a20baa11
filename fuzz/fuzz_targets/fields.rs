//! Limit fields of any bytes are read within their bounds.
#![no_main]
use jeton_wire::ratelimit::{MAX_INTEGER, MAX_SPAN_S};
use jeton_wire::read::read;
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 11] = [
    "ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset",
    "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "x-rate-limit-limit",
    "x-rate-limit-remaining", "x-rate-limit-reset",
];

fuzz_target!(|input: (u64, Vec<(u8, Vec<u8>)>)| {
    let (now_us, fields) = input;
    let readings = read(now_us, |name| {
        let named = |index: u8| NAMES[usize::from(index) % NAMES.len()];
        let lines = fields.iter().filter(move |field| named(field.0) == name);
        lines.map(|field| field.1.as_slice())
    });
    for reading in readings {
        let within = |value: Option<u64>, most| assert!(value.is_none_or(|value| value <= most));
        within(reading.limit, MAX_INTEGER);
        within(reading.remaining, MAX_INTEGER);
        within(reading.cost, MAX_INTEGER);
        within(reading.window_s, MAX_SPAN_S);
        within(reading.effective_window_us, MAX_SPAN_S * 1_000_000);
        assert!(reading.limit.is_some() || reading.remaining.is_some());
    }
});
