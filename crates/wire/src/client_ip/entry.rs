//! One entry of `X-Forwarded-For`, or one node of `Forwarded`, in every spelling proxies are known
//! to write.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::canonical;

/// The longest address with zone, port, brackets and quotes that makes sense, in bytes.
pub(super) const MAX_ENTRY_LEN: usize = 96;

/// What one entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// An address, in [`canonical`] form, without its port and zone.
    Address(IpAddr),
    /// Nothing, `unknown` or `_name`: a client that its proxy does not know or does not tell.
    Anonymous,
    /// No address and no word for its absence.
    Bad,
}

impl Entry {
    /// Reads one entry: `a.b.c.d`, `v6`, `[v6]`, each with a port (IPv6 only in brackets) and each
    /// in quotes if need be, IPv6 with a zone (`fe80::1%eth0`), or one of the words of RFC 7239
    /// section 6 for an address that is not told.
    ///
    /// ```
    /// # use jeton_wire::client_ip::Entry;
    /// assert_eq!(Entry::read(b" \"[2001:db8::1]:443\" "), Entry::read(b"2001:db8::1"));
    /// assert_eq!(Entry::read(b"unknown"), Entry::Anonymous);
    /// assert_eq!(Entry::read(b"203.0.113.999"), Entry::Bad);
    /// ```
    #[must_use]
    pub fn read(raw: &[u8]) -> Self {
        Self::read_node(unquoted(raw.trim_ascii()))
    }

    /// The same without quotes around it.
    pub(super) fn read_node(raw: &[u8]) -> Self {
        let raw = raw.trim_ascii();
        if raw.is_empty() {
            return Self::Anonymous;
        }
        match str::from_utf8(raw) {
            Ok(text) if raw.len() <= MAX_ENTRY_LEN => Self::read_text(text),
            _ => Self::Bad,
        }
    }

    fn read_text(text: &str) -> Self {
        let address = if let Some(bracketed) = text.strip_prefix('[') {
            address_in_brackets(bracketed)
        } else {
            match text.split_once(':') {
                Some((_, rest)) if rest.contains(':') => address_with_zone(text),
                Some((host, port)) if is_port(port) => return Self::read_host(host),
                Some(_) => None,
                None => return Self::read_host(text),
            }
        };
        address.map_or(Self::Bad, |v6| Self::Address(canonical(IpAddr::V6(v6))))
    }

    fn read_host(host: &str) -> Self {
        if host.eq_ignore_ascii_case("unknown") || is_obfuscated(host) {
            return Self::Anonymous;
        }
        host.parse::<Ipv4Addr>()
            .map_or(Self::Bad, |v4| Self::Address(IpAddr::V4(v4)))
    }
}

fn unquoted(raw: &[u8]) -> &[u8] {
    raw.strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""))
        .unwrap_or(raw)
}

fn address_in_brackets(bracketed: &str) -> Option<Ipv6Addr> {
    let (host, after) = bracketed.split_once(']')?;
    let port_is_fine = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
    if port_is_fine {
        address_with_zone(host)
    } else {
        None
    }
}

/// A zone says which of our neighbour's interfaces it was: nothing that tells clients apart.
fn address_with_zone(host: &str) -> Option<Ipv6Addr> {
    let address = match host.split_once('%') {
        Some((_, "")) => return None,
        Some((address, _)) => address,
        None => host,
    };
    address.parse().ok()
}

/// A number or, as RFC 7239 section 6 has it, a name in its place.
fn is_port(port: &str) -> bool {
    let number = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    number || is_obfuscated(port)
}

fn is_obfuscated(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    text.strip_prefix('_')
        .is_some_and(|name| !name.is_empty() && name.bytes().all(fits))
}
