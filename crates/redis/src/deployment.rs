//! Which servers a URL names.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisError};

/// The port of a sentinel.
const SENTINEL_PORT: u16 = 26379;

/// One server, or several that act as one.
#[derive(Clone, Debug)]
pub(crate) enum Deployment {
    One(ConnectionInfo),
    /// Nodes of a cluster to ask for all others.
    Cluster(Vec<ConnectionInfo>),
    /// Sentinels to ask which server is the primary, by this name; all but the address is known.
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        name: String,
        primary: ConnectionInfo,
    },
}

impl Deployment {
    pub(crate) fn read(url: &str, root: Option<&[u8]>) -> Result<Self, String> {
        let info = |url: &str| info(url, root);
        let (scheme, rest) = url.split_once("://").ok_or("it has no scheme")?;
        let plain = if scheme.starts_with("rediss") {
            "rediss"
        } else {
            "redis"
        };
        match scheme {
            "redis-cluster" | "rediss-cluster" => {
                let nodes = hosts(rest)?;
                let node =
                    |host: &str| info(&format!("{plain}://{}{host}{}", nodes.user, nodes.path));
                let nodes: Result<_, String> = nodes.names.iter().map(|host| node(host)).collect();
                nodes.map(Self::Cluster)
            }
            "redis-sentinel" | "rediss-sentinel" => {
                let all = hosts(rest)?;
                let mut path = all.path.trim_start_matches('/').splitn(2, '/');
                let name = path.next().filter(|name| !name.is_empty());
                let name = name.ok_or("after the sentinels comes /NAME of the primary")?;
                let db = path.next().unwrap_or_default();
                let sentinel = |host: &str| {
                    let port = if host.contains(':') {
                        String::new()
                    } else {
                        format!(":{SENTINEL_PORT}")
                    };
                    info(&format!("redis://{host}{port}"))
                };
                let sentinels: Result<_, String> =
                    all.names.iter().map(|host| sentinel(host)).collect();
                Ok(Self::Sentinel {
                    sentinels: sentinels?,
                    name: name.to_owned(),
                    primary: info(&format!("{plain}://{}primary/{db}", all.user))?,
                })
            }
            _ => info(url).map(Self::One),
        }
    }

    /// The servers that the URL names.
    pub(crate) fn servers(&self) -> Vec<String> {
        let named = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Cluster(nodes) => nodes,
            Self::Sentinel { sentinels, .. } => sentinels,
        };
        named.iter().map(|info| info.addr().to_string()).collect()
    }
}

/// The same user and all else, at another address.
pub(crate) fn at(template: &ConnectionInfo, host: &str, port: u16) -> ConnectionInfo {
    let host = host.to_owned();
    let addr = match template.addr() {
        ConnectionAddr::TcpTls {
            insecure,
            tls_params,
            ..
        } => ConnectionAddr::TcpTls {
            host,
            port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        _ => ConnectionAddr::Tcp(host, port),
    };
    template.clone().set_addr(addr)
}

struct Hosts<'a> {
    /// With its `@`, or empty.
    user: &'a str,
    names: Vec<&'a str>,
    /// With its `/`, or empty.
    path: &'a str,
}

fn hosts(rest: &str) -> Result<Hosts<'_>, String> {
    let (user, rest) = rest.split_at(rest.rfind('@').map_or(0, |at| at + 1));
    let (hosts, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let names: Vec<&str> = hosts.split(',').collect();
    if names.iter().any(|host| host.is_empty()) {
        return Err("a host is missing between commas".to_owned());
    }
    Ok(Hosts { user, names, path })
}

fn info(url: &str, root: Option<&[u8]>) -> Result<ConnectionInfo, String> {
    let told = |error: RedisError| error.category().to_owned();
    let info = url.into_connection_info().map_err(told)?;
    if !info.addr().is_supported() {
        return Err("this build has no TLS (feature `tls`)".to_owned());
    }
    let info = with_root(info, root).map_err(told)?;
    // A call is one small packet, and somebody waits for it.
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    Ok(info.set_tcp_settings(tcp))
}

/// Where the certificate is to be signed by this root (PEM), if there is one.
#[cfg(feature = "tls")]
fn with_root(info: ConnectionInfo, root: Option<&[u8]>) -> Result<ConnectionInfo, RedisError> {
    if !matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
        return Ok(info);
    }
    // Whoever is the first to say so has chosen for the whole process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(root) = root else { return Ok(info) };
    let certificates = redis::TlsCertificates {
        client_tls: None,
        root_cert: Some(root.to_vec()),
    };
    let client = redis::Client::build_with_tls(info, certificates)?;
    Ok(client.get_connection_info().clone())
}

#[cfg(not(feature = "tls"))]
#[allow(clippy::unnecessary_wraps)] // the other one may fail
fn with_root(info: ConnectionInfo, _root: Option<&[u8]>) -> Result<ConnectionInfo, RedisError> {
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_url_names_any_deployment() {
        let one = Deployment::read("redis://:pw@one:1/2", None).unwrap();
        assert_eq!(one.servers(), ["one:1"]);
        let Deployment::Cluster(nodes) =
            Deployment::read("redis-cluster://u:p@a,b:7", None).unwrap()
        else {
            panic!("a cluster")
        };
        assert_eq!(nodes[0].addr().to_string(), "a:6379");
        assert_eq!(nodes[1].redis_settings().username(), Some("u"));
        let url = "redis-sentinel://:p@a,b:7/mine/3";
        let Deployment::Sentinel {
            sentinels,
            name,
            primary,
        } = Deployment::read(url, None).unwrap()
        else {
            panic!("sentinels")
        };
        assert_eq!(
            (sentinels[0].addr().to_string().as_str(), name.as_str()),
            ("a:26379", "mine")
        );
        assert_eq!(sentinels[0].redis_settings().password(), None);
        assert_eq!(
            (
                primary.redis_settings().password(),
                primary.redis_settings().db()
            ),
            (Some("p"), 3)
        );
        assert_eq!(at(&primary, "c", 5).addr().to_string(), "c:5");
    }

    #[test]
    fn urls_that_name_nothing_are_refused() {
        for url in [
            "",
            "host:1",
            "http://a",
            "redis-cluster://a,,b",
            "redis-sentinel://a,b",
        ] {
            assert!(Deployment::read(url, None).is_err(), "{url}");
        }
    }
}
