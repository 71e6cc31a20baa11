//! `X-Forwarded-For` of any bytes: what is found is an address of the list, or the peer.
#![no_main]
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU8;

use jeton_wire::client_ip::{AddressKey, ClientIp, Ipv6Prefix, Source, Trust};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, Vec<Vec<u8>>)| {
    let (hops, lines) = input;
    let peer = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let trust = NonZeroU8::new(hops).map_or(Trust::default(), Trust::Hops);
    let rule = ClientIp { source: Source::XForwardedFor, trust };
    let client = rule.find(peer, lines.iter().map(Vec::as_slice));
    if let Some(address) = client.address {
        let _ = AddressKey::new(address, Ipv6Prefix::default()).to_string();
    }
});
