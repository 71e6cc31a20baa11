//! The sections of a policy file other than its rules, as they hold after every check.

mod doors;
mod rls;
mod store;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use jeton_wire::client_ip::{self, Ipv6Prefix, Prefixes};
use jeton_wire::cors::Cors;
use jeton_wire::ratelimit::Dialects;

use crate::secret::Secret;

use crate::Setting;
pub use doors::{DoorLimits, Resp};
pub use rls::{Rls, Tls};
pub use store::{Deployment, Disk, DiskSync, Lease, Overflow, Redis, Store, StoreKind};

/// Everything but the rules.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// `[proxy]`, if the file has one.
    pub proxy: Option<Proxy>,
    /// `[api]`, if the file has one.
    pub api: Option<Api>,
    /// `[rls]`, if the file has one.
    pub rls: Option<Rls>,
    /// `[resp]`, if the file has one.
    pub resp: Option<Resp>,
    /// `[store]`.
    pub store: Store,
    /// `[client_ip]`.
    pub client_ip: ClientIp,
    /// `[answer]`.
    pub answer: Answer,
    /// `[lists]`.
    pub lists: Lists,
}

impl Settings {
    /// Whether there is anything to serve.
    pub const fn has_doors(&self) -> bool {
        self.proxy.is_some() || self.api.is_some() || self.rls.is_some() || self.resp.is_some()
    }
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
    /// Client connections, beyond which more wait to be accepted; and requests decided about at once.
    pub limits: DoorLimits,
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
            limits: DoorLimits::DEFAULT,
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
    /// Connections, beyond which more wait to be accepted; and calls decided about at once.
    pub limits: DoorLimits,
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
