//! Policies that change while they are served, in the real binary.

mod callers;
mod load;
mod noticing;
mod refusing;
mod state;

use std::time::{Duration, Instant};

use crate::support::Folder;
use crate::support::binary::Running;
use crate::support::raw::{Raw, Reply, exchange};
use crate::support::upstream::Upstream;

/// How soon a change must be in force.
const NOTICED: Duration = Duration::from_secs(2);

const GENERATION: &str = "jeton_config_generation";

/// An upstream that agrees to everything behind `jeton serve`, whose file can be changed.
struct Changing {
    jeton: Running,
    upstream: Upstream,
}

/// One rule for each client, told by a field that it sends.
fn five_per_hour(limit: u32) -> String {
    rule("five", &format!("limit = {limit}\nwindow = \"1h\""))
}

fn rule(name: &str, settings: &str) -> String {
    format!(
        "[[rule]]\nname = \"{name}\"\nkey = [\"header:x-user\"]\nalgorithm = \"sliding-log\"\n\
         {settings}\n"
    )
}

fn sections(upstream: &Upstream) -> String {
    format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{}\"\n[api]\nlisten = \"127.0.0.1:0\"\n",
        upstream.url()
    )
}

impl Changing {
    /// `rules` is everything but `[proxy]` and `[api]`.
    fn by(rules: &str) -> Self {
        Self::within(Folder::new(), "jeton.toml", |folder, text| {
            folder.file("jeton.toml", format!("{text}{rules}").as_bytes());
        })
    }

    /// `lay` puts a file that begins with a text into a folder, at `path` or behind it.
    fn within(folder: Folder, path: &str, lay: impl FnOnce(&Folder, &str)) -> Self {
        let upstream = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        lay(&folder, &sections(&upstream));
        let jeton = Running::serve_from(folder, path);
        Self { jeton, upstream }
    }

    /// The whole file with these rules.
    fn text(&self, rules: &str) -> String {
        format!("{}{rules}", sections(&self.upstream))
    }

    /// Writes the file in place.
    fn write(&self, rules: &str) {
        let text = self.text(rules);
        self.jeton.folder().file("jeton.toml", text.as_bytes());
    }

    /// Puts another file in its place.
    fn rename_over(&self, rules: &str) {
        let folder = self.jeton.folder();
        let fresh = folder.file("jeton.toml.new", self.text(rules).as_bytes());
        std::fs::rename(fresh, folder.path().join("jeton.toml")).expect("renamed");
    }

    fn generation(&self) -> u64 {
        metric(&self.metrics(), GENERATION)
    }

    /// Fails unless a policy that was given up at `since` has been replaced in time.
    fn reaches(&self, generation: u64, since: Instant) {
        loop {
            let found = self.generation();
            if found >= generation {
                assert_eq!(found, generation, "{}", self.jeton.log());
                return;
            }
            let waited = since.elapsed();
            let log = self.jeton.log();
            assert!(waited < NOTICED, "policy {found} after {waited:?}: {log}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Changes something and waits for the next policy.
    fn after(&self, change: impl FnOnce()) {
        let next = self.generation() + 1;
        let since = Instant::now();
        change();
        self.reaches(next, since);
    }

    fn hang_up(&self) {
        self.jeton.signal("-HUP");
    }

    fn metrics(&self) -> String {
        self.call("/metrics").text
    }

    fn call(&self, path: &str) -> Reply {
        let address = self.jeton.api_address();
        let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        exchange(address, &head)
    }

    fn client(&self, name: &str) -> Client {
        Client {
            raw: Raw::connect(self.jeton.proxy_address()),
            head: format!("GET / HTTP/1.1\r\nHost: a\r\nX-User: {name}\r\n\r\n"),
        }
    }
}

/// A value of `/metrics`.
fn metric(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {metrics}"))
}

/// A user on one connection.
struct Client {
    raw: Raw,
    head: String,
}

impl Client {
    fn ask(&mut self) -> Reply {
        self.raw.send(&self.head).read_response()
    }

    /// How many of `requests` pass, the others being denied.
    fn passes(&mut self, requests: usize) -> usize {
        let statuses: Vec<u16> = (0..requests).map(|_| self.ask().status()).collect();
        let known = statuses.iter().all(|status| matches!(status, 200 | 429));
        assert!(known, "{statuses:?}");
        statuses.iter().filter(|status| **status == 200).count()
    }
}
