//! The door of the proxy, in the real binary, before nginx: what clients get is right and true.

mod answers;
mod counting;
mod keys;
mod rules;
mod settings;

use std::net::SocketAddr;

use crate::support::binary::Running;
use crate::support::nginx::Nginx;
use crate::support::raw::{Raw, Reply};

/// nginx behind `jeton serve`, with an API beside it.
pub(crate) struct Guarded {
    pub(crate) jeton: Running,
    pub(crate) nginx: Nginx,
}

impl Guarded {
    /// `policy` is everything but `[proxy]` and `[api]`.
    pub(crate) fn by(policy: &str) -> Self {
        let nginx = Nginx::start();
        let jeton = Running::serve(&format!(
            "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{}\"\n[api]\nlisten = \"127.0.0.1:0\"\n{policy}",
            nginx.url()
        ));
        Self { jeton, nginx }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.jeton.proxy_address()
    }

    /// A connection to ask on, over and over.
    pub(crate) fn client(&self) -> Client {
        Client(Raw::connect(self.address()))
    }

    /// Asks once, on a connection of its own.
    pub(crate) fn get(&self, path: &str, fields: &str) -> Reply {
        self.client().ask("GET", path, fields)
    }
}

/// One connection.
pub(crate) struct Client(Raw);

impl Client {
    /// One exchange; `fields` are whole lines.
    pub(crate) fn ask(&mut self, method: &str, path: &str, fields: &str) -> Reply {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: api.example\r\n{fields}\r\n");
        self.0.send(&head);
        if method == "HEAD" {
            self.0.read_head()
        } else {
            self.0.read_response()
        }
    }

    /// How many of `requests` are answered 200, the others being 429.
    pub(crate) fn passes(&mut self, requests: usize, path: &str, fields: &str) -> usize {
        let statuses: Vec<u16> = (0..requests)
            .map(|_| self.ask("GET", path, fields).status())
            .collect();
        assert!(
            statuses.iter().all(|status| matches!(status, 200 | 429)),
            "{statuses:?}"
        );
        statuses.iter().filter(|status| **status == 200).count()
    }
}

/// `X-Forwarded-For` is believed of this machine.
pub(crate) const BEHIND_A_PROXY: &str =
    "[client_ip]\nheader = \"x-forwarded-for\"\ntrusted = [\"127.0.0.0/8\"]\n";
