//! Addresses to listen on, and the service behind.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use crate::diagnostic::{Fault, code};
use crate::settings::{Listen, Upstream};

/// Reads an address to listen on: `127.0.0.1:8080`, `[::]:8080` or `unix:/path`.
pub(crate) fn parse_listen(text: &str) -> Result<Listen, Fault> {
    let fault = |why: &str| Fault::new(code::ADDRESS, format!("cannot listen on {text:?}: {why}"));
    if let Some(path) = text.strip_prefix("unix:") {
        return if path.starts_with('/') {
            Ok(Listen::Unix(PathBuf::from(path)))
        } else {
            Err(fault("the path of a Unix socket begins at the root")
                .fix("\"unix:/run/jeton.sock\""))
        };
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(Listen::Tcp(address));
    }
    if text.contains("://") {
        return Err(fault("it is a URL").fix("an address and a port, such as \"127.0.0.1:8080\""));
    }
    if text.parse::<Ipv4Addr>().is_ok() {
        return Err(fault("it has no port").fix(format!("\"{text}:8080\"")));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(fault("it has no port").fix(format!("\"[{text}]:8080\"")));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    match (host, port.parse::<u16>()) {
        ("" | "*", Ok(port)) => Err(fault("it names no address")
            .label("all addresses are 0.0.0.0, or [::] with IPv6")
            .fix(format!("\"0.0.0.0:{port}\""))),
        ("localhost", Ok(port)) => {
            Err(fault("it is a name, not an address").fix(format!("\"127.0.0.1:{port}\"")))
        }
        _ => Err(fault("it is not an address and a port").fix("such as \"127.0.0.1:8080\"")),
    }
}

/// Reads the URL of a service: `http://host` or `http://host:port`.
pub(crate) fn parse_upstream(text: &str) -> Result<Upstream, Fault> {
    let fault = |why: &str| Fault::new(code::UPSTREAM, format!("the upstream {why}"));
    let Some(rest) = text.strip_prefix("http://") else {
        if text.starts_with("https://") {
            return Err(fault("is reached by plain HTTP only in this version")
                .label("not https://")
                .fix("\"http://…\", with a TLS proxy in between if it must be encrypted"));
        }
        if text.starts_with("unix:") {
            return Err(
                fault("is a Unix socket, and those are not supported").fix("\"http://HOST:PORT\"")
            );
        }
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let fix = format!("\"http://{rest}\"");
        return Err(fault(&format!("{text:?} does not begin with http://")).fix(fix));
    };
    let (authority, path) = rest
        .find(['/', '?', '#'])
        .map_or((rest, ""), |at| rest.split_at(at));
    if !matches!(path, "" | "/") {
        return Err(fault("is a host and a port, without a path")
            .label("paths are handed on as they come")
            .fix(format!("\"http://{authority}\"")));
    }
    if authority.contains('@') {
        return Err(fault("is a host and a port, without a user").fix("\"http://HOST:PORT\""));
    }
    let (host, port) = split_port(authority);
    let port = match port {
        None => Some(80),
        Some(digits) => digits.parse::<u16>().ok().filter(|port| *port != 0),
    };
    match (host_name(host), port) {
        (Some(host), Some(port)) => Ok(Upstream { host, port }),
        (None, _) => {
            Err(fault(&format!("{text:?} has no proper host")).fix("\"http://127.0.0.1:3000\""))
        }
        (_, None) => {
            Err(fault(&format!("{text:?} has no proper port")).fix("a port from 1 to 65535"))
        }
    }
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    let bracket = authority.rfind(']').unwrap_or(0);
    match authority
        .rfind(':')
        .filter(|at| *at > bracket || bracket == 0)
    {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    }
}

/// A name or an address without brackets.
fn host_name(host: &str) -> Option<String> {
    if let Some(inner) = host.strip_prefix('[') {
        let v6: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
        return Some(v6.to_string());
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (!host.is_empty() && host.len() <= 253 && host.bytes().all(plain))
        .then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_alike() {
        for text in [
            "127.0.0.1:8080",
            "[::]:8080",
            "0.0.0.0:0",
            "unix:/run/jeton.sock",
        ] {
            assert_eq!(parse_listen(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_slip_of_an_address_names_its_fix() {
        for (text, fix) in [
            (":8080", "\"0.0.0.0:8080\""),
            ("*:8080", "\"0.0.0.0:8080\""),
            ("localhost:8080", "\"127.0.0.1:8080\""),
            ("127.0.0.1", "\"127.0.0.1:8080\""),
            ("::1", "\"[::1]:8080\""),
            (
                "http://127.0.0.1:80",
                "an address and a port, such as \"127.0.0.1:8080\"",
            ),
            ("unix:relative", "\"unix:/run/jeton.sock\""),
            ("127.0.0.1:99999", "such as \"127.0.0.1:8080\""),
            ("", "such as \"127.0.0.1:8080\""),
        ] {
            assert_eq!(parse_listen(text).unwrap_err().fix, fix, "{text}");
        }
    }

    #[test]
    fn upstreams_are_hosts_and_ports() {
        for (text, shown) in [
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("http://Service.internal", "http://service.internal:80"),
            ("http://[::1]:3000/", "http://[::1]:3000"),
            ("http://[2001:db8::1]", "http://[2001:db8::1]:80"),
        ] {
            assert_eq!(parse_upstream(text).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn an_upstream_may_be_the_listener_itself() {
        for (listen, upstream, itself) in [
            ("127.0.0.1:80", "http://127.0.0.1", true),
            ("127.0.0.1:80", "http://LocalHost.", true),
            ("127.0.0.1:80", "http://0.0.0.0", true),
            ("127.0.0.1:80", "http://127.0.0.2", false),
            ("127.0.0.1:80", "http://[::ffff:127.0.0.1]", true),
            ("127.0.0.1:80", "http://[::1]", false),
            ("127.0.0.1:80", "http://127.0.0.1:81", false),
            ("0.0.0.0:80", "http://localhost", true),
            ("0.0.0.0:80", "http://127.0.0.9", true),
            ("0.0.0.0:80", "http://[::1]", false),
            ("0.0.0.0:80", "http://192.0.2.1", false),
            ("[::]:80", "http://127.0.0.1", true),
            ("[::]:80", "http://[::1]", true),
            ("[::1]:80", "http://localhost", true),
            ("192.0.2.1:80", "http://192.0.2.1", true),
            ("192.0.2.1:80", "http://localhost", false),
            ("192.0.2.1:80", "http://service", false),
            ("127.0.0.1:0", "http://127.0.0.1", false),
            ("unix:/run/a", "http://127.0.0.1", false),
        ] {
            let (here, there) = (
                parse_listen(listen).unwrap(),
                parse_upstream(upstream).unwrap(),
            );
            assert_eq!(here.serves(&there), itself, "{listen} {upstream}");
        }
    }

    #[test]
    fn a_slip_of_an_upstream_names_its_fix() {
        for (text, fix) in [
            ("127.0.0.1:3000", "\"http://127.0.0.1:3000\""),
            ("unix:/run/x.sock", "\"http://HOST:PORT\""),
            ("http://a:3000/api", "\"http://a:3000\""),
            ("http://", "\"http://127.0.0.1:3000\""),
            ("http://a:0", "a port from 1 to 65535"),
            ("http://a:b", "a port from 1 to 65535"),
            ("http://a b", "\"http://127.0.0.1:3000\""),
            ("http://[::1", "\"http://127.0.0.1:3000\""),
            ("http://::1:80", "\"http://127.0.0.1:3000\""),
        ] {
            assert_eq!(parse_upstream(text).unwrap_err().fix, fix, "{text}");
        }
        for text in ["https://a", "ftp://a", "http://user:pass@a"] {
            assert_eq!(
                parse_upstream(text).unwrap_err().code,
                code::UPSTREAM,
                "{text}"
            );
        }
    }
}
