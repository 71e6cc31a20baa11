//! Under load no request is lost, and memory stays flat.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::nginx::Nginx;
use crate::support::proxy::Proxy;
use crate::support::raw::Raw;
use crate::support::upstream::{Accepted, Upstream};
use crate::support::{Folder, curl, is_full, noise, run};

/// The example `open_door`: the engine in a process of its own, so that its memory can be told
/// from the test's.
struct OpenDoor {
    child: Child,
    address: SocketAddr,
}

impl OpenDoor {
    fn start(upstream: &str) -> Self {
        let program = Self::program();
        let child = Command::new(&program)
            .args(["127.0.0.1:0", upstream, "2"])
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!(
                "{}: {error}; build it: cargo build --examples",
                program.display()
            )
        });
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("its address");
        let address = line.trim().parse().expect("an address");
        Self { child, address }
    }

    /// Cargo puts examples beside the folder of the tests.
    fn program() -> PathBuf {
        let test = std::env::current_exe().expect("this program's path");
        let folder = test.ancestors().nth(2).expect("the target folder");
        folder.join("examples").join("open_door")
    }

    /// Resident bytes, now and at most.
    fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("its status");
        let read = |name: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .expect("a line");
            line.split_whitespace()
                .next()
                .and_then(|it| it.parse::<u64>().ok())
                .expect("kB")
                << 10
        };
        (read("VmRSS:"), read("VmHWM:"))
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn wrk_loses_no_request() {
    let nginx = Nginx::start();
    let door = OpenDoor::start(&nginx.url());
    let span = if is_full() { "10s" } else { "2s" };
    let output = run(
        "wrk",
        &["-t1", "-c64", "-d", span, "--latency", &door.url("/quiet")],
    );
    let report = String::from_utf8_lossy(&output.stdout);
    println!("{report}");
    assert!(
        output.status.success() && report.contains("requests in"),
        "{report}"
    );
    assert!(!report.contains("Socket errors"), "{report}");
    assert!(!report.contains("Non-2xx"), "{report}");
    let (resident, most) = door.memory();
    println!(
        "resident {} KiB, at most {} KiB",
        resident >> 10,
        most >> 10
    );
    assert!(most < 64 << 20, "{most} bytes for 64 connections");
}

#[test]
fn large_bodies_do_not_stay_in_memory() {
    let nginx = Nginx::start();
    let door = OpenDoor::start(&nginx.url());
    let folder = Folder::new();
    let file = folder.file("large", &noise(64 << 20));
    let file = file.to_str().expect("a path");
    let url = door.url("/files/large");
    curl(&["-f", "-T", file, &url]);
    let (warm, _) = door.memory();
    for _ in 0..if is_full() { 8 } else { 2 } {
        curl(&["-f", "-T", file, "-H", "Transfer-Encoding: chunked", &url]);
        curl(&["-f", "-o", "/dev/null", &url]);
    }
    // And a client that takes its time, so that the proxy has to make the upstream wait.
    let mut client = Raw::connect(door.address);
    client.send("GET /files/large HTTP/1.1\r\nHost: a\r\n\r\n");
    thread::sleep(Duration::from_millis(500));
    let mut buffer = vec![0; 1 << 16];
    client.0.read_exact(&mut buffer).expect("the beginning");
    let (resident, most) = door.memory();
    println!(
        "resident {} KiB after {} KiB, at most {}",
        resident >> 10,
        warm >> 10,
        most >> 10
    );
    assert!(
        most < warm + (8 << 20),
        "{most} bytes at most, {warm} at the start"
    );
}

#[test]
fn many_connections_come_and_go() {
    let nginx = Nginx::start();
    let door = OpenDoor::start(&nginx.url());
    let visit = || {
        let mut stream = TcpStream::connect(door.address).expect("a connection");
        let request = b"GET /quiet HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(request).expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        assert!(reply.ends_with("answer\n"), "{reply}");
    };
    (0..500).for_each(|_| visit());
    let (warm, _) = door.memory();
    (0..if is_full() { 20_000 } else { 2_000 }).for_each(|_| visit());
    let (resident, _) = door.memory();
    assert!(resident < warm + (4 << 20), "{resident} bytes after {warm}");
}

/// Echoes in pieces of changing sizes, pausing now and then, so that every wait on the way is
/// entered and left in every order.
fn echo_haltingly(accepted: &mut Accepted) {
    while let Some((_, body)) = accepted.read_request() {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        accepted.write(&head);
        let mut rest = body.as_slice();
        let mut piece = 1 + body.len() % 977;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            if accepted.stream.get_mut().write_all(now).is_err() {
                return;
            }
            if piece % 3 == 0 {
                thread::sleep(Duration::from_micros(50));
            }
            rest = later;
            piece = 1 + piece * 7 % 30_011;
        }
    }
}

#[test]
fn no_exchange_is_forgotten() {
    let upstream = Upstream::start(echo_haltingly);
    let proxy = Proxy::start(&upstream.url());
    let rounds = if is_full() { 2_000 } else { 100 };
    let clients: Vec<_> = (0..12_usize)
        .map(|client| {
            let address = proxy.address();
            thread::spawn(move || {
                let mut stream = BufReader::new(Raw::connect(address).0);
                for round in 0..rounds {
                    let sent = noise((client * 7919 + round * 104_729) % 120_000);
                    let head = format!(
                        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                        sent.len()
                    );
                    let mut request = head.into_bytes();
                    request.extend_from_slice(&sent);
                    stream.get_mut().write_all(&request).expect("sent");
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        assert_ne!(stream.read_line(&mut head).expect("a line"), 0, "{head}");
                    }
                    assert!(
                        head.starts_with("HTTP/1.1 200"),
                        "{client}, {round}: {head}"
                    );
                    let mut back = vec![0; sent.len()];
                    stream.read_exact(&mut back).expect("the echo");
                    assert!(back == sent, "{client}, {round}: another body came back");
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("a client that got all its answers");
    }
}
