//! What is held while the upstream answers: told of its head and of its end, or dropped; and what
//! becomes of the charge.

mod budget;
mod concurrency;
mod forwarding;
mod login;
mod seam;

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crate::support::binary::Running;
use crate::support::raw::{Raw, Reply};
use crate::support::upstream::{Accepted, Upstream};

/// `jeton serve` before an upstream that does what the query of a request says.
///
/// - `status=401`: answers so; 200 otherwise.
/// - `delay=20`: after so many milliseconds.
/// - `units=7`: with `X-Units: 7`; `trailer=7`: with that in a trailer.
/// - `pause=300`: and so many milliseconds between the two halves of its body.
/// - `die=head`, `die=body`: breaks off before its head, or between the halves.
struct Behind {
    jeton: Running,
    upstream: Upstream,
}

impl Behind {
    /// `policy` is everything but `[proxy]` and `[api]`.
    fn by(policy: &str) -> Self {
        let upstream = Upstream::start(|accepted| {
            while let Some((head, _)) = accepted.read_request() {
                if !obey(accepted, &head) {
                    return;
                }
            }
        });
        let jeton = Running::serve(&format!(
            "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{}\"\n[api]\nlisten = \"127.0.0.1:0\"\n\
             {policy}",
            upstream.url()
        ));
        Self { jeton, upstream }
    }

    fn address(&self) -> SocketAddr {
        self.jeton.proxy_address()
    }

    fn client(&self) -> Client {
        Client(Raw::connect(self.address()))
    }

    /// Asks on a connection of its own.
    fn ask(&self, target: &str, fields: &str) -> Reply {
        self.client().ask(target, fields)
    }

    /// How many requests have reached the upstream.
    fn reached(&self) -> usize {
        let heads = self.upstream.heads();
        heads
            .iter()
            .filter(|head| head.contains("HTTP/1.1"))
            .count()
    }
}

/// One connection.
struct Client(Raw);

impl Client {
    fn send(&mut self, target: &str, fields: &str) -> &mut Raw {
        let head =
            format!("POST {target} HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: 0\r\n\r\n");
        self.0.send(&head)
    }

    fn ask(&mut self, target: &str, fields: &str) -> Reply {
        self.send(target, fields).read_response()
    }

    /// Leaves with a reset, which is noticed at once.
    fn reset(self) {
        let socket = socket2::Socket::from(self.0.0);
        let linger = socket.set_linger(Some(Duration::ZERO));
        linger.expect("a socket that resets");
    }
}

/// What is left of the one rule that a reply tells of.
fn remaining(reply: &Reply) -> u64 {
    let told = reply.field("ratelimit").expect("a limit");
    let rest = told
        .split("r=")
        .nth(1)
        .and_then(|rest| rest.split(';').next());
    rest.and_then(|rest| rest.parse().ok()).expect("a number")
}

/// Does what a request asks for; false if that was to break off.
fn obey(accepted: &mut Accepted, head: &str) -> bool {
    let target = head.split(' ').nth(1).expect("a target");
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let wish = |name: &str| {
        let wishes = query.split('&').filter_map(|wish| wish.split_once('='));
        wishes
            .into_iter()
            .find(|wish| wish.0 == name)
            .map(|wish| wish.1)
    };
    let nap = |name: &str| {
        let ms = wish(name).map_or(0, |ms| ms.parse().expect("milliseconds"));
        thread::sleep(Duration::from_millis(ms));
    };
    nap("delay");
    if wish("die") == Some("head") {
        return false;
    }
    let status = wish("status").unwrap_or("200");
    let units = wish("units").map_or(String::new(), |units| format!("X-Units: {units}\r\n"));
    let trailer = wish("trailer").map_or(String::new(), |units| format!("X-Units: {units}\r\n"));
    accepted.write(&format!(
        "HTTP/1.1 {status} So\r\n{units}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
    ));
    nap("pause");
    if wish("die") == Some("body") {
        return false;
    }
    accepted.write(&format!("2\r\ncd\r\n0\r\n{trailer}\r\n"));
    true
}
