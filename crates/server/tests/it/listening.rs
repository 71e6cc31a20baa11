//! TCP and Unix sockets, and addresses that cannot be had.

use std::sync::Arc;
use std::sync::Mutex;

use http::request;
use jeton_server::proxy::{self, Address, Admission, Admitted, Admitting, Pass, Peer, Settings};

use crate::support::proxy::Proxy;
use crate::support::upstream::Upstream;
use crate::support::{Folder, curl};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";

/// Everybody passes, and is remembered.
struct Noting(Arc<Mutex<Vec<Peer>>>);

impl Admission for Noting {
    fn admit(&self, _: &mut request::Parts, peer: Peer) -> Admitting {
        self.0.lock().expect("peers").push(peer);
        Admitting::Now(Admitted::Pass(Pass::default()))
    }
}

fn refusal(listen: Address) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let settings = Settings::new(listen, "http://127.0.0.1:1".parse().expect("a URL"));
    let bound = runtime
        .expect("a runtime")
        .block_on(async { proxy::bind(settings) });
    bound.err().expect("no listener").to_string()
}

#[test]
fn a_busy_port_is_named_with_the_way_out() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    let said = refusal(Address::Tcp(proxy.address()));
    assert!(said.contains(&proxy.address().to_string()), "{said}");
    assert!(
        said.contains("in use") && said.contains("`listen`"),
        "{said}"
    );
}

#[test]
fn an_address_of_another_machine_is_named_with_the_way_out() {
    let said = refusal("192.0.2.1:80".parse().expect("an address"));
    assert!(
        said.contains("192.0.2.1:80") && said.contains("0.0.0.0"),
        "{said}"
    );
}

#[test]
fn the_peers_address_is_known() {
    let upstream = Upstream::answering(OK);
    let peers = Arc::new(Mutex::new(Vec::new()));
    let proxy = Proxy::with(&upstream.url(), Noting(Arc::clone(&peers)), |settings| {
        settings.listen = "[::]:0".parse().expect("an address");
    });
    let port = proxy.address().port();
    curl(&["-f", &format!("http://127.0.0.1:{port}/")]);
    let ip = peers.lock().expect("peers")[0].ip().expect("an address");
    assert_eq!(
        ip.to_string(),
        "127.0.0.1",
        "IPv4 over a dual-stack socket is IPv4"
    );
}

#[test]
fn f40_behind_a_unix_socket_the_peer_has_no_address() {
    let folder = Folder::new();
    let path = folder.path().join("jeton.sock");
    let upstream = Upstream::answering(OK);
    let peers = Arc::new(Mutex::new(Vec::new()));
    let proxy = Proxy::with(&upstream.url(), Noting(Arc::clone(&peers)), |settings| {
        settings.listen = Address::Unix(path.clone());
    });
    let socket = path.to_str().expect("a path");
    assert_eq!(curl(&["-f", "--unix-socket", socket, "http://a/"]), "ok\n");
    assert_eq!(peers.lock().expect("peers")[0].address(), None);
    assert!(
        !upstream.heads()[0].contains("x-forwarded-for"),
        "{:?}",
        upstream.heads()
    );

    let said = refusal(Address::Unix(path.clone()));
    assert!(said.contains(socket) && said.contains("in use"), "{said}");
    drop(proxy);
    assert!(!path.exists(), "the file goes with the listener");
}

#[test]
fn a_socket_left_behind_is_replaced_but_no_other_file() {
    let folder = Folder::new();
    let stale = folder.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).expect("a socket"));
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::with(
        &upstream.url(),
        crate::support::admissions::Everybody,
        |settings| {
            settings.listen = Address::Unix(stale.clone());
        },
    );
    let socket = stale.to_str().expect("a path");
    assert_eq!(curl(&["-f", "--unix-socket", socket, "http://a/"]), "ok\n");
    drop(proxy);

    let file = folder.file("data", b"precious");
    let said = refusal(Address::Unix(file.clone()));
    assert!(said.contains("not a socket"), "{said}");
    assert_eq!(std::fs::read(file).expect("still there"), b"precious");
    let said = refusal(Address::Unix(folder.path().join("none/jeton.sock")));
    assert!(said.contains("does not exist"), "{said}");
}
