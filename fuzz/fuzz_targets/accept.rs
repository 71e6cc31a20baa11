//! An `Accept` of any bytes chooses a format.
#![no_main]
use jeton_wire::problem::{Format, Problem};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|lines: Vec<Vec<u8>>| {
    let format = Format::from_accept(lines.iter().map(Vec::as_slice));
    let body = Problem::quota_exceeded(&["a rule"], Some(1)).body(format);
    assert!(!body.is_empty());
});
