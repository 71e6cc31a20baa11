//! Who is answered: programs on this machine, and no page of a foreign site.

use super::{api, json};
use crate::support::curl;
use crate::support::raw::{Raw, Reply, exchange};

const RULE: &str = "[[rule]]\nname = \"api\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/h\"\nburst = 1000\n";

const BODY: &str = "{\"rule\":\"api\",\"key\":\"a\"}";

#[test]
fn only_hosts_of_this_machine_are_answered() {
    let jeton = api(RULE);
    let address = jeton.api_address();
    let get = |host: &str| {
        exchange(
            address,
            &format!("GET /v1/rules HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
        )
    };
    for host in ["localhost", "127.0.0.1:7070", "[::1]", "LOCALHOST:1"] {
        assert_eq!(get(&format!("Host: {host}\r\n")).status(), 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "",
        "127.0.0.1.evil.example:80",
    ] {
        let refused = get(&format!("Host: {host}\r\n"));
        assert_eq!(
            (refused.status(), json(&refused)["status"].clone()),
            (403, 403.into()),
            "{host}"
        );
    }
    // A target with a host of its own does not get around it.
    let absolute =
        "GET http://evil.example/v1/rules HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange(address, absolute).status(), 403);
    let two = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_ne!(exchange(address, two).status(), 200);
    let rebound = curl(&[
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "--resolve",
        &format!("evil.example:{}:127.0.0.1", address.port()),
        &format!("http://evil.example:{}/v1/rules", address.port()),
    ]);
    assert_eq!(rebound, "403");
}

fn take(address: std::net::SocketAddr, fields: &str) -> Reply {
    let length = BODY.len();
    let head = format!(
        "POST /v1/take HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n"
    );
    Raw::connect(address)
        .send(&format!("{head}{fields}\r\n{BODY}"))
        .read_to_end()
}

#[test]
fn writes_need_json_and_no_foreign_origin() {
    let jeton = api(RULE);
    let address = jeton.api_address();
    for fields in [
        "Content-Type: application/json\r\n".to_owned(),
        "Content-Type: Application/JSON; charset=utf-8\r\n".to_owned(),
        format!("Content-Type: application/json\r\nOrigin: http://{address}\r\n"),
    ] {
        assert_eq!(take(address, &fields).status(), 200, "{fields}");
    }
    for fields in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
    ] {
        assert_eq!(take(address, fields).status(), 415, "{fields}");
    }
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost",
        "http://127.0.0.1:1",
    ] {
        let fields = format!("Content-Type: application/json\r\nOrigin: {origin}\r\n");
        assert_eq!(take(address, &fields).status(), 403, "{origin}");
    }
    let told = jeton.metrics();
    assert!(told.contains("outcome=\"allowed\"} 3\n"), "{told}");
}

#[test]
fn a_body_that_does_not_come_costs_nothing_but_its_connection() {
    let jeton = api(RULE);
    let address = jeton.api_address();
    let head = "POST /v1/take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{";
    let mut silent = Raw::connect(address);
    silent.send(head);
    assert_eq!(
        take(address, "Content-Type: application/json\r\n").status(),
        200
    );
    let reply = silent.read_response();
    assert_eq!(reply.status(), 408);
}

#[test]
fn a_unix_socket_asks_for_no_host() {
    use std::io::{Read, Write};
    let folder = crate::support::Folder::new();
    let socket = folder.path().join("api.sock");
    let policy = format!("[api]\nlisten = \"unix:{}\"\n{RULE}", socket.display());
    let _jeton = crate::support::binary::Running::serve(&policy);
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).expect("a connection");
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: jeton\r\nConnection: close\r\n\r\n")
        .expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    assert!(
        text.starts_with("HTTP/1.1 200") && text.ends_with("ok\n"),
        "{text}"
    );
}

#[test]
fn other_methods_are_held_to_the_same() {
    let jeton = api(RULE);
    let address = jeton.api_address();
    let ask = |method: &str, target: &str, fields: &str| {
        let head =
            format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        exchange(address, &format!("{head}{fields}\r\n"))
    };
    let foreign = "Origin: https://evil.example\r\n";
    for (method, target) in [
        ("PUT", "/v1/overrides/api/a"),
        ("DELETE", "/v1/overrides/api/a"),
        ("PUT", "/v1/modes/api"),
        ("DELETE", "/v1/modes/api"),
        ("POST", "/v1/block"),
        ("POST", "/v1/batch"),
    ] {
        assert_eq!(
            ask(method, target, foreign).status(),
            403,
            "{method} {target}"
        );
        // Nothing can be lifted, but whoever asks is heard.
        let expected = if method == "DELETE" { 404 } else { 415 };
        assert_eq!(
            ask(method, target, "").status(),
            expected,
            "{method} {target}"
        );
    }
    // A page may ask what it may do, and is given no leave.
    let asked = ask("OPTIONS", "/v1/overrides/api/a", foreign);
    assert_eq!(
        (asked.status(), asked.field("access-control-allow-origin")),
        (204, None)
    );
    assert_eq!(asked.field("allow"), Some("GET,HEAD,PUT,DELETE"));
    let head = ask("HEAD", "/v1/rules", "");
    assert_eq!((head.status(), head.body()), (200, ""));
    assert_eq!(ask("POST", "/v1/rules", "").status(), 405);
}
