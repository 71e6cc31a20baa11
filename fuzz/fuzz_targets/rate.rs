//! A rate that is read prints as one that reads the same.
#![no_main]
use jeton_policy::{parse_duration, parse_rate, parse_size};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(pace) = parse_rate(text) {
        assert_eq!(parse_rate(&pace.to_string()).ok(), Some(pace));
    }
    let _ = (parse_duration(text), parse_size(text));
});
