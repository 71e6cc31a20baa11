//! A policy file of any content loads or is refused; what is refused can be rendered.
#![no_main]
use jeton_policy::{NoReferences, Policy, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Policy::load(&Source::new("jeton.toml", text), &NoReferences) {
        Ok(loaded) => drop(loaded.report.to_string()),
        Err(report) => assert!(!report.to_string().is_empty()),
    }
});
