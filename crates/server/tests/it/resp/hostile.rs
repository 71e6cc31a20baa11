//! Clients that mean no good cost bounded memory and hurt nobody else.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Client, command, serve};
use crate::support::binary::Running;
use crate::support::{eventually, is_full};

/// What the process holds of memory, in bytes.
fn resident(running: &Running) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", running.id())).expect("its status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.expect("a size") * 1024
}

/// Somebody who behaves is served all the while.
fn is_well(running: &Running) {
    let start = Instant::now();
    let mut client = Client::to(running);
    assert_eq!(client.send("PING\r\n").lines(1), "+PONG\r\n");
    assert_eq!(client.five("CL.THROTTLE honest 999999 1 1")[0], 0);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn claims_of_half_a_gigabyte_are_refused_before_anything_is_kept_for_them() {
    let jeton = serve("");
    is_well(&jeton);
    let before = resident(&jeton);
    for claim in [
        "*1\r\n$536870912\r\n",
        "*2\r\n$4\r\nECHO\r\n$536870912\r\nxxxx",
        "*2000000000\r\n",
        "*1\r\n$2147483647\r\n",
    ] {
        for _ in 0..50 {
            let mut client = Client::to(&jeton);
            client.send(claim);
            let answer = client.rest();
            assert!(answer.starts_with("-ERR Protocol error: "), "{answer}");
        }
    }
    let endless = vec![b'x'; 64 << 10];
    let mut client = Client::to(&jeton);
    let sent = client.0.write_all(&endless);
    assert!(sent.is_ok() || sent.is_err_and(|it| is_gone(it.kind())));
    assert!(client.rest().contains("invalid bulk length"));
    let grown = resident(&jeton).saturating_sub(before);
    println!("{grown} bytes more after all claims");
    assert!(grown < 8 << 20, "{grown} bytes");
    is_well(&jeton);
}

const fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

#[test]
fn half_a_command_holds_half_a_command() {
    let clients = if is_full() { 10_000 } else { 300 };
    let jeton = serve("max_connections = 20_000\n");
    is_well(&jeton);
    let before = resident(&jeton);
    let mut half = command(&[b"ECHO", &[b'x'; 15_000]]);
    half.truncate(8_000);
    let mut held: Vec<TcpStream> = (0..clients)
        .map(|_| TcpStream::connect(jeton.resp_address()).expect("a connection"))
        .collect();
    eventually("all are in", || {
        jeton.metric("jeton_door_connections{door=\"resp\"} ") == clients
    });
    for stream in &mut held {
        stream.write_all(&half).expect("sent");
    }
    is_well(&jeton);
    let each = resident(&jeton).saturating_sub(before) / clients;
    println!("{clients} clients hold {each} bytes each");
    assert!(each < 24 << 10, "{each} bytes each");
    drop(held);
    is_well(&jeton);
}

#[test]
fn who_does_not_take_answers_is_not_read_from() {
    let clients = 40;
    let jeton = serve("");
    is_well(&jeton);
    let before = resident(&jeton);
    let mut greedy: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let stream = TcpStream::connect(jeton.resp_address()).expect("a connection");
            stream.set_nonblocking(true).expect("no waiting");
            stream
        })
        .collect();
    let questions = b"COMMAND\r\n".repeat(2_000);
    // Until the sockets between here and there are full.
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        for stream in &mut greedy {
            match stream.write(&questions) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    is_well(&jeton);
    let each = resident(&jeton).saturating_sub(before) / clients;
    println!("{clients} clients who take nothing hold {each} bytes each");
    assert!(each < 128 << 10, "{each} bytes each");
}

#[test]
fn bytes_that_drip_make_the_same_commands() {
    let jeton = serve("");
    let mut client = Client::to(&jeton);
    let pipeline = [
        command(&[b"PING"]),
        command(&[b"CL.THROTTLE", b"drip", b"1", b"1", b"60"]),
        b"PING inline\r\n".to_vec(),
    ];
    for byte in pipeline.concat() {
        client.send([byte]);
    }
    let answer = client.lines(1 + 6 + 2);
    assert!(
        answer.starts_with("+PONG\r\n*5\r\n:0\r\n:2\r\n:1\r\n"),
        "{answer}"
    );
    assert!(answer.ends_with("$6\r\ninline\r\n"), "{answer}");
}

#[test]
fn a_browser_that_was_led_here_does_nothing() {
    let jeton = serve("");
    let mut client = Client::to(&jeton);
    let body = "CL.THROTTLE victim 0 1 3600\r\n";
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1:6380\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert!(
        client
            .rest()
            .starts_with("-ERR Protocol error: this is no HTTP server")
    );
    assert_eq!(Client::to(&jeton).five("CL.THROTTLE victim 0 1 3600")[0], 0);
}
