//! What runs for every request allocates nothing: finding the client, and writing the fields once
//! the scratch string has grown.
//!
//! Alone in its process and in one test, since allocations are counted for the whole of it.

use std::{alloc::System, num::NonZeroU8};

use jeton_wire::{
    client_ip::{AddressKey, ClientIp, Ipv6Prefix, Origin, Trust},
    cors::Cors,
    proxy_protocol::parse,
    ratelimit::{Dialect, Dialects, PolicyItem, Report},
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[track_caller]
fn allocates_nothing(run: impl FnOnce()) {
    let region = Region::new(ALLOCATOR);
    run();
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0));
}

#[test]
fn the_hot_path_allocates_nothing() {
    let policies = [
        PolicyItem::bucket("everyone", 20, 1_000_000, 100),
        PolicyItem::window("day", 1000, 86_400_000_000),
    ];
    let limits = policies.map(|policy| policy.limit(7, 86_400_000_000).with_cost(1));
    let report = Report {
        policies: &policies,
        limits: &limits,
        now_us: 1_800_000_000_000_000,
    };
    let cors = Cors::new(&["https://app.example"], true).unwrap();
    let mut scratch = String::with_capacity(256);
    let mut written_bytes = 0;
    allocates_nothing(|| {
        for dialect in Dialect::words().filter_map(|word| word.parse::<Dialect>().ok()) {
            let mut count = |name: &str, value: &str| written_bytes += name.len() + value.len();
            let dialects = Dialects::from(dialect);
            dialects.write_fields(&report, &mut scratch, &mut count);
            let origin = [b"https://app.example".as_slice()];
            cors.write_fields(origin, dialects, &mut scratch, &mut count);
        }
    });
    assert!(written_bytes > 1000, "{written_bytes}");

    let header = |line: &'static str| line.as_bytes();
    for (source, line) in [
        ("x-forwarded-for", header("6.6.6.6, [2001:db8::1]:443")),
        (
            "forwarded",
            header(r#"for=6.6.6.6, for="[2001:db8::\1]:443";host="a,b""#),
        ),
        ("x-real-ip", header("2001:db8::1")),
    ] {
        let source = source.parse().expect("a header");
        let trust = Trust::Hops(NonZeroU8::MIN);
        let rule = ClientIp { source, trust };
        allocates_nothing(|| {
            let client = rule.find(None, [line].into_iter());
            assert_eq!(client.origin, Origin::Header);
            let key = client
                .address
                .map(|address| AddressKey::new(address, Ipv6Prefix::default()));
            assert!(key.is_some());
        });
    }
    allocates_nothing(|| {
        let line = b"PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n";
        assert!(parse(line).is_ok_and(|header| header.is_some()));
    });
}
