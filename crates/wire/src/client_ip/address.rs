//! One host, one address: IPv4 that comes dressed as IPv6 is undressed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address under which a host is known, decided by bits and not by spelling.
///
/// - IPv4-mapped (`::ffff:0:0/96`, RFC 4291 section 2.5.5.2), which is how sockets that take both
///   families show IPv4 peers, becomes IPv4.
/// - NAT64 (`64:ff9b::/96`, RFC 6052) becomes IPv4, if what it embeds can come through a NAT64 at
///   all: the prefix must not stand for private addresses (section 3.1), and one that does would
///   otherwise pass for a trusted neighbour.
///
/// ```
/// # use jeton_wire::client_ip::canonical;
/// # use std::net::IpAddr;
/// let address = |text: &str| canonical(text.parse::<IpAddr>().unwrap());
/// assert_eq!(address("::ffff:cb00:7109"), address("203.0.113.9"));
/// assert_eq!(address("64:ff9b::203.0.113.9"), address("203.0.113.9"));
/// assert_ne!(address("64:ff9b::10.0.0.1"), address("10.0.0.1"));
/// ```
#[must_use]
pub fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let v4 = v6.to_ipv4_mapped().or_else(|| nat64(v6));
    v4.map_or(address, IpAddr::V4)
}

fn nat64(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = v6.segments() else {
        return None;
    };
    let v4 = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    if is_local(v4) { None } else { Some(v4) }
}

/// Addresses that mean something only on one network, shared carrier space included (RFC 6598).
fn is_local(v4: Ipv4Addr) -> bool {
    let [first, second, ..] = v4.octets();
    v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_broadcast()
        || first == 0
        || (first == 100 && second & 0xc0 == 64)
}
