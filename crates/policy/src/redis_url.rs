//! URLs of Redis and Valkey servers, as far as a policy has to know them: which kind of deployment,
//! which hosts, and whether a password stands there. No message repeats any part of one.

use crate::diagnostic::{Fault, code, nearest};
use crate::settings::Deployment;

/// Each scheme with what it stands for, and whether it speaks TLS.
const SCHEMES: [(&str, Stands, bool); 11] = [
    ("redis", Stands::Host, false),
    ("rediss", Stands::Host, true),
    ("redis-sentinel", Stands::Sentinels, false),
    ("rediss-sentinel", Stands::Sentinels, true),
    ("redis-cluster", Stands::Cluster, false),
    ("rediss-cluster", Stands::Cluster, true),
    ("unix", Stands::Socket, false),
    ("valkey", Stands::Host, false),
    ("valkeys", Stands::Host, true),
    ("redis+unix", Stands::Socket, false),
    ("valkey+unix", Stands::Socket, false),
];

/// Every scheme that a URL may have.
pub(crate) fn schemes() -> Vec<&'static str> {
    SCHEMES.iter().map(|(scheme, ..)| *scheme).collect()
}

/// What a scheme stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Host,
    Sentinels,
    Cluster,
    Socket,
}

/// A URL that a store can connect to, as far as its words tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RedisUrl<'u> {
    pub(crate) deployment: Deployment,
    pub(crate) tls: bool,
    /// Hosts as they are written, or the path of a socket: what may be shown of a URL that stands
    /// in a file.
    pub(crate) places: Vec<&'u str>,
    pub(crate) has_password: bool,
}

impl<'u> RedisUrl<'u> {
    /// Reads what stands before, between and behind the hosts.
    pub(crate) fn parse(url: &'u str) -> Result<Self, Fault> {
        let (scheme, rest) = url.split_once("://").ok_or_else(no_scheme)?;
        let known = SCHEMES.iter().find(|(name, ..)| *name == scheme);
        let (_, stands, tls) = *known.ok_or_else(|| unknown_scheme(scheme))?;
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        if stands == Stands::Socket {
            return socket(authority, path, query);
        }
        if rest.contains('@') {
            return Err(fault("has an @ behind its first / ? or #")
                .label("in a password these are written %2F %3F %23, and @ is %40")
                .fix("the user and the password percent-encoded"));
        }
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let places: Vec<&str> = hosts.split(',').collect();
        if stands == Stands::Host && places.len() > 1 {
            return Err(fault("names several hosts, and its scheme is for one").fix(
                "url = \"redis-cluster://HOST,HOST\", or \"redis-sentinel://HOST,HOST/NAME\"",
            ));
        }
        places.iter().try_for_each(|host| check_host(host))?;
        check_path(stands, path, query)?;
        check_query(stands, query)?;
        Ok(Self {
            deployment: match stands {
                Stands::Cluster => Deployment::Cluster,
                Stands::Sentinels => Deployment::Sentinel,
                Stands::Host | Stands::Socket => Deployment::One,
            },
            tls,
            places,
            has_password: user
                .split_once(':')
                .is_some_and(|(_, word)| !word.is_empty()),
        })
    }
}

fn socket<'u>(authority: &str, path: &'u str, query: &str) -> Result<RedisUrl<'u>, Fault> {
    if !authority.is_empty() || path.len() < 2 {
        return Err(
            fault("names no socket: its path has three slashes before it")
                .fix("url = \"unix:///run/redis.sock\""),
        );
    }
    check_query(Stands::Socket, query)?;
    let mut settings = query.trim_start_matches('?').split('&');
    Ok(RedisUrl {
        deployment: Deployment::One,
        tls: false,
        places: vec![path],
        has_password: settings.any(|setting| setting.starts_with("pass=")),
    })
}

/// `host`, `host:port`, `[IPv6]:port`.
fn check_host(host: &str) -> Result<(), Fault> {
    let name_end = host.find(']').map_or(0, |at| at + 1);
    let port_at = host.get(name_end..).and_then(|rest| rest.find(':'));
    let (name, port) = match port_at.map(|at| host.split_at(name_end + at)) {
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => (host, None),
    };
    let is_port = |port: &str| {
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        digits && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    if name.is_empty() {
        Err(fault("lacks a host").fix("url = \"redis://HOST:6379\""))
    } else if port.is_some_and(|port| !is_port(port)) {
        Err(fault("has a port that is none").fix("a port from 1 to 65535"))
    } else if name.starts_with('[') != name.ends_with(']') || name.contains(char::is_whitespace) {
        Err(fault("has a host that is none").fix("url = \"redis://HOST:6379\""))
    } else {
        Ok(())
    }
}

/// `/db`, or behind sentinels `/NAME[/db]`.
fn check_path(stands: Stands, path: &str, query: &str) -> Result<(), Fault> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let db = if stands == Stands::Sentinels {
        if !query.is_empty() {
            return Err(fault("has a ? behind the name of its primary")
                .fix("url = \"redis-sentinel://HOST,HOST/NAME\""));
        }
        let (name, db) = path.split_once('/').unwrap_or((path, ""));
        if name.is_empty() {
            return Err(
                fault("lacks the name of the primary, which follows the sentinels")
                    .fix("url = \"redis-sentinel://HOST,HOST/NAME\""),
            );
        }
        db
    } else {
        path
    };
    match db.parse::<u32>() {
        _ if db.is_empty() => Ok(()),
        Ok(1..) if stands == Stands::Cluster => {
            Err(fault("names a database, and a cluster has none but 0")
                .fix("url = \"redis-cluster://HOST,HOST\""))
        }
        _ if is_number(db) => Ok(()),
        _ => {
            Err(fault("has a database that is no number")
                .fix("a number behind the last /, or none"))
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.starts_with('+') && text.parse::<u32>().is_ok()
}

/// `?protocol=resp3`; of a socket also what a host has elsewhere: `?db=2&user=USER&pass=PASSWORD`.
/// What is not known is refused: of a mistyped password nobody would hear.
fn check_query(stands: Stands, query: &str) -> Result<(), Fault> {
    let known: &[&str] = match stands {
        Stands::Socket => &["db", "user", "pass", "protocol"],
        _ => &["protocol"],
    };
    if query.contains('#') {
        return Err(fault("has a # behind its hosts").fix("leave out what begins there"));
    }
    let settings = query.strip_prefix('?').unwrap_or(query);
    for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let is_right = match name {
            "db" => is_number(value),
            "protocol" => ["2", "resp2", "3", "resp3"].contains(&value),
            _ => !value.is_empty(),
        };
        if !known.contains(&name) {
            return Err(fault("has a setting behind its ? that is none")
                .fix(format!("one of {}", known.join(", "))));
        } else if !is_right {
            let fix = match name {
                "db" => "db=2, a number",
                "protocol" => "protocol=resp3, or protocol=resp2",
                _ => "a value, or leave the setting out",
            };
            return Err(fault("has a setting behind its ? with a value that is none").fix(fix));
        }
    }
    Ok(())
}

fn fault(what: &str) -> Fault {
    Fault::new(code::STORE_URL, format!("the store's `url` {what}"))
}

fn no_scheme() -> Fault {
    fault("has no scheme").fix("url = \"redis://HOST:6379\"")
}

/// The scheme itself is not shown: where a URL is no URL, it may be a password.
fn unknown_scheme(scheme: &str) -> Fault {
    let lower = scheme.to_ascii_lowercase();
    let like = match nearest(&lower, SCHEMES.iter().map(|(name, ..)| *name)) {
        Some(near @ ("redis-sentinel" | "rediss-sentinel")) => format!("{near}://HOST,HOST/NAME"),
        Some(near @ ("redis-cluster" | "rediss-cluster")) => format!("{near}://HOST,HOST"),
        Some("unix" | "redis+unix" | "valkey+unix") => "unix:///run/redis.sock".to_owned(),
        Some(near) => format!("{near}://HOST:6379"),
        None => {
            return fault("has a scheme that no store speaks").fix(
                "one of redis://HOST:PORT, unix:///PATH, redis-cluster://HOST,HOST and \
                 redis-sentinel://HOST,HOST/NAME; rediss… with TLS",
            );
        }
    };
    fault("has a scheme that no store speaks").fix(format!("url = \"{like}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> RedisUrl<'_> {
        RedisUrl::parse(url).unwrap_or_else(|fault| panic!("{url}: {fault}"))
    }

    #[test]
    fn every_scheme_tells_what_stands_there() {
        for (url, deployment, tls, places) in [
            ("redis://h", Deployment::One, false, &["h"][..]),
            ("rediss://u:p@h:1/2", Deployment::One, true, &["h:1"]),
            (
                "valkeys://[::1]:6379",
                Deployment::One,
                true,
                &["[::1]:6379"],
            ),
            (
                "redis://[::1]/?protocol=resp3",
                Deployment::One,
                false,
                &["[::1]"],
            ),
            (
                "redis-cluster://:p@a,b:7/0",
                Deployment::Cluster,
                false,
                &["a", "b:7"],
            ),
            ("rediss-cluster://a", Deployment::Cluster, true, &["a"]),
            (
                "redis-sentinel://a,b:7/mine/3",
                Deployment::Sentinel,
                false,
                &["a", "b:7"],
            ),
            (
                "rediss-sentinel://a/mine",
                Deployment::Sentinel,
                true,
                &["a"],
            ),
            (
                "unix:///run/r.sock?db=2&pass=x@y",
                Deployment::One,
                false,
                &["/run/r.sock"],
            ),
        ] {
            let found = parsed(url);
            assert_eq!((found.deployment, found.tls), (deployment, tls), "{url}");
            assert_eq!(found.places, places, "{url}");
        }
    }

    #[test]
    fn a_password_is_known_wherever_it_stands_and_never_among_the_places() {
        for (url, password) in [
            ("redis://h", false),
            ("redis://user@h", false),
            ("redis://user:@h", false),
            ("redis://:hunter2@h", true),
            ("redis://u:hunter2@with-at@h", true),
            ("redis-cluster://u:hunter2@a,b", true),
            ("unix:///s?user=u", false),
            ("unix:///s?user=u&pass=hunter2", true),
        ] {
            let found = parsed(url);
            assert_eq!(found.has_password, password, "{url}");
            assert!(!format!("{found:?}").contains("hunter2"), "{url}");
        }
    }

    #[test]
    fn what_no_store_could_use_is_refused_with_the_fix_and_never_shown() {
        for url in [
            "",
            "hunter2",
            "hunter2:6379",
            "hunter2://h",
            "REDIS://hunter2@h",
            "http://hunter2",
            "redis-sentinal://hunter2",
            "redis://",
            "redis://:hunter2@",
            "redis://h:hunter2",
            "redis://h:0",
            "redis://h:65536",
            "redis://h:+1",
            "redis://h/hunter2",
            "redis://h/-1",
            "redis://:hunter2/rest@h",
            "redis://:hunter2?rest@h",
            "unix:///s?db=hunter2",
            "unix:///s?pwd=hunter2",
            "unix:///s?pass=",
            "redis://h?protocol=hunter2",
            "redis://h?hunter2=b",
            "rediss://h/#hunter2",
            "redis://a,hunter2",
            "redis-cluster://a,,hunter2",
            "redis-cluster://",
            "redis-cluster://hunter2/2",
            "redis-sentinel://hunter2,b",
            "redis-sentinel://hunter2/",
            "redis-sentinel://a/hunter2?db=1",
            "redis-sentinel://a/mine/hunter2",
            "redis://[::1",
            "unix://hunter2/path",
            "unix:///",
        ] {
            let fault = RedisUrl::parse(url).unwrap_err();
            assert_eq!(fault.code, code::STORE_URL, "{url}");
            assert!(
                !fault.fix.is_empty() && !fault.to_string().contains("hunter2"),
                "{url}"
            );
        }
    }

    #[test]
    fn a_slip_in_the_scheme_names_the_right_one() {
        let fix = |url: &str| RedisUrl::parse(url).unwrap_err().fix;
        assert_eq!(fix("Redis://h"), "url = \"redis://HOST:6379\"");
        assert_eq!(
            fix("redis-clusters://h"),
            "url = \"redis-cluster://HOST,HOST\""
        );
        assert_eq!(
            fix("redis-sentinels://h"),
            "url = \"redis-sentinel://HOST,HOST/NAME\""
        );
        assert!(fix("https://h").starts_with("one of redis://"));
    }
}
