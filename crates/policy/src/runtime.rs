//! Mistakes that no file shows: words for what is seen only while requests come, each to be said
//! once, and the detector of one that takes several requests to see. Nothing here does I/O.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::net::IpAddr;

use crate::diagnostic::{Code, code};

/// A misconfiguration that requests show. Its [`Display`](fmt::Display) is one line for a log.
///
/// ```
/// use jeton_policy::RuntimeWarning;
/// let warning = RuntimeWarning::NoClientAddress;
/// assert_eq!(warning.code().id(), "W203");
/// assert!(warning.to_string().ends_with("; more: jeton help W203"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuntimeWarning {
    /// X-Forwarded-For was sent, and no header is in use.
    HeaderNotRead,
    /// Requests name many clients in a header, and one address was counted for all.
    OneAddress,
    /// A request came without a client's address.
    NoClientAddress,
}

impl RuntimeWarning {
    /// Every one of them.
    pub const ALL: [Self; 3] = [Self::HeaderNotRead, Self::OneAddress, Self::NoClientAddress];

    /// Its kind, for `jeton help CODE`.
    pub const fn code(self) -> Code {
        match self {
            Self::HeaderNotRead => code::HEADER_NOT_READ,
            Self::OneAddress => code::ONE_ADDRESS,
            Self::NoClientAddress => code::NO_CLIENT_ADDRESS,
        }
    }

    /// What was seen, in one sentence.
    pub const fn what(self) -> &'static str {
        match self {
            Self::HeaderNotRead => {
                "X-Forwarded-For is sent but not read, so addresses are those of sockets"
            }
            Self::OneAddress => {
                "requests name many clients, and all were counted under one address: that of a \
                 proxy whose header is not believed"
            }
            Self::NoClientAddress => {
                "a request came without a client's address, so rules by client-ip do what \
                 `missing` says"
            }
        }
    }

    /// What to write.
    pub const fn fix(self) -> &'static str {
        match self {
            Self::HeaderNotRead => {
                "if a proxy stands in front, set [client_ip] header = \"x-forwarded-for\" with \
                 `trusted` or `hops`"
            }
            Self::OneAddress => {
                "name the header in [client_ip] header, and the proxy's address in `trusted`"
            }
            Self::NoClientAddress => {
                "set [client_ip] header if a proxy stands in front, and `missing` to \"share\", \
                 \"skip\" or \"deny\""
            }
        }
    }
}

impl fmt::Display for RuntimeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, what, fix) = (self.code(), self.what(), self.fix());
        write!(f, "{what}; {fix}; more: jeton help {code}")
    }
}

/// Sees that all clients stand behind one address: every request so far was counted under the
/// same one, and their headers name many.
///
/// A single client that invents headers looks alike for as long as nobody else comes, which is why
/// this warns and never decides. It keeps [`OneAddress::CLIENTS`] hashes and no values, and once
/// it has made up its mind, [`is_settled`](Self::is_settled) spares the look.
///
/// ```
/// use jeton_policy::{OneAddress, RuntimeWarning};
/// let proxy = "10.0.0.1".parse()?;
/// let mut watch = OneAddress::default();
/// let warnings: Vec<RuntimeWarning> = (0..100)
///     .filter_map(|client| watch.saw(proxy, format!("192.0.2.{client}").as_bytes()))
///     .collect();
/// assert_eq!(warnings, [RuntimeWarning::OneAddress]);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OneAddress {
    address: Option<IpAddr>,
    clients: Vec<u64>,
    settled: bool,
}

impl OneAddress {
    /// So many clients under one address are no accident.
    pub const CLIENTS: usize = 32;

    /// `true` once nothing more will be said.
    pub const fn is_settled(&self) -> bool {
        self.settled
    }

    /// Takes note of a request that was counted under `address` although its header named
    /// `client`; warns when that makes too many.
    pub fn saw(&mut self, address: IpAddr, client: &[u8]) -> Option<RuntimeWarning> {
        if self.settled {
            return None;
        }
        if *self.address.get_or_insert(address) != address {
            self.settle();
            return None;
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(client.trim_ascii());
        let hash = hasher.finish();
        if !self.clients.contains(&hash) {
            self.clients.push(hash);
        }
        if self.clients.len() < Self::CLIENTS {
            return None;
        }
        self.settle();
        Some(RuntimeWarning::OneAddress)
    }

    fn settle(&mut self) {
        self.settled = true;
        self.clients = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn client(number: usize) -> Vec<u8> {
        format!("192.0.2.{number}").into_bytes()
    }

    #[test]
    fn many_clients_under_one_address_are_told_once() {
        let mut watch = OneAddress::default();
        for number in 1..OneAddress::CLIENTS {
            assert_eq!(watch.saw(address(1), &client(number)), None);
        }
        assert!(!watch.is_settled());
        let last = client(OneAddress::CLIENTS);
        assert_eq!(
            watch.saw(address(1), &last),
            Some(RuntimeWarning::OneAddress)
        );
        assert!(watch.is_settled());
        assert_eq!(watch.saw(address(1), &client(999)), None);
    }

    #[test]
    fn one_client_is_no_crowd() {
        let mut watch = OneAddress::default();
        for round in 0..1_000 {
            let padded = [&b" "[..usize::from(round % 2 == 0)], &client(7)].concat();
            assert_eq!(watch.saw(address(1), &padded), None);
        }
        assert!(!watch.is_settled());
    }

    #[test]
    fn two_addresses_are_not_one() {
        let mut watch = OneAddress::default();
        assert_eq!(watch.saw(address(1), &client(1)), None);
        assert_eq!(watch.saw(address(2), &client(2)), None);
        assert!(watch.is_settled());
        for number in 0..100 {
            assert_eq!(watch.saw(address(1), &client(number)), None);
        }
    }
}
