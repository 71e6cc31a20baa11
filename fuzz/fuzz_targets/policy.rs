//! A policy file of any content loads or is refused; what is refused can be rendered, and what
//! loads has words for each rule and an answer for a request, the same each time.
#![no_main]
use std::net::{IpAddr, Ipv4Addr};

use jeton_core::Micros;
use jeton_policy::{Buffers, Facts, NoReferences, Orders, Policy, PolicyTable, Source};
use libfuzzer_sys::fuzz_target;

/// A request that says the same whatever it is asked.
struct Same;

impl Facts for Same {
    fn client_ip(&self) -> Option<IpAddr> {
        Some(Ipv4Addr::LOCALHOST.into())
    }

    fn method(&self) -> Option<&str> {
        Some("POST")
    }

    fn host(&self) -> Option<&str> {
        Some("api.example")
    }

    fn path(&self) -> Option<&str> {
        Some("/login")
    }

    fn query(&self) -> Option<&str> {
        Some("plan=pro")
    }

    fn header(&self, _: &str, each: &mut dyn FnMut(&[u8])) {
        each(b"5");
    }
}

fuzz_target!(|text: &str| {
    let loaded = match Policy::load(&Source::new("jeton.toml", text), &NoReferences) {
        Ok(loaded) => loaded,
        Err(report) => return assert!(!report.to_string().is_empty()),
    };
    drop(loaded.report.to_string());
    drop(PolicyTable::new("jeton.toml", &loaded.policy).to_string());
    let (orders, mut buffers) = (Orders::new(), Buffers::default());
    let mut ask = || {
        let now = Micros::new(1);
        let evaluation = loaded.policy.evaluate(&Same, &orders, now, &mut buffers);
        let charges = evaluation
            .charges()
            .map(|charge| (charge.rule, charge.id, charge.cost));
        (evaluation.verdict(), charges.collect::<Vec<_>>())
    };
    let first = ask();
    assert_eq!(first, ask());
});
