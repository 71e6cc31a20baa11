//! Callers that mean no good, and requests that no Envoy sends: they cost bounded memory, are answered or
//! cut off, and hurt nobody else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use jeton_server::rls::messages::{
    Code, Entry, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, RateLimitResponse,
};
use prost::Message;

use super::grpc::{METHOD, call, call_frame, descriptor};
use super::{ask, json, serve};
use crate::support::binary::Running;
use crate::support::{eventually, is_full};

const LIMITS: &str = "domain: d
descriptors:
  - { key: a, rate_limit: { unit: year, requests_per_unit: 10 } }
  - { key: each, rate_limit: { unit: year, requests_per_unit: 1000000000 } }
  - { key: user, value_to_metric: true, rate_limit: { unit: year, requests_per_unit: 9 } }
";

/// Somebody who behaves is served all the while.
fn is_well(jeton: &Running) {
    let begun = Instant::now();
    assert_eq!(ask(jeton, "each", "honest").0, 200);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

/// The status of gRPC, and the answer if there is one.
fn asked(
    jeton: &Running,
    hits_addend: u32,
    descriptors: Vec<RateLimitDescriptor>,
) -> (String, Option<RateLimitResponse>) {
    let request = RateLimitRequest {
        domain: "d".to_owned(),
        descriptors,
        hits_addend,
    };
    let (messages, status) = call(jeton, METHOD, &request.encode_to_vec());
    let answer = messages
        .first()
        .map(|bytes| RateLimitResponse::decode(&bytes[..]));
    (status, answer.map(|answer| answer.expect("a message")))
}

fn left(jeton: &Running) -> u32 {
    let look = RateLimitDescriptor {
        hits_addend: Some(0),
        ..descriptor("a")
    };
    asked(jeton, 1, vec![look]).1.expect("an answer").statuses[0].limit_remaining
}

#[test]
fn numbers_at_their_ends_neither_pass_too_much_nor_wrap() {
    let jeton = serve("", LIMITS);
    let one = |hits: Option<u64>, back: bool| RateLimitDescriptor {
        hits_addend: hits,
        is_negative_hits: back,
        ..descriptor("a")
    };
    let code = |hits_addend, descriptors| {
        let (status, answer) = asked(&jeton, hits_addend, descriptors);
        assert_eq!(status, "0");
        answer.expect("an answer").overall_code
    };
    let (ok, over) = (Code::Ok as i32, Code::OverLimit as i32);
    assert_eq!(code(4, vec![one(None, false)]), ok);
    for (hits_addend, descriptors) in [
        (u32::MAX, vec![one(None, false)]),
        (0, vec![one(Some(u64::MAX), false)]),
        (0, vec![one(Some(u64::from(u32::MAX) + 1), false)]),
        // The sum of both is one charge.
        (0, vec![one(Some(4), false), one(Some(4), false)]),
        (
            0,
            vec![one(Some(u64::MAX), false), one(Some(u64::MAX), false)],
        ),
    ] {
        assert_eq!(code(hits_addend, descriptors), over);
        assert_eq!(left(&jeton), 6);
    }
    assert_eq!(code(0, vec![one(Some(0), true)]), ok);
    assert_eq!(left(&jeton), 6);
    // What is given back and what is taken in one request are two things.
    assert_eq!(code(0, vec![one(Some(3), true), one(Some(1), false)]), ok);
    assert_eq!(left(&jeton), 8);
    assert_eq!(
        code(u32::MAX, vec![one(None, true), one(Some(u64::MAX), true)]),
        ok
    );
    assert_eq!(left(&jeton), 10);
    is_well(&jeton);
}

#[test]
fn limits_that_make_no_sense_are_refused_or_refuse() {
    let jeton = serve("", LIMITS);
    let own = |requests_per_unit, unit| {
        let limit = RateLimitOverride {
            requests_per_unit,
            unit,
        };
        vec![RateLimitDescriptor {
            limit: Some(limit),
            ..descriptor("a")
        }]
    };
    for unit in [0, 7, 8, 99, -1, i32::MIN] {
        assert_eq!(asked(&jeton, 1, own(5, unit)).0, "3", "{unit}");
    }
    let (status, none) = asked(&jeton, 1, own(0, 6));
    let none = none.expect("an answer");
    assert_eq!((&*status, none.overall_code), ("0", Code::OverLimit as i32));
    let limit = none.statuses[0].current_limit.as_ref().expect("a limit");
    assert_eq!((limit.requests_per_unit, limit.unit), (0, 6));
    let many = asked(&jeton, 1, own(u32::MAX, 6)).1.expect("an answer");
    assert_eq!(many.overall_code, Code::Ok as i32);
    assert_eq!(left(&jeton), 9);
}

#[test]
fn lists_have_an_end() {
    let jeton = serve("", LIMITS);
    let each = |number: usize| RateLimitDescriptor {
        entries: vec![Entry {
            key: "each".to_owned(),
            value: number.to_string(),
        }],
        ..RateLimitDescriptor::default()
    };
    let list = |most| (0..most).map(each).collect::<Vec<_>>();
    let (status, answer) = asked(&jeton, 1, list(32));
    let answer = answer.expect("an answer");
    assert_eq!((&*status, answer.overall_code), ("0", Code::Ok as i32));
    // More counters than one step holds: refused, since none may be left out.
    let answer = asked(&jeton, 1, list(33)).1.expect("an answer");
    assert_eq!(answer.overall_code, Code::OverLimit as i32);
    assert_eq!(answer.statuses.len(), 33);
    assert_eq!(asked(&jeton, 1, list(65)).0, "3");
    let entries = |most| RateLimitDescriptor {
        entries: vec![Entry::default(); most],
        ..RateLimitDescriptor::default()
    };
    for (most, status) in [(0, "0"), (64, "0"), (65, "3")] {
        assert_eq!(asked(&jeton, 1, vec![entries(most)]).0, status, "{most}");
    }
    // A value of any length is a key of a bounded one, and no name of a metric.
    let long = "x".repeat(40_000);
    assert_eq!(ask(&jeton, "user", &long).0, 200);
    assert!(!jeton.metrics().contains("xxxx"));
    is_well(&jeton);
}

#[test]
fn frames_that_lie_about_themselves_are_errors() {
    let jeton = serve("", LIMITS);
    let message = RateLimitRequest {
        domain: "d".to_owned(),
        descriptors: vec![descriptor("a")],
        hits_addend: 1,
    }
    .encode_to_vec();
    let before = jeton.resident();
    let length = u8::try_from(message.len()).expect("short");
    let framed = |head: [u8; 5]| [&head[..], &message].concat();
    for (frame, status) in [
        // Compressed, by nothing that was agreed upon; a flag that there is not; four gigabytes.
        (framed([1, 0, 0, 0, length]), "13"),
        (framed([7, 0, 0, 0, length]), "13"),
        (framed([0, 255, 255, 255, 255]), "11"),
        // Shorter and longer than it says; no frame at all; a part of one.
        (framed([0, 0, 0, 0, length - 1]), "13"),
        (framed([0, 0, 0, 0, length + 1]), "13"),
        (Vec::new(), "13"),
        (vec![0, 0, 0], "13"),
    ] {
        let (messages, said) = call_frame(&jeton, METHOD, &frame);
        assert!(messages.is_empty(), "{frame:?}");
        assert_ne!(said, "0", "{frame:?}");
        assert_eq!(said, status, "{frame:?}");
    }
    let grown = jeton.resident().saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes");
    assert_eq!(left(&jeton), 10);
}

#[test]
fn bodies_that_are_broken_are_answered_400() {
    let jeton = serve("", LIMITS);
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let deep_map = r#"{"descriptors":"#.repeat(1_000);
    for body in [
        "{",
        "\u{feff}{}",
        "null",
        "\"d\"",
        &deep,
        &deep_map,
        r#"{"domain":"d","descriptors":[{"entries":[{"key":"\ud800"}]}]}"#,
        r#"{"domain":"d","descriptors":[{"entries":[{"key":"a","value":"x"}]}]} x"#,
        r#"{"domain":"d","hitsAddend":1.5,"descriptors":[{}]}"#,
        r#"{"domain":"d","hitsAddend":"1e3","descriptors":[{}]}"#,
        r#"{"domain":"d","hitsAddend":1,"hits_addend":2,"descriptors":[{}]}"#,
        r#"{"domain":"d","descriptors":[{"limit":{"requestsPerUnit":-1,"unit":"DAY"}}]}"#,
        r#"{"domain":"d","descriptors":[{"limit":{"requestsPerUnit":1,"unit":"WEEK"}}]}"#,
        r#"{"domain":"d","descriptors":[{"entries":{"a":"x"}}]}"#,
    ] {
        let (status, said) = json(&jeton, body);
        assert_eq!(status, 400, "{body:.60}: {said}");
        assert!(said.len() < 500, "{said}");
    }
    is_well(&jeton);
}

/// A frame of HTTP/2 (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const END_HEADERS: u8 = 4;

/// The head of a call whose message does not come.
fn begun(stream: u32) -> Vec<u8> {
    let path = METHOD.as_bytes();
    let length = u8::try_from(path.len()).expect("short");
    // POST, http, and a path and an authority written out (RFC 7541, appendix A).
    let head = [&[0x83, 0x86, 0x04, length][..], path, &[0x01, 1, b'a']].concat();
    frame(HEADERS, END_HEADERS, stream, &head)
}

fn http2(jeton: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(jeton.rls_address()).expect("a door");
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    stream
        .write_all(&[&preface[..], &frame(4, 0, 0, b"")].concat())
        .expect("sent");
    stream
}

/// Reads until the peer closes, or is silent for a while.
fn rest(stream: &mut TcpStream, silence: Duration) -> bool {
    stream.set_read_timeout(Some(silence)).expect("a bound");
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn calls_that_are_begun_and_taken_back_close_the_connection() {
    let jeton = serve("", LIMITS);
    let before = jeton.resident();
    let mut stream = http2(&jeton);
    // RFC 9113, section 10.5: a peer may be cut off for that.
    let mut is_cut = false;
    for number in 0..200_000_u32 {
        let id = 2 * number + 1;
        let both = [begun(id), frame(RST_STREAM, 0, id, &8_u32.to_be_bytes())].concat();
        if stream.write_all(&both).is_err() {
            is_cut = true;
            break;
        }
    }
    assert!(is_cut || rest(&mut stream, Duration::from_secs(5)));
    let grown = jeton.resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes");
    is_well(&jeton);
}

#[test]
fn calls_whose_message_does_not_come_are_few_and_end() {
    let jeton = serve("", LIMITS);
    is_well(&jeton);
    let clients = if is_full() { 100 } else { 10 };
    let before = jeton.resident();
    let mut streams: Vec<TcpStream> = (0..clients).map(|_| http2(&jeton)).collect();
    for stream in &mut streams {
        let calls: Vec<u8> = (0..2_000_u32).flat_map(|at| begun(2 * at + 1)).collect();
        // It may be cut off for asking more than it was told it may.
        drop(stream.write_all(&calls));
    }
    std::thread::sleep(Duration::from_millis(500));
    is_well(&jeton);
    let each = jeton.resident().saturating_sub(before) / clients;
    assert!(each < 2 << 20, "{each} bytes for each connection");
    let begun = Instant::now();
    eventually("their time is over", || {
        jeton.metric("jeton_door_in_flight{door=\"rls\"}") == 0
    });
    assert!(begun.elapsed() < Duration::from_secs(15));
    is_well(&jeton);
}

#[test]
fn heads_without_end_are_cut_off() {
    let jeton = serve("", LIMITS);
    let before = jeton.resident();
    let mut stream = http2(&jeton);
    let opened = frame(HEADERS, 0, 1, &[0x83, 0x86, 0x84]);
    stream.write_all(&opened).expect("sent");
    // CONTINUATION after CONTINUATION, each with fields that fill a table.
    let filler = [&[0x00, 1, b'x', 0x7f, 0x80, 0x7d][..], &[b'y'; 16_000]].concat();
    let more = frame(9, 0, 1, &filler);
    let is_cut = (0..20_000).any(|_| stream.write_all(&more).is_err());
    assert!(is_cut || rest(&mut stream, Duration::from_secs(5)));
    let grown = jeton.resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes");
    is_well(&jeton);
}
