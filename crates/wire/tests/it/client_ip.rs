//! Client addresses: field cases F37 to F39 (and the facts behind F40), tables, laws.

use std::{collections::HashSet, net::IpAddr, num::NonZeroU8};

use jeton_wire::client_ip::{
    AddressKey, Client, ClientIp, Entry, Ipv6Prefix, MAX_BYTES, MAX_ENTRIES, Origin, Prefixes,
    Source, Trust, canonical,
};
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn hops(count: u8) -> ClientIp {
    let count = NonZeroU8::new(count).expect("at least one hop");
    ClientIp {
        source: Source::XForwardedFor,
        trust: Trust::Hops(count),
    }
}

fn trusting(networks: &[&str]) -> ClientIp {
    let networks: Prefixes = networks
        .iter()
        .map(|text| text.parse().expect("a network"))
        .collect();
    ClientIp {
        source: Source::XForwardedFor,
        trust: Trust::Prefixes(networks),
    }
}

/// The client behind 10.0.0.1.
fn find(rule: &ClientIp, lines: &[&str]) -> Client {
    rule.find(
        Some(ip("10.0.0.1")),
        lines.iter().map(|line| line.as_bytes()),
    )
}

#[track_caller]
fn check(rule: &ClientIp, lines: &[&str], address: &str, origin: Origin) {
    let expected = Client {
        address: Some(ip(address)),
        origin,
    };
    assert_eq!(find(rule, lines), expected, "{lines:?}");
}

#[test]
fn f37_leftmost_forwarded_entry_is_not_believed() {
    for rule in [hops(1), trusting(&["10.0.0.0/8"])] {
        for index in 1..=10 {
            let line = format!("6.6.6.{index}, 203.0.113.9");
            check(&rule, &[&line], "203.0.113.9", Origin::Header);
        }
    }
}

#[test]
fn f37_further_lines_and_more_hops_change_nothing() {
    check(
        &hops(1),
        &["6.6.6.1", "6.6.6.2, 203.0.113.9"],
        "203.0.113.9",
        Origin::Header,
    );
    check(
        &hops(1),
        &["6.6.6.1, 6.6.6.2", "203.0.113.9"],
        "203.0.113.9",
        Origin::Header,
    );
    check(
        &hops(2),
        &["6.6.6.1, 203.0.113.9", "10.0.0.7"],
        "203.0.113.9",
        Origin::Header,
    );
    let rule = trusting(&["10.0.0.0/8"]);
    check(
        &rule,
        &["6.6.6.1,203.0.113.9", "10.0.0.7"],
        "203.0.113.9",
        Origin::Header,
    );
    // A client that claims to be one of ours is still only what our proxy saw.
    check(
        &rule,
        &["10.9.9.9, 203.0.113.9"],
        "203.0.113.9",
        Origin::Header,
    );
}

#[test]
fn f38_ports_and_brackets_do_not_make_new_clients() {
    let spellings = [
        "203.0.113.9:51234",
        "203.0.113.9",
        "\"203.0.113.9:1\"",
        "\" 203.0.113.9 \"",
        "::ffff:203.0.113.9",
        "[::ffff:cb00:7109]:80",
        "64:ff9b::203.0.113.9",
        "[2001:db8::1]:443",
        "2001:db8::1",
        "[2001:db8::1]",
        "\"[2001:db8::1]\"",
        "2001:DB8:0:0::1",
        " 2001:db8::1%eth0\t",
        "[2001:db8::1%25eth0]:_port",
    ];
    let keys: HashSet<String> = spellings
        .iter()
        .map(|spelling| {
            let client = find(&hops(1), &[spelling]);
            assert_eq!(client.origin, Origin::Header, "{spelling}");
            AddressKey::new(client.address.unwrap(), Ipv6Prefix::default()).to_string()
        })
        .collect();
    assert_eq!(
        keys,
        HashSet::from(["203.0.113.9".to_owned(), "2001:db8::/64".to_owned()])
    );
}

#[test]
fn f38_hidden_clients_have_no_address() {
    let missing = Client {
        address: None,
        origin: Origin::Anonymous,
    };
    for hidden in [
        "unknown",
        "UNKNOWN",
        "_hidden",
        "_a.b-c_1",
        "",
        " ",
        "\"\"",
        "unknown:80",
    ] {
        assert_eq!(find(&hops(1), &[hidden]), missing, "{hidden:?}");
        let line = format!("203.0.113.9, {hidden}");
        assert_eq!(
            find(&trusting(&["10.0.0.0/8"]), &[&line]),
            missing,
            "{hidden:?}"
        );
    }
}

#[test]
fn f39_one_ipv6_customer_is_one_key() {
    let key = |address: IpAddr| AddressKey::new(address, Ipv6Prefix::default());
    let base = u128::from_be_bytes([0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    let step = u128::from(u64::MAX / 100_000);
    let keys: HashSet<AddressKey> = (0..100_000)
        .map(|index| key(IpAddr::V6((base + index * step).into())))
        .collect();
    assert_eq!(keys.len(), 1);
    assert!(!keys.contains(&key(ip("2001:db8:0:2::1"))));
    assert_eq!(key(ip("2001:db8:0:1::9")).to_string(), "2001:db8:0:1::/64");
}

#[test]
fn f39_a_zone_is_read_and_dropped() {
    assert_eq!(Entry::read(b"fe80::1%eth0"), Entry::Address(ip("fe80::1")));
    assert_eq!(
        Entry::read(b"[fe80::1%eth0]:80"),
        Entry::Address(ip("fe80::1"))
    );
    assert_eq!(Entry::read(b"fe80::1%"), Entry::Bad);
    assert_eq!(Entry::read(b"203.0.113.9%eth0"), Entry::Bad);
}

#[test]
fn f40_without_a_peer_address_hops_are_believed_and_prefixes_are_not() {
    let lines = || [b"203.0.113.9".as_slice()].into_iter();
    let found = hops(1).find(None, lines());
    assert_eq!(
        found,
        Client {
            address: Some(ip("203.0.113.9")),
            origin: Origin::Header
        }
    );
    let ignored = trusting(&["0.0.0.0/0", "::/0"]).find(None, lines());
    assert_eq!(
        ignored,
        Client {
            address: None,
            origin: Origin::PeerNotTrusted
        }
    );
    let none = hops(1).find(None, std::iter::empty());
    assert_eq!(
        none,
        Client {
            address: None,
            origin: Origin::Socket
        }
    );
}

#[test]
fn a_stranger_cannot_forward_anything() {
    let rule = trusting(&["10.0.0.0/8"]);
    let found = rule.find(
        Some(ip("198.51.100.7")),
        [b"203.0.113.9".as_slice()].into_iter(),
    );
    assert_eq!(
        found,
        Client {
            address: Some(ip("198.51.100.7")),
            origin: Origin::PeerNotTrusted
        }
    );
    check(
        &ClientIp::default(),
        &["203.0.113.9"],
        "10.0.0.1",
        Origin::HeaderNotInUse,
    );
    check(&ClientIp::default(), &[], "10.0.0.1", Origin::Socket);
    let nobody = ClientIp {
        source: Source::XForwardedFor,
        trust: Trust::default(),
    };
    check(
        &nobody,
        &["203.0.113.9"],
        "10.0.0.1",
        Origin::PeerNotTrusted,
    );
}

#[test]
fn the_peer_is_canonical_too() {
    let rule = trusting(&["10.0.0.0/8"]);
    let peer = Some(ip("::ffff:10.0.0.1"));
    let found = rule.find(peer, [b"203.0.113.9".as_slice()].into_iter());
    assert_eq!(found.origin, Origin::Header);
    assert_eq!(
        rule.find(peer, std::iter::empty()).address,
        Some(ip("10.0.0.1"))
    );
}

#[test]
fn where_all_are_trusted_the_leftmost_is_taken() {
    let rule = trusting(&["10.0.0.0/8", "2001:db8::/32"]);
    check(
        &rule,
        &["10.0.0.3, 10.0.0.2"],
        "10.0.0.3",
        Origin::AllTrusted,
    );
    check(
        &rule,
        &["[2001:db8::5]:1", "10.0.0.2"],
        "2001:db8::5",
        Origin::AllTrusted,
    );
}

#[test]
fn garbage_ends_the_walk_at_the_last_good_hop() {
    let rule = trusting(&["10.0.0.0/8"]);
    check(
        &rule,
        &["203.0.113.9, garbage, 10.0.0.2"],
        "10.0.0.2",
        Origin::BadEntry,
    );
    check(&rule, &["203.0.113.9, 1.2.3"], "10.0.0.1", Origin::BadEntry);
    check(
        &hops(1),
        &["203.0.113.9, <script>"],
        "10.0.0.1",
        Origin::BadEntry,
    );
    check(
        &hops(2),
        &["203.0.113.9, x y, 10.0.0.2"],
        "10.0.0.2",
        Origin::BadEntry,
    );
}

#[test]
fn only_the_position_counts_for_hops() {
    // Between two proxies of ours there may be a Unix socket.
    check(
        &hops(2),
        &["6.6.6.6, 203.0.113.9, unix:"],
        "203.0.113.9",
        Origin::Header,
    );
    check(
        &hops(3),
        &["203.0.113.9, unknown, 10.0.0.2"],
        "203.0.113.9",
        Origin::Header,
    );
}

#[test]
fn fewer_entries_than_hops_are_no_header() {
    check(&hops(2), &["6.6.6.6"], "10.0.0.1", Origin::TooFewEntries);
    check(
        &hops(3),
        &["6.6.6.6", "6.6.6.7"],
        "10.0.0.1",
        Origin::TooFewEntries,
    );
    check(&hops(2), &[], "10.0.0.1", Origin::Socket);
}

#[test]
fn what_is_no_address_is_bad() {
    for bad in [
        "203.0.113.999",
        "203.0.113.09",
        "203.0.113",
        "203.0.113.9:",
        "203.0.113.9:123456",
        "203.0.113.9:http",
        "[203.0.113.9]",
        "[2001:db8::1",
        "[2001:db8::1]443",
        "[2001:db8::1]:",
        "2001:db8::g",
        ":",
        "[]",
        "_",
        "_a b",
        "unknownx",
        "\"203.0.113.9",
        "for=203.0.113.9",
        "203.0.113.9 6.6.6.6",
        "\u{662}.1.1.1",
    ] {
        assert_eq!(Entry::read(bad.as_bytes()), Entry::Bad, "{bad:?}");
    }
    assert_eq!(Entry::read(&[0xff, 0xfe]), Entry::Bad);
    assert_eq!(
        Entry::read(format!("fe80::1%{}", "x".repeat(200)).as_bytes()),
        Entry::Bad
    );
}

#[test]
fn a_long_header_is_read_from_the_right_within_bounds() {
    let rule = trusting(&["10.0.0.0/8"]);
    let many = vec!["10.0.0.2"; MAX_ENTRIES + 1].join(",");
    check(&rule, &[&many], "10.0.0.2", Origin::TooLong);
    let enough = vec!["10.0.0.2"; MAX_ENTRIES].join(",");
    check(&rule, &[&enough], "10.0.0.2", Origin::AllTrusted);
    let padded = format!("6.6.6.6,{}10.0.0.2", " ".repeat(MAX_BYTES));
    check(&rule, &[&padded], "10.0.0.1", Origin::TooLong);
    check(&hops(1), &[&padded], "10.0.0.1", Origin::TooLong);
    let bomb = format!("{},203.0.113.9", "6.6.6.6,".repeat(100_000));
    check(&rule, &[&bomb], "203.0.113.9", Origin::Header);
    check(&hops(255), &[&bomb], "6.6.6.6", Origin::Header);
}

#[test]
fn mapped_addresses_are_told_by_bits() {
    for (spelled, plain) in [
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("::ffff:102:304", "1.2.3.4"),
        ("64:ff9b::102:304", "1.2.3.4"),
        ("2001:db8::1.2.3.4", "2001:db8::102:304"),
        ("::1.2.3.4", "::102:304"),
        ("64:ff9b:1::1.2.3.4", "64:ff9b:1::1.2.3.4"),
        ("64:ff9b::10.0.0.1", "64:ff9b::a00:1"),
        ("64:ff9b::127.0.0.1", "64:ff9b::7f00:1"),
        ("64:ff9b::100.64.0.1", "64:ff9b::6440:1"),
        ("64:ff9b::100.127.255.255", "64:ff9b::647f:ffff"),
        ("64:ff9b::100.128.0.1", "100.128.0.1"),
        ("64:ff9b::101.64.0.1", "101.64.0.1"),
        ("64:ff9b::0.1.2.3", "64:ff9b::1:203"),
        ("64:ff9b::169.254.0.1", "64:ff9b::a9fe:1"),
        ("64:ff9b::255.255.255.255", "64:ff9b::ffff:ffff"),
        ("::1", "::1"),
    ] {
        assert_eq!(canonical(ip(spelled)), ip(plain), "{spelled}");
    }
}

#[test]
fn prefixes_overlap_and_map() {
    let texts = [
        "10.1.0.0/16",
        "10.0.0.0/8",
        "::ffff:192.0.2.0/120",
        "2001:db8::1/32",
        "0.0.0.0/32",
    ];
    let set: Prefixes = texts.iter().map(|text| text.parse().unwrap()).collect();
    for inside in [
        "10.255.255.255",
        "10.1.0.1",
        "192.0.2.255",
        "2001:db8:ffff::",
        "0.0.0.0",
    ] {
        assert!(set.contains(ip(inside)), "{inside}");
    }
    for outside in [
        "9.255.255.255",
        "11.0.0.0",
        "192.0.3.0",
        "2001:db9::",
        "0.0.0.1",
        "::",
    ] {
        assert!(!set.contains(ip(outside)), "{outside}");
    }
    assert!(!Prefixes::default().contains(ip("::1")));
}

#[test]
fn prefix_lengths_run_from_1_to_128() {
    assert!(Ipv6Prefix::new(0).is_err());
    assert!(Ipv6Prefix::new(129).is_err());
    for (bits, text) in [
        (1, "8000::/1"),
        (48, "8000:1:2::/48"),
        (128, "8000:1:2:3:4:5:6:7"),
    ] {
        let key = AddressKey::new(ip("8000:1:2:3:4:5:6:7"), Ipv6Prefix::new(bits).unwrap());
        assert_eq!(key.to_string(), text);
    }
}

#[test]
fn an_ipv4_key_does_not_depend_on_the_ipv6_prefix() {
    let key = |bits| AddressKey::new(ip("203.0.113.9"), Ipv6Prefix::new(bits).unwrap());
    assert_eq!(key(56), key(64));
    assert_eq!(key(56).to_string(), "203.0.113.9");
}

#[test]
fn a_key_is_read_as_it_is_written() {
    let read = |text: &str| AddressKey::parse(text, Ipv6Prefix::default());
    for text in [
        "203.0.113.9",
        "::ffff:203.0.113.9",
        "2001:db8::/64",
        "2001:db8::7",
    ] {
        let key = read(text).unwrap();
        assert_eq!(read(&key.to_string()), Some(key), "{text}");
    }
    for text in [
        "",
        "alice",
        "203.0.113.9/32",
        "2001:db8::/56",
        "2001:db8::1/64",
        "::/x",
        "::/-1",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

/// Bytes of which headers are made, and some of which they are not.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "203.0.113.9", "10.0.0.2", "2001:db8::1", "[", "]", ":", "443", ",", ", ", "\"", "%",
            "eth0", "unknown", "_h", "::ffff:10.0.0.3", "64:ff9b::", " ", "\t",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn joining_lines_changes_nothing(lines in prop::collection::vec(line(), 1..4), count in 1_u8..4) {
        for rule in [hops(count), trusting(&["10.0.0.0/8"])] {
            let peer = Some(ip("10.0.0.1"));
            let joined = lines.join(b",".as_slice());
            prop_assert_eq!(
                rule.find(peer, lines.iter().map(Vec::as_slice)),
                rule.find(peer, [joined.as_slice()].into_iter())
            );
        }
    }

    #[test]
    fn what_a_client_sends_is_never_seen(forged in prop::collection::vec(line(), 0..4)) {
        // One proxy of ours appends what it saw; whatever stands to its left is the client's.
        for rule in [hops(1), trusting(&["10.0.0.0/8"])] {
            let own = b"203.0.113.77".as_slice();
            let lines = forged.iter().map(Vec::as_slice).chain([own]);
            let client = rule.find(Some(ip("10.0.0.1")), lines);
            prop_assert_eq!(client, Client { address: Some(ip("203.0.113.77")), origin: Origin::Header });
        }
    }

    #[test]
    fn any_bytes_are_answered_and_found_addresses_are_canonical(
        lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..4),
        peer in prop::option::of(any::<IpAddr>()),
        count in 1_u8..=255,
    ) {
        for rule in [hops(count), trusting(&["0.0.0.0/0", "::/0"]), ClientIp::default()] {
            let client = rule.find(peer, lines.iter().map(Vec::as_slice));
            prop_assert_eq!(client.address.map(canonical), client.address);
        }
    }

    #[test]
    fn every_address_is_read_in_every_spelling(address: IpAddr, port: u16) {
        let spellings = match address {
            IpAddr::V4(v4) => vec![format!("{v4}"), format!("{v4}:{port}"), format!("[::ffff:{v4}]")],
            IpAddr::V6(v6) => vec![format!("{v6}"), format!("\"[{v6}]:{port}\""), format!("{v6}%1")],
        };
        for spelling in spellings {
            prop_assert_eq!(Entry::read(spelling.as_bytes()), Entry::Address(canonical(address)));
        }
    }

    #[test]
    fn a_prefix_is_shared_exactly_by_those_alike_in_its_bits(a: u128, b: u128, bits in 1_u8..=128) {
        let b = if a & 1 == 0 { b } else { a ^ (1 << (b % 128)) };
        let key = |value: u128| AddressKey::new(IpAddr::V6(value.into()), Ipv6Prefix::new(bits).unwrap());
        prop_assume!([a, b].iter().all(|v| canonical(IpAddr::V6((*v).into())).is_ipv6()));
        let alike = (a ^ b).leading_zeros() >= u32::from(bits);
        prop_assert_eq!(key(a) == key(b), alike);
        prop_assert_eq!(AddressKey::parse(&key(a).to_string(), Ipv6Prefix::new(bits).unwrap()), Some(key(a)));
    }

    #[test]
    fn a_set_of_prefixes_holds_what_one_of_them_holds(
        networks in prop::collection::vec((0_u32..1 << 12, 20_u8..=32, any::<bool>()), 0..12),
        probe in 0_u32..1 << 12,
    ) {
        let v4 = |bits: u32| IpAddr::V4((bits << 4 | 0x0a00_0000).into());
        let v6 = |bits: u32| IpAddr::V6((u128::from(bits) << 4 | 0x2001_0db8 << 96).into());
        let networks: Vec<_> = networks
            .into_iter()
            .map(|(bits, length, is_v4)| {
                let (address, length) = if is_v4 { (v4(bits), length) } else { (v6(bits), length + 96) };
                ipnet::IpNet::new(address, length).expect("a network")
            })
            .collect();
        let set: Prefixes = networks.iter().copied().collect();
        for probe in [v4(probe), v6(probe)] {
            let expected = networks.iter().any(|network| network.contains(&probe));
            prop_assert_eq!(set.contains(probe), expected, "{} in {:?}", probe, networks);
        }
    }
}
