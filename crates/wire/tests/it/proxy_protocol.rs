//! The PROXY protocol: lines and bytes of its specification, cut anywhere, bent everywhere.

use std::net::SocketAddr;

use jeton_wire::proxy_protocol::{Header, HeaderError, MAX_LEN, Origin, parse};
use proptest::prelude::*;

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

fn client(source: &str, destination: &str) -> Origin {
    let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
    Origin::Client {
        source: address(source),
        destination: address(destination),
    }
}

/// A header of version 2 with its length filled in.
fn v2(command: u8, family: u8, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).expect("a short payload");
    [SIGNATURE, &[command, family], &len.to_be_bytes(), payload].concat()
}

fn tcp4() -> Vec<u8> {
    vec![203, 0, 113, 9, 192, 0, 2, 1, 0xdc, 0x04, 0x01, 0xbb]
}

/// Parses `header` followed by a request: every part of it wants more, the whole is `expected`.
#[track_caller]
fn check(header: &[u8], expected: Origin) {
    for len in 0..header.len() {
        assert_eq!(parse(&header[..len]), Ok(None), "after {len} bytes");
    }
    let whole = Header {
        len: header.len(),
        origin: expected,
    };
    assert_eq!(parse(header), Ok(Some(whole)));
    assert_eq!(
        parse(&[header, b"GET / HTTP/1.1\r\n"].concat()),
        Ok(Some(whole))
    );
}

#[test]
fn lines_of_version_1_are_read() {
    for (line, expected) in [
        (
            "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
            client("255.255.255.255:65535", "255.255.255.255:65535"),
        ),
        (
            "PROXY TCP4 203.0.113.9 192.0.2.1 0 443\r\n",
            client("203.0.113.9:0", "192.0.2.1:443"),
        ),
        (
            "PROXY TCP6 2001:db8::9 2001:DB8:0:0::1 56324 443\r\n",
            client("[2001:db8::9]:56324", "[2001:db8::1]:443"),
        ),
        (
            "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
             ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            client(
                "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
                "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
            ),
        ),
        ("PROXY UNKNOWN\r\n", Origin::Socket),
        ("PROXY UNKNOWN \r\n", Origin::Socket),
        (
            "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
             ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            Origin::Socket,
        ),
    ] {
        assert!(line.len() <= 107);
        check(line.as_bytes(), expected);
    }
    check(b"PROXY UNKNOWN \xff\0  whatever\r\n", Origin::Socket);
}

#[test]
fn bent_lines_are_refused() {
    for line in [
        "PROXY\r\n",
        "PROXY \r\n",
        "PROXY TCP4\r\n",
        "PROXY TCP5 203.0.113.9 192.0.2.1 1 2\r\n",
        "PROXY tcp4 203.0.113.9 192.0.2.1 1 2\r\n",
        "PROXY UDP4 203.0.113.9 192.0.2.1 1 2\r\n",
        "PROXY  TCP4 203.0.113.9 192.0.2.1 1 2\r\n",
        "PROXY TCP4  203.0.113.9 192.0.2.1 1 2\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 1 2 \r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 1 2 3\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 1\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 01 2\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 00 2\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 +1 2\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 -1 2\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 65536 2\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 1 \r\n",
        "PROXY TCP4 203.0.113.09 192.0.2.1 1 2\r\n",
        "PROXY TCP4 203.0.113 192.0.2.1 1 2\r\n",
        "PROXY TCP4 2001:db8::9 2001:db8::1 1 2\r\n",
        "PROXY TCP6 203.0.113.9 192.0.2.1 1 2\r\n",
        "PROXY TCP6 fe80::1%eth0 2001:db8::1 1 2\r\n",
        "PROXY TCP6 [2001:db8::9] 2001:db8::1 1 2\r\n",
        "PROXY TCP4 203.0.113.9\t192.0.2.1 1 2\r\n",
        "PROXY TCP4 203.0.113.9 192.0.2.1 1 2\rGET",
        "PROXY TCP4 203.0.113.9 192.0.2.1 1 2\n\r\n",
        "PROXY UNKNOWNX\r\n",
    ] {
        let refused = parse(line.as_bytes());
        let expected = if line.starts_with("PROXY ") {
            HeaderError::Line
        } else {
            HeaderError::Missing
        };
        assert_eq!(refused, Err(expected), "{line:?}");
    }
    assert_eq!(parse(b"PROXY TCP4 \xff\r\n"), Err(HeaderError::Line));
}

#[test]
fn a_line_without_an_end_is_refused_at_107_bytes() {
    let endless = format!("PROXY UNKNOWN {}", "x".repeat(200));
    assert_eq!(parse(&endless.as_bytes()[..106]), Ok(None));
    assert_eq!(parse(&endless.as_bytes()[..107]), Err(HeaderError::Line));
    let line = |padding| format!("PROXY UNKNOWN {}\r\n", "x".repeat(padding));
    assert_eq!(line(91).len(), 107);
    assert!(parse(line(91).as_bytes()).unwrap().is_some());
    assert_eq!(parse(line(92).as_bytes()), Err(HeaderError::Line));
    assert_eq!(parse(&line(92).as_bytes()[..107]), Err(HeaderError::Line));
}

#[test]
fn what_is_no_header_is_refused_at_its_first_wrong_byte() {
    for bytes in [
        b"GET / HTTP/1.1\r\n".as_slice(),
        b"G",
        b"POST / HTTP/1.1\r\n",
        b"PROX ",
        b"\r\n\r\n\0\r\nQUIX",
        b"\r\nGET",
        b"\n",
        b"\x16\x03\x01",
        b"PRI * HTTP/2.0\r\n\r\n",
        b"proxy TCP4",
    ] {
        assert_eq!(parse(bytes), Err(HeaderError::Missing), "{bytes:?}");
    }
}

#[test]
fn headers_of_version_2_are_read() {
    let v4 = client("203.0.113.9:56324", "192.0.2.1:443");
    check(&v2(0x21, 0x11, &tcp4()), v4);
    check(&v2(0x21, 0x12, &tcp4()), v4);
    let v6 = [
        [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9].as_slice(),
        &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        &[0xdc, 0x04, 0x01, 0xbb],
    ]
    .concat();
    let expected = client("[2001:db8::9]:56324", "[2001:db8::1]:443");
    check(&v2(0x21, 0x21, &v6), expected);
    check(&v2(0x21, 0x22, &v6), expected);
    check(&v2(0x21, 0x31, &[0; 216]), Origin::Unix);
    check(&v2(0x21, 0x32, &[b'x'; 216]), Origin::Unix);
    check(&v2(0x21, 0x00, &[]), Origin::Socket);
    check(&v2(0x21, 0x00, &[1, 2, 3]), Origin::Socket);
    // The command LOCAL makes everything else void.
    check(&v2(0x20, 0x11, &tcp4()), Origin::Socket);
    check(&v2(0x20, 0xff, &[9; 5]), Origin::Socket);
}

#[test]
fn additions_are_passed_over_and_their_checksum_is_verified() {
    let v4 = client("203.0.113.9:56324", "192.0.2.1:443");
    let alpn = [1, 0, 2, b'h', b'2'].as_slice();
    let noop = [4, 0, 0].as_slice();
    check(&v2(0x21, 0x11, &[&tcp4(), alpn, noop].concat()), v4);
    let with_crc = |crc: [u8; 4]| {
        let crc = [&[3, 0, 4], crc.as_slice()].concat();
        v2(0x21, 0x11, &[&tcp4(), alpn, &crc, noop].concat())
    };
    // Computed by another implementation, over these bytes with the checksum as zero.
    let right = crc32c_by_table(&with_crc([0; 4])).to_be_bytes();
    check(&with_crc(right), v4);
    let wrong = u32::from_be_bytes(right).wrapping_add(1).to_be_bytes();
    assert_eq!(parse(&with_crc(wrong)), Err(HeaderError::Checksum));
    let short = v2(0x21, 0x11, &[&tcp4(), [3, 0, 2, 0, 0].as_slice()].concat());
    assert_eq!(parse(&short), Err(HeaderError::Checksum));
    for cut_off in [
        [1].as_slice(),
        &[1, 0],
        &[1, 0, 3, b'h', b'2'],
        &[4, 0xff, 0xff],
    ] {
        let header = v2(0x21, 0x11, &[&tcp4(), cut_off].concat());
        assert_eq!(parse(&header), Err(HeaderError::Additions));
    }
}

/// CRC-32C by a table of bytes.
fn crc32c_by_table(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
    let table: Vec<u32> = (0..256)
        .map(|byte| (0..8).fold(byte, |crc, _| step(crc)))
        .collect();
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        table[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8)
    })
}

#[test]
fn bent_headers_of_version_2_are_refused() {
    for (command, error) in [
        (0x11, HeaderError::Version),
        (0x31, HeaderError::Version),
        (0x01, HeaderError::Version),
        (0x22, HeaderError::Command),
        (0x2f, HeaderError::Command),
    ] {
        assert_eq!(parse(&v2(command, 0x11, &tcp4())), Err(error));
        assert_eq!(parse(&v2(command, 0x11, &tcp4())[..13]), Err(error));
    }
    for family in [0x01, 0x10, 0x13, 0x20, 0x30, 0x33, 0x41, 0xff] {
        assert_eq!(
            parse(&v2(0x21, family, &[0; 216])),
            Err(HeaderError::Family)
        );
    }
    for (family, len) in [(0x11, 11), (0x12, 0), (0x21, 35), (0x22, 12), (0x31, 215)] {
        assert_eq!(
            parse(&v2(0x21, family, &vec![0; len])),
            Err(HeaderError::Length)
        );
    }
    let longest = v2(0x20, 0, &vec![0; MAX_LEN - 16]);
    assert_eq!(parse(&longest).unwrap().unwrap().len, MAX_LEN);
    let longer = v2(0x20, 0, &vec![0; MAX_LEN - 15]);
    assert_eq!(parse(&longer[..16]), Err(HeaderError::TooLong));
}

#[test]
fn every_error_says_what_is_wrong() {
    for error in [
        HeaderError::Missing,
        HeaderError::Line,
        HeaderError::Version,
        HeaderError::Command,
        HeaderError::Family,
        HeaderError::Length,
        HeaderError::TooLong,
        HeaderError::Additions,
        HeaderError::Checksum,
    ] {
        assert!(error.to_string().contains("PROXY header"));
    }
}

fn bent() -> impl Strategy<Value = Vec<u8>> {
    let header = prop_oneof![
        Just(b"PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n".to_vec()),
        Just(b"PROXY TCP6 2001:db8::9 2001:db8::1 1 2\r\n".to_vec()),
        Just(v2(
            0x21,
            0x11,
            &[tcp4(), vec![1, 0, 2, 9, 9, 3, 0, 4, 0, 0, 0, 0]].concat()
        )),
        Just(v2(0x20, 0x21, &[0; 40])),
    ];
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (header, edits, any::<prop::sample::Index>()).prop_map(|(mut bytes, edits, cut)| {
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn an_answer_stands_whatever_follows(
        bytes in prop_oneof![bent(), prop::collection::vec(any::<u8>(), 0..64)],
        more in prop::collection::vec(any::<u8>(), 0..16),
    ) {
        let answer = parse(&bytes);
        let longer = [bytes.as_slice(), &more].concat();
        match answer {
            Ok(None) => {}
            Ok(Some(header)) => {
                prop_assert!(header.len <= bytes.len());
                prop_assert_eq!(parse(&bytes[..header.len]), answer);
                prop_assert_eq!(parse(&longer), answer);
            }
            Err(_) => prop_assert!(parse(&longer).is_err()),
        }
    }

    #[test]
    fn every_pair_of_addresses_is_read(
        source: std::net::Ipv6Addr, destination: std::net::Ipv6Addr, v4: (std::net::Ipv4Addr, std::net::Ipv4Addr),
        ports: (u16, u16),
    ) {
        let origin = Origin::Client {
            source: SocketAddr::new(source.into(), ports.0),
            destination: SocketAddr::new(destination.into(), ports.1),
        };
        let line = format!("PROXY TCP6 {source} {destination} {} {}\r\n", ports.0, ports.1);
        prop_assert_eq!(parse(line.as_bytes()).unwrap().unwrap().origin, origin);
        let ends = [ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat();
        let payload = [source.octets().as_slice(), &destination.octets(), &ends].concat();
        prop_assert_eq!(parse(&v2(0x21, 0x21, &payload)).unwrap().unwrap().origin, origin);
        let line = format!("PROXY TCP4 {} {} {} {}\r\n", v4.0, v4.1, ports.0, ports.1);
        let origin = Origin::Client {
            source: SocketAddr::new(v4.0.into(), ports.0),
            destination: SocketAddr::new(v4.1.into(), ports.1),
        };
        prop_assert_eq!(parse(line.as_bytes()).unwrap().unwrap().origin, origin);
    }
}
