//! The normal form of a path is its own normal form, and so is every other reading of it.
#![no_main]
use jeton_wire::path::{fold_case, normal_form, other_readings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|path: &[u8]| {
    let once = normal_form(path).into_owned();
    assert_eq!(normal_form(once.as_bytes()), once);
    let folded = fold_case(&once).into_owned();
    assert_eq!(fold_case(&folded), folded);
    let others = other_readings(path);
    assert!(others.len() <= 3);
    for other in others {
        assert_eq!(normal_form(other.as_bytes()), other);
    }
});
