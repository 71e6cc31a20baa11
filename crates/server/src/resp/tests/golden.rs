//! Whole conversations, byte for byte.

use super::{Client, DOOR};

pub(super) const RULES: &str = r#"
[resp]
listen = "127.0.0.1:0"

[[rule]]
name = "api"
key = ["header:x-user"]
algorithm = "fixed-window"
limit = 3
window = "1min"

[[rule]]
name = "two"
key = ["header:x-user", "path"]
algorithm = "gcra"
rate = "2/s"
burst = 4

[[rule]]
name = "free"
key = ["header:x-user"]
limit = "unlimited"

[[rule]]
name = "closed"
key = ["header:x-user"]
limit = "deny"

[[rule]]
name = "dear"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 9
window = "1min"
cost = 5
"#;

pub(super) fn bulk(arguments: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        out.extend(format!("${}\r\n", argument.len()).into_bytes());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
    out
}

#[test]
fn a_pipeline_is_answered_in_its_order() {
    let mut client = Client::new(RULES);
    let input = [
        bulk(&[b"PING"]),
        bulk(&[b"CL.THROTTLE", b"alice", b"1", b"1", b"60"]),
        bulk(&[b"ECHO", b"a\r\nb"]),
        bulk(&[b"cl.throttle", b"alice", b"1", b"1", b"60"]),
        bulk(&[b"CL.THROTTLE", b"alice", b"1", b"1", b"60"]),
        bulk(&[b"THROTTLE", b"\xff\x00", b"2", b"1", b"60", b"2"]),
        bulk(&[b"JETON.TAKE", b"api", b"alice", b"2"]),
        bulk(&[b"GET", b"x"]),
        bulk(&[b"SELECT", b"0"]),
    ];
    let (read, out) = client.hear(&input.concat());
    assert_eq!(read.taken, input.concat().len());
    let out = String::from_utf8(out).unwrap();
    let unknown = out.find("-ERR").unwrap();
    assert_eq!(
        &out[..unknown],
        "+PONG\r\n\
         *5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:60\r\n\
         $4\r\na\r\nb\r\n\
         *5\r\n:0\r\n:2\r\n:0\r\n:-1\r\n:120\r\n\
         *5\r\n:1\r\n:2\r\n:0\r\n:60\r\n:120\r\n\
         *5\r\n:1\r\n:2\r\n:0\r\n:120\r\n:0\r\n\
         *5\r\n:1\r\n:3\r\n:1\r\n:-1\r\n:60000000\r\n"
    );
    assert!(out.ends_with("COMMAND DOCS tells how\r\n+OK\r\n"), "{out}");
}

#[test]
fn rules_are_taken_from_checked_given_back_and_forgotten() {
    let mut client = Client::new(RULES);
    client.at(12_000_000);
    let left_us = 48_000_000;
    for (line, expected) in [
        ("JETON.CHECK api alice", [1, 3, 3, -1, 0]),
        ("JETON.TAKE api alice", [1, 3, 2, -1, left_us]),
        ("JETON.CHECK api alice 3", [0, 3, 2, left_us, left_us]),
        ("JETON.TAKE api alice 2", [1, 3, 0, -1, left_us]),
        ("JETON.TAKE api alice", [0, 3, 0, left_us, left_us]),
        ("JETON.TAKE api alice 4", [0, 3, 0, -2, left_us]),
        ("JETON.TAKE api bob 0", [1, 3, 3, -1, 0]),
        ("JETON.REFUND api alice 2", [1, 3, 2, -1, left_us]),
        ("JETON.RESET api alice", [1, 3, 3, -1, 0]),
        ("JETON.TAKE free alice", [1, -1, -1, -1, -1]),
        ("JETON.TAKE closed alice", [0, -1, -1, -1, -1]),
        ("JETON.TAKE dear alice", [1, 9, 4, -1, 60_000_000]),
        ("JETON.TAKE dear alice", [0, 9, 4, 60_000_000, 60_000_000]),
        ("JETON.TAKE two alice 3 /a", [1, 4, 1, -1, 1_500_000]),
        ("JETON.TAKE two alice 3 /b", [1, 4, 1, -1, 1_500_000]),
        ("JETON.RESET two alice /a", [1, 4, 4, -1, 0]),
        ("CL.THROTTLE alice 0 1 60", [0, 1, 0, -1, 60]),
        ("CL.THROTTLE alice 0 1 60", [1, 1, 0, 60, 60]),
        ("JETON.RESET resp alice", [1, -1, -1, -1, 0]),
        ("CL.THROTTLE alice 0 1 60", [0, 1, 0, -1, 60]),
    ] {
        assert_eq!(client.five(line), expected, "{line}");
    }
}

/// What is wrong, and words of the answer.
const WRONG: &[(&str, &str)] = &[
    (
        "CL.THROTTLE k -1 1 1",
        "max_burst must be a whole number from 0 up",
    ),
    (
        "THROTTLE k 0 1 1",
        "max_burst must be a whole number from 1 up",
    ),
    (
        "CL.THROTTLE k 1 0 1",
        "count must be a whole number from 1 up",
    ),
    (
        "CL.THROTTLE k 1 1 1.5",
        "period must be a whole number from 1 up",
    ),
    (
        "CL.THROTTLE k 1 1 1 -1",
        "quantity must be a whole number from 0 up",
    ),
    (
        "CL.THROTTLE k 9999999999 1 1",
        "more than 1000000000 units do not fit",
    ),
    (
        "CL.THROTTLE k 9223372036854775807 1 1",
        "more than 1000000000 units do not fit",
    ),
    (
        "CL.THROTTLE k 1 1 9999999999",
        "period is in seconds, and no more than 13 years",
    ),
    ("CL.THROTTLE k 1000000 1 86400", "the largest burst here is"),
    ("CL.THROTTLE k 1 7000001 60", "too awkward a fraction"),
    (
        "CL.THROTTLE k 1 1",
        "cl.throttle key max_burst count period [quantity]",
    ),
    ("CL.THROTTLE k 1 1 1 1 1", "wrong number of arguments"),
    (
        "JETON.TAKE apj alice",
        "no rule is named \"apj\"; did you mean \"api\"?",
    ),
    (
        "JETON.TAKE api alice -1",
        "cost must be a whole number of units, from 0 up",
    ),
    (
        "JETON.TAKE api alice one",
        "cost must be a whole number of units, from 0 up",
    ),
    (
        "JETON.TAKE two alice",
        "the key of this rule has 2 parts, not 1; write: rule part cost part",
    ),
    (
        "JETON.RESET two alice",
        "the key of this rule has 2 parts, not 1; write: rule part part",
    ),
    (
        "JETON.TAKE api alice 1 bob",
        "the key of this rule has 1 part, not 2",
    ),
    (
        "JETON.RESET resp alice bob",
        "the key of \"resp\" is one text",
    ),
    ("JETON.TAKE api", "jeton.take rule key [cost [part ...]]"),
    (
        "JETON.TAKE resp alice",
        "CL.THROTTLE and THROTTLE, which bring its quota",
    ),
    ("DEL alice", "JETON.RESET resp key forgets"),
    ("GET alice", "this server only limits"),
    ("SELECT 1", "there is one database, 0"),
    ("CLIENT KILL x", "CLIENT knows ID"),
    ("COMMAND GETKEYS x", "COMMAND knows COUNT"),
    ("HELLO 3 AUTHX", "HELLO takes"),
    ("HELLO 4", "NOPROTO unsupported protocol version"),
    ("AUTH x", "without any password configured"),
    ("CLIENT SETNAME \"a b\"", "cannot contain spaces"),
];

#[test]
fn what_is_wrong_names_the_fix() {
    let mut client = Client::new(RULES);
    for (line, words) in WRONG {
        let answer = client.say(line);
        assert!(
            answer.starts_with('-') && answer.contains(words),
            "{line}: {answer}"
        );
        assert_eq!(answer.matches('\n').count(), 1, "{answer}");
    }
    // None of that has charged anything, or broken the conversation.
    assert_eq!(client.five("JETON.CHECK api alice"), [1, 3, 3, -1, 0]);
    let (_, binary) = client.hear(&bulk(&[b"JETON.TAKE", b"api", b"\xff"]));
    assert!(binary.starts_with(b"-ERR jeton.take: rules and their keys are text in UTF-8"));
}

#[test]
fn after_farewell_and_after_a_mistake_nothing_more_is_read() {
    use super::Stopped;
    for (input, answer) in [
        (&b"QUIT\r\nPING\r\n"[..], "+OK\r\n"),
        (
            b"*1\r\n:\r\nPING\r\n",
            "-ERR Protocol error: expected '$', got ':'\r\n",
        ),
    ] {
        let (read, out) = Client::new(DOOR).hear(input);
        assert_eq!(read.why, Stopped::End);
        assert_eq!(String::from_utf8(out).unwrap(), answer);
    }
}

#[test]
fn answers_wait_for_whoever_does_not_take_them() {
    use super::Stopped;
    let mut client = Client::new(DOOR);
    let input = b"COMMAND\r\n".repeat(100);
    let (read, out) = client.hear(&input);
    assert_eq!(read.why, Stopped::Enough);
    assert!(read.taken < input.len() && read.taken > 0);
    assert!(out.len() < 64 << 10, "{}", out.len());
}
