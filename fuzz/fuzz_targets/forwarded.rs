//! `Forwarded` of any bytes: what a trusted proxy appends is read, whatever stands before it.
#![no_main]
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU8;

use jeton_wire::client_ip::{ClientIp, Origin, Source, Trust};
use libfuzzer_sys::fuzz_target;

const OWN: &[u8] = br#"for="203.0.113.77:_p";host="a,\"b;";proto=https"#;

fuzz_target!(|input: (u8, bool, Vec<Vec<u8>>)| {
    let (hops, joined, mut lines) = input;
    let peer = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let rule = |hops| ClientIp { source: Source::Forwarded, trust: Trust::Hops(hops) };
    let found = rule(NonZeroU8::new(hops).unwrap_or(NonZeroU8::MIN));
    let _ = found.find(peer, lines.iter().map(Vec::as_slice));

    lines.push(OWN.to_vec());
    if joined {
        lines = vec![lines.join(b",".as_slice())];
    }
    let client = rule(NonZeroU8::MIN).find(peer, lines.iter().map(Vec::as_slice));
    assert_eq!(client.address, Some(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77))));
    assert_eq!(client.origin, Origin::Header);
});
