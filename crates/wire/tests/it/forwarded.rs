//! `Forwarded` (RFC 7239) and fields of one address, by the same trust as `X-Forwarded-For`.

use std::{net::IpAddr, num::NonZeroU8};

use jeton_wire::client_ip::{
    Client, ClientIp, MAX_BYTES, MAX_ENTRIES, Origin, Prefixes, Source, Trust,
};
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn hops(header: &str, count: u8) -> ClientIp {
    ClientIp {
        source: header.parse().expect("a header"),
        trust: Trust::Hops(NonZeroU8::new(count).expect("at least one hop")),
    }
}

fn trusting(header: &str) -> ClientIp {
    let networks: Prefixes = ["10.0.0.0/8", "2001:db8:a::/48"]
        .iter()
        .map(|text| text.parse().expect("a network"))
        .collect();
    ClientIp {
        source: header.parse().expect("a header"),
        trust: Trust::Prefixes(networks),
    }
}

fn find(rule: &ClientIp, lines: &[&str]) -> (Option<IpAddr>, Origin) {
    let lines = lines.iter().map(|line| line.as_bytes());
    let Client { address, origin } = rule.find(Some(ip("10.0.0.1")), lines);
    (address, origin)
}

#[track_caller]
fn check(rule: &ClientIp, lines: &[&str], address: &str, origin: Origin) {
    assert_eq!(find(rule, lines), (Some(ip(address)), origin), "{lines:?}");
}

/// The client by one element from a proxy of ours.
fn of(element: &str) -> (Option<IpAddr>, Origin) {
    find(&hops("forwarded", 1), &[element])
}

#[test]
fn the_examples_of_rfc_7239_are_read() {
    for (element, address) in [
        (r"for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        (r"for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
        (r#"For="[2001:db8:cafe::17]:4711""#, "2001:db8:cafe::17"),
        (r#"for="[2001:db8:cafe::17]""#, "2001:db8:cafe::17"),
        (r#"for="192.0.2.43:47011""#, "192.0.2.43"),
        (r#"for=_hidden, for="192.0.2.43:_port""#, "192.0.2.43"),
    ] {
        assert_eq!(
            of(element),
            (Some(ip(address)), Origin::Header),
            "{element}"
        );
    }
    for hidden in [
        r#"for="_gazonk""#,
        r"for=_SEVKISEK",
        r"for=unknown",
        r#"for="unknown:_port""#,
        r"by=203.0.113.43;proto=http",
        r#"for="""#,
        "",
    ] {
        assert_eq!(of(hidden), (None, Origin::Anonymous), "{hidden}");
    }
}

#[test]
fn f37_f38_forged_elements_are_not_believed() {
    for rule in [hops("forwarded", 1), trusting("forwarded")] {
        for index in 1..=10 {
            let line = format!("for=6.6.6.{index}, for=\"203.0.113.9:{index}\"");
            check(&rule, &[&line], "203.0.113.9", Origin::Header);
            let forged = format!("for=6.6.6.{index};host=\"");
            check(
                &rule,
                &[&forged, "for=203.0.113.9"],
                "203.0.113.9",
                Origin::Header,
            );
            let joined = format!("{forged}, for=203.0.113.9;host=\"a, \\\"b\"");
            check(&rule, &[&joined], "203.0.113.9", Origin::Header);
        }
    }
}

#[test]
fn separators_in_quotes_do_not_cut() {
    for element in [
        r#"for=203.0.113.9;host="a,for=6.6.6.6""#,
        r#"host="a,for=6.6.6.6";for=203.0.113.9"#,
        r#"host="a;for=6.6.6.6";for=203.0.113.9"#,
        r#"for="203.0.113.9";ext="\",for=6.6.6.6,\\\"""#,
        r#"ext="for=6.6.6.6" ; FOR=203.0.113.9 ;; "#,
        r#"for="\2\03.0.113.9""#,
    ] {
        assert_eq!(
            of(element),
            (Some(ip("203.0.113.9")), Origin::Header),
            "{element}"
        );
    }
}

#[test]
fn a_malformed_element_is_bad_as_a_whole() {
    for element in [
        "203.0.113.9",
        "for=",
        "for",
        "=203.0.113.9",
        "for=203.0.113.9;for=203.0.113.9",
        "for=203.0.113.9;For=6.6.6.6",
        "for =203.0.113.9",
        "for= 203.0.113.9",
        "for=203.0.113.9 6.6.6.6",
        "for=203.0.113.9;proto",
        "for=203.0.113.9;pro/to=http",
        "for=203.0.113.9\\",
        "for=203.0.113.9:",
        "for=203.0.113.9:99999999",
        "for=\"203.0.113.9",
        "for=203.0.113.9\"",
        "for=\"203.0.113.9\"x",
        "for=\"203.0.113.9\\\"",
        "for=\"203.0.113.9\";x=\"\u{1}\"",
        "for=\"[2001:db8::1\"",
        "for=\"[203.0.113.9]\"",
        "for=\"\\\"203.0.113.9\\\"\"",
        "for=_",
        "for=unknown2",
        "for=http://203.0.113.9",
    ] {
        assert_eq!(
            of(element),
            (Some(ip("10.0.0.1")), Origin::BadEntry),
            "{element:?}"
        );
    }
}

#[test]
fn colons_without_quotes_are_understood() {
    for element in [
        "for=[2001:db8::7]:80",
        "for=[2001:db8::7]",
        "for=2001:db8::7",
    ] {
        assert_eq!(
            of(element),
            (Some(ip("2001:db8::7")), Origin::Header),
            "{element}"
        );
    }
    assert_eq!(
        of("for=203.0.113.9:80"),
        (Some(ip("203.0.113.9")), Origin::Header)
    );
}

#[test]
fn elements_are_walked_as_entries_are() {
    let rule = trusting("forwarded");
    let line = "for=6.6.6.6, for=203.0.113.9, for=\"[2001:db8:a::1]:_x\"";
    check(
        &rule,
        &[line, "for=10.0.0.7"],
        "203.0.113.9",
        Origin::Header,
    );
    check(
        &rule,
        &["for=10.0.0.3, for=10.0.0.2"],
        "10.0.0.3",
        Origin::AllTrusted,
    );
    check(
        &rule,
        &["for=203.0.113.9, for, for=10.0.0.2"],
        "10.0.0.2",
        Origin::BadEntry,
    );
    let two = hops("forwarded", 2);
    check(
        &two,
        &["for=203.0.113.9, by=_x"],
        "203.0.113.9",
        Origin::Header,
    );
    check(
        &two,
        &["for=203.0.113.9"],
        "10.0.0.1",
        Origin::TooFewEntries,
    );
    check(&two, &[], "10.0.0.1", Origin::Socket);
    let stranger = rule.find(
        Some(ip("198.51.100.7")),
        [b"for=6.6.6.6".as_slice()].into_iter(),
    );
    assert_eq!(stranger.origin, Origin::PeerNotTrusted);
    assert_eq!(stranger.address, Some(ip("198.51.100.7")));
}

#[test]
fn a_long_header_is_read_within_bounds() {
    let rule = trusting("forwarded");
    let many = vec!["for=10.0.0.2"; MAX_ENTRIES + 1].join(",");
    check(&rule, &[&many], "10.0.0.2", Origin::TooLong);
    let padded = format!("for=6.6.6.6;x=\"{}\"", " ".repeat(MAX_BYTES));
    check(
        &rule,
        &[&padded, "for=10.0.0.2"],
        "10.0.0.2",
        Origin::TooLong,
    );
    let bomb = format!("{},for=203.0.113.9", "for=\"6.6.6.6\",".repeat(100_000));
    check(&rule, &[&bomb], "203.0.113.9", Origin::Header);
    let quotes = format!("{}for=6.6.6.6", "\\\"".repeat(100_000));
    check(&rule, &[&quotes], "10.0.0.1", Origin::TooLong);
}

#[test]
fn a_field_of_one_address_is_believed_from_trusted_peers() {
    for header in [
        "cf-connecting-ip",
        "X-Real-IP",
        "true-client-ip",
        "x-client",
    ] {
        for rule in [hops(header, 1), hops(header, 3), trusting(header)] {
            check(&rule, &[" 203.0.113.9 "], "203.0.113.9", Origin::Header);
            check(&rule, &["[2001:db8::1]:80"], "2001:db8::1", Origin::Header);
            // It is the client, even if it is one of ours.
            check(&rule, &["10.0.0.9"], "10.0.0.9", Origin::Header);
            check(&rule, &[], "10.0.0.1", Origin::Socket);
            check(
                &rule,
                &["6.6.6.6", "203.0.113.9"],
                "10.0.0.1",
                Origin::BadEntry,
            );
            check(
                &rule,
                &["203.0.113.9", "203.0.113.9"],
                "10.0.0.1",
                Origin::BadEntry,
            );
            check(
                &rule,
                &["6.6.6.6, 203.0.113.9"],
                "10.0.0.1",
                Origin::BadEntry,
            );
            check(&rule, &["for=203.0.113.9"], "10.0.0.1", Origin::BadEntry);
            assert_eq!(find(&rule, &["unknown"]), (None, Origin::Anonymous));
            assert_eq!(find(&rule, &[""]), (None, Origin::Anonymous));
        }
        let rule = trusting(header);
        let client = rule.find(
            Some(ip("198.51.100.7")),
            [b"6.6.6.6".as_slice()].into_iter(),
        );
        assert_eq!(client.address, Some(ip("198.51.100.7")));
        assert_eq!(client.origin, Origin::PeerNotTrusted);
    }
}

#[test]
fn sources_are_read_by_name() {
    for (text, header) in [
        ("none", "x-forwarded-for"),
        ("x-forwarded-for", "x-forwarded-for"),
        ("Forwarded", "forwarded"),
        ("CF-Connecting-IP", "cf-connecting-ip"),
    ] {
        let source: Source = text.parse().unwrap();
        assert_eq!(source.header(), header);
        assert_eq!(source.to_string(), text.to_ascii_lowercase());
    }
    for text in ["", "x real ip", "x-real-ip:", "x\u{e9}"] {
        let error = text.parse::<Source>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{text:?} is not the name")),
            "{error}"
        );
    }
}

/// Bytes of which elements are made, and some of which they are not.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "for=", "by=", "host=", "6.6.6.6", "10.0.0.2", "[2001:db8::1]", ":443", ",", ", ", ";",
            "\"", "\\", "\\\"", "unknown", "_h", " ", "=", "for=10.0.0.3",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn what_a_client_sends_is_never_seen(
        forged in prop::collection::vec(line(), 1..4), host in "[ -~]{0,16}", joined: bool,
    ) {
        // One proxy of ours appends what it saw, on the same line or a new one; the client also
        // chooses the host.
        let host = host.replace('\\', "\\\\").replace('"', "\\\"");
        let own = format!("for=203.0.113.77;host=\"{host}\";proto=https").into_bytes();
        let mut lines = forged;
        lines.push(own);
        if joined {
            lines = vec![lines.join(b", ".as_slice())];
        }
        for rule in [hops("forwarded", 1), trusting("forwarded")] {
            let client = rule.find(Some(ip("10.0.0.1")), lines.iter().map(Vec::as_slice));
            prop_assert_eq!(client, Client { address: Some(ip("203.0.113.77")), origin: Origin::Header });
        }
    }

    #[test]
    fn whatever_comes_is_an_address_of_ours_or_of_the_header(
        lines in prop::collection::vec(line(), 0..4), count in 1_u8..4,
    ) {
        for header in ["forwarded", "x-real-ip", "x-forwarded-for"] {
            for rule in [hops(header, count), trusting(header)] {
                let client = rule.find(Some(ip("10.0.0.1")), lines.iter().map(Vec::as_slice));
                let from_header = [Origin::Header, Origin::AllTrusted, Origin::BadEntry, Origin::TooLong];
                if !from_header.contains(&client.origin) {
                    prop_assert!([None, Some(ip("10.0.0.1"))].contains(&client.address));
                }
            }
        }
    }

    #[test]
    fn every_address_is_read_in_every_spelling(v4: std::net::Ipv4Addr, v6: std::net::Ipv6Addr, port: u16) {
        let expected = jeton_wire::client_ip::canonical(IpAddr::V6(v6));
        for element in [format!("for=\"[{v6}]:{port}\""), format!("FOR=\"[{v6}]:_{port}\";by=_x")] {
            prop_assert_eq!(of(&element), (Some(expected), Origin::Header));
        }
        for element in [format!("for={v4}"), format!("by=_x;for=\"{v4}:{port}\"")] {
            prop_assert_eq!(of(&element), (Some(IpAddr::V4(v4)), Origin::Header));
        }
    }
}
