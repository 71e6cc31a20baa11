//! `MULTI` and `EXEC`, as clients wrap their pipelines.

use super::golden::{RULES, bulk};
use super::{Client, DOOR};

#[test]
fn what_is_kept_is_decided_at_exec_as_one_batch() {
    let mut client = Client::new(RULES);
    assert_eq!(client.say("MULTI"), "+OK\r\n");
    for line in [
        "CL.THROTTLE k 2 1 60",
        "JETON.TAKE api alice 2",
        "PING",
        "ECHO hello",
        "CL.THROTTLE k 2 1 60 3",
    ] {
        assert_eq!(client.say(line), "+QUEUED\r\n", "{line}");
    }
    let mut other = Client::new(RULES);
    std::mem::swap(&mut other.house, &mut client.house);
    assert_eq!(
        other.five("CL.THROTTLE k 2 1 60 0")[2],
        3,
        "nothing is charged yet"
    );
    std::mem::swap(&mut other.house, &mut client.house);
    let (_, out) = client.hear(b"EXEC\r\n");
    let out = String::from_utf8(out).unwrap();
    let expected = "*5\r\n*5\r\n:0\r\n:3\r\n:2\r\n:-1\r\n:60\r\n\
                    *5\r\n:1\r\n:3\r\n:1\r\n:-1\r\n:60000000\r\n\
                    +PONG\r\n$5\r\nhello\r\n\
                    *5\r\n:1\r\n:3\r\n:2\r\n:60\r\n:60\r\n";
    assert_eq!(out, expected);
    assert_eq!(client.say("EXEC"), "-ERR EXEC without MULTI\r\n");
}

#[test]
fn a_mistake_before_exec_charges_nothing() {
    for mistake in [
        "GET k",
        "CL.THROTTLE k",
        "HELLO 3",
        "INFO",
        "COMMAND DOCS",
        "SELECT 0",
    ] {
        let mut client = Client::new(RULES);
        assert_eq!(client.say("MULTI"), "+OK\r\n");
        assert_eq!(client.say("CL.THROTTLE k 2 1 60"), "+QUEUED\r\n");
        assert!(client.say(mistake).starts_with("-ERR "), "{mistake}");
        assert_eq!(client.say("CL.THROTTLE k 2 1 60"), "+QUEUED\r\n");
        assert!(client.say("EXEC").starts_with("-EXECABORT "), "{mistake}");
        assert_eq!(client.five("CL.THROTTLE k 2 1 60 0")[2], 3, "{mistake}");
    }
}

#[test]
fn what_is_discarded_charges_nothing() {
    let mut client = Client::new(RULES);
    assert_eq!(client.say("DISCARD"), "-ERR DISCARD without MULTI\r\n");
    assert_eq!(client.say("MULTI"), "+OK\r\n");
    assert!(client.say("MULTI").starts_with("-ERR MULTI calls"));
    assert_eq!(client.say("CL.THROTTLE k 2 1 60"), "+QUEUED\r\n");
    assert_eq!(client.say("DISCARD"), "+OK\r\n");
    assert_eq!(client.five("CL.THROTTLE k 2 1 60 0")[2], 3);
    assert_eq!(client.say("MULTI"), "+OK\r\n");
    assert_eq!(client.say("EXEC"), "*0\r\n");
}

#[test]
fn a_mistake_at_exec_is_that_commands_own() {
    let mut client = Client::new(RULES);
    let input = [
        &b"MULTI\r\n"[..],
        &bulk(&[b"JETON.TAKE", b"nothing", b"k"]),
        &bulk(&[b"CL.THROTTLE", b"k", b"2", b"1", b"60"]),
        b"EXEC\r\n",
    ];
    let (_, out) = client.hear(&input.concat());
    let out = String::from_utf8(out).unwrap();
    let head = "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR jeton.take: ";
    assert!(out.starts_with(head), "{out}");
    assert!(
        out.ends_with("*5\r\n:0\r\n:3\r\n:2\r\n:-1\r\n:60\r\n"),
        "{out}"
    );
}

#[test]
fn a_transaction_is_bounded() {
    let mut client = Client::new(DOOR);
    assert_eq!(client.say("MULTI"), "+OK\r\n");
    for _ in 0..1_000 {
        assert_eq!(client.say("CL.THROTTLE k 99 1 60"), "+QUEUED\r\n");
    }
    assert!(
        client
            .say("PING")
            .contains("too long: it may have 1000 commands")
    );
    assert!(client.say("EXEC").starts_with("-EXECABORT "));

    assert_eq!(client.say("MULTI"), "+OK\r\n");
    let long = bulk(&[b"ECHO", &[b'x'; 16_000]]);
    let kept = (0..100).filter(|_| client.hear(&long).1 == b"+QUEUED\r\n");
    assert_eq!(kept.count(), 16);
    assert_eq!(client.say("DISCARD"), "+OK\r\n");
}

#[test]
fn all_open_transactions_together_are_bounded() {
    use super::super::session::{Session, Turn};
    let mut client = Client::new(DOOR);
    let long = [
        &b"MULTI\r\n"[..],
        &bulk(&[b"ECHO", &[b'x'; 16_000]]).repeat(16),
    ]
    .concat();
    let mut sessions = Vec::new();
    let mut kept = 0;
    for id in 0..400 {
        client.session = Session::new(id);
        client.turn = Turn::default();
        let (_, out) = client.hear(&long);
        kept += out.windows(9).filter(|it| it == b"+QUEUED\r\n").count();
        sessions.push(std::mem::replace(&mut client.session, Session::new(0)));
    }
    assert_eq!(kept, (64 << 20) / (16_000 + 16));
    // Who goes away makes room.
    sessions.clear();
    client.session = Session::new(1);
    assert_eq!(client.say("MULTI"), "+OK\r\n");
    assert_eq!(client.say("PING"), "+QUEUED\r\n");
}
