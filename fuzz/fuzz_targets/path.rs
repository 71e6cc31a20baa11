//! The normal form of a path is its own normal form.
#![no_main]
use jeton_wire::path::{fold_case, normal_form};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|path: &[u8]| {
    let once = normal_form(path).into_owned();
    assert_eq!(normal_form(once.as_bytes()), once);
    let folded = fold_case(&once).into_owned();
    assert_eq!(fold_case(&folded), folded);
});
