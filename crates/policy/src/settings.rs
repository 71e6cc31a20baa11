//! The sections of a policy file other than its rules, as they hold after every check.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use jeton_wire::client_ip::{self, Ipv6Prefix, Prefixes};
use jeton_wire::cors::Cors;
use jeton_wire::ratelimit::Dialects;

use crate::redis_url::RedisUrl;
use crate::rule::OnFailure;
use crate::secret::Secret;
use crate::{Origin, Setting};

/// Everything but the rules.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// `[proxy]`, if the file has one.
    pub proxy: Option<Proxy>,
    /// `[api]`, if the file has one.
    pub api: Option<Api>,
    /// `[store]`.
    pub store: Store,
    /// `[client_ip]`.
    pub client_ip: ClientIp,
    /// `[answer]`.
    pub answer: Answer,
    /// `[lists]`.
    pub lists: Lists,
}

/// `[proxy]`: stand in front of a service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proxy {
    /// Where clients connect.
    pub listen: Setting<Listen>,
    /// The service behind.
    pub upstream: Setting<Upstream>,
    /// How long a client may take to send its header fields. Default 10 s.
    pub header_timeout: Duration,
    /// How long a connection may stand still, between requests or within a body. Default 60 s.
    pub idle_timeout: Duration,
    /// How long connecting to the upstream may take. Default 5 s.
    pub connect_timeout: Duration,
    /// How long the upstream may take to begin its answer. Default 60 s.
    pub response_timeout: Duration,
    /// Client connections held at once; more wait to be accepted. Default 10 000.
    pub max_connections: u32,
}

impl Proxy {
    /// A proxy with the default bounds.
    pub const fn new(listen: Setting<Listen>, upstream: Setting<Upstream>) -> Self {
        Self {
            listen,
            upstream,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(60),
            max_connections: 10_000,
        }
    }
}

/// `[api]`: decisions, health and metrics.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Api {
    /// Where clients of the API connect.
    pub listen: Setting<Listen>,
    /// What callers of decisions prove themselves by; none on loopback only.
    pub token: Option<Secret>,
    /// What operators prove themselves by, who reset, block and override.
    pub admin_token: Option<Secret>,
    /// Peers whose word for a request's method, path and address `/v1/auth` believes.
    pub gateways: Prefixes,
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Listen {
    /// `"127.0.0.1:8080"`, `"[::]:8080"`. Port 0 lets the system choose one.
    Tcp(SocketAddr),
    /// `"unix:/run/jeton.sock"`. Clients have no address there.
    Unix(PathBuf),
}

impl Listen {
    /// Whether an upstream is this address, as far as its words tell: names other than `localhost`
    /// are not looked up.
    pub(crate) fn serves(&self, upstream: &Upstream) -> bool {
        let Self::Tcp(address) = self else {
            return false;
        };
        let here = address.ip().to_canonical();
        // Connecting to the unspecified address reaches this machine.
        let local = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        let same_host = match upstream.host.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
            Ok(there) if here.is_unspecified() || there.is_unspecified() => {
                let both = here.is_ipv6() && here.is_unspecified();
                (both || here.is_ipv4() == there.is_ipv4()) && local(here) && local(there)
            }
            Ok(there) => here == there,
            Err(_) => upstream.host.trim_end_matches('.') == "localhost" && local(here),
        };
        address.port() == upstream.port && same_host
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A service reached by plain HTTP: `"http://host:port"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// A name or an address; IPv6 addresses stand without brackets.
    pub host: String,
    /// The port; 80 if none was written.
    pub port: u16,
}

impl Upstream {
    /// `host:port`, as a URL has it.
    pub fn authority(&self) -> String {
        let Self { host, port } = self;
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority())
    }
}

/// `[store]`: where counters live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Store {
    /// What kind of store. Default [`StoreKind::Memory`].
    pub kind: StoreKind,
    /// Hard cap on keys. Default 1 000 000.
    pub max_keys: u64,
    /// Hard cap on the bytes of all state. Default 256 MiB.
    pub max_memory: u64,
    /// What happens to new keys when it is full. Default [`Overflow::Share`].
    pub overflow: Overflow,
    /// How long it may take to answer. Default 20 ms.
    pub timeout: Duration,
    /// What becomes of requests it gives no decision about. Default [`OnFailure::Allow`].
    pub on_failure: OnFailure,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            kind: StoreKind::Memory,
            max_keys: 1_000_000,
            max_memory: 256 << 20,
            overflow: Overflow::Share,
            timeout: Duration::from_millis(20),
            on_failure: OnFailure::Allow,
        }
    }
}

/// What kind of store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreKind {
    /// The memory of the process.
    Memory,
    /// A Redis or Valkey server, shared by all nodes that name the same one.
    Redis(Redis),
}

/// `[store] kind = "redis"`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redis {
    /// Where the server is: `redis://…`, `rediss://…`, `unix://…`, `redis-cluster://…`,
    /// `redis-sentinel://…`. It may hold a password.
    pub url: Secret,
    /// Where that was read: what stands elsewhere is not shown, not even its hosts.
    pub origin: Origin,
    /// With TLS: a file (PEM) with the root by which servers are believed, in the place of the
    /// system's.
    pub tls_root: Option<PathBuf>,
    /// Stands before every key. Two prefixes share nothing.
    pub prefix: String,
    /// Keys of clients stand in the server as a hash keyed with this.
    pub key_secret: Option<Secret>,
    /// For how long at most a denial is remembered, and answered without asking the server.
    pub deny_cache: Option<Duration>,
    /// Units that a process takes ahead.
    pub lease: Option<Lease>,
}

impl Redis {
    /// The server at `url`, asked about everything.
    pub const fn new(url: Secret) -> Self {
        Self {
            url,
            origin: Origin::Literal,
            tls_root: None,
            prefix: String::new(),
            key_secret: None,
            deny_cache: None,
            lease: None,
        }
    }

    /// Which servers the URL names.
    pub fn deployment(&self) -> Deployment {
        RedisUrl::parse(self.url.expose()).map_or(Deployment::One, |url| url.deployment)
    }

    /// Where the server is, in words that may be shown: hosts without user and password, or where
    /// the URL was read.
    ///
    /// ```
    /// use jeton_policy::{Redis, Secret};
    /// let redis = Redis::new(Secret::new("redis-cluster://me:hunter2@a,b:7000".to_owned()));
    /// assert_eq!(redis.place(), "a, b:7000");
    /// ```
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::Literal => RedisUrl::parse(self.url.expose())
                .map_or_else(|_| self.url.to_string(), |url| url.places.join(", ")),
            Origin::Env(name) => format!("what env {name} says"),
            Origin::File(path) => format!("what file {path} says"),
        }
    }
}

/// Which servers act as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deployment {
    /// One server.
    One,
    /// The primary that sentinels name.
    Sentinel,
    /// A cluster: keys live in slots, and slots on several servers.
    Cluster,
}

/// Units that a process takes ahead of a key that is in use, and spends without asking the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// How many at once.
    pub units: u64,
    /// For how long they are kept. Default 1 s.
    pub keep_for: Duration,
}

/// What happens to new keys when the store is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// They share a coarse estimate.
    Share,
    /// They are denied.
    Deny,
    /// They pass.
    Allow,
}

/// `[client_ip]`: who the client is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientIp {
    /// Where its address is read. The default is the socket.
    pub finder: client_ip::ClientIp,
    /// IPv6 addresses that share this many leading bits are one client. Default 64.
    pub ipv6_prefix: Ipv6Prefix,
}

/// `[answer]`: what clients are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The fields that carry limits. The default is `"ietf"`.
    pub headers: Dialects,
    /// Which scripts may read refusals. The default is none.
    pub cors: Option<Setting<Cors>>,
}

/// `[lists]`: addresses that no rule decides about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lists {
    /// Always pass, and are not charged.
    pub exempt: Prefixes,
    /// Never pass; stronger than `exempt`.
    pub block: Prefixes,
}
