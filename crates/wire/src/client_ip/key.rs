//! Addresses as counting keys: an IPv6 customer owns a whole prefix, and so gets one counter.

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use super::canonical;

const IPV6_BITS: u8 = 128;

/// How many leading bits of an IPv6 address make a client: 1 to 128, by default 64.
///
/// Hosts own whole /64s (RFC 4291, RFC 8981); sites often get a /56 or a /48 (RFC 6177).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ipv6Prefix(u8);

impl Ipv6Prefix {
    /// A prefix of `bits`.
    ///
    /// # Errors
    ///
    /// [`PrefixError`] unless `bits` is 1 to 128.
    pub const fn new(bits: u8) -> Result<Self, PrefixError> {
        if matches!(bits, 1..=IPV6_BITS) {
            Ok(Self(bits))
        } else {
            Err(PrefixError { bits })
        }
    }

    /// Its length in bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl Default for Ipv6Prefix {
    fn default() -> Self {
        Self(64)
    }
}

/// A length that no IPv6 prefix has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixError {
    bits: u8,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an IPv6 prefix of {} bits; use 1 to {IPV6_BITS}",
            self.bits
        )
    }
}

impl Error for PrefixError {}

/// The key under which a client is counted by address: an IPv4 address whole, an IPv6 address cut
/// to a prefix. Its text is `203.0.113.9`, `2001:db8:0:1::/64` or, at 128 bits, `2001:db8::1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressKey {
    network: IpAddr,
    prefix: Ipv6Prefix,
}

impl AddressKey {
    /// The key of `address` (in any form: it is made [`canonical`]).
    ///
    /// ```
    /// # use jeton_wire::client_ip::{AddressKey, Ipv6Prefix};
    /// let address = "2001:db8:0:1ff:2::7".parse().unwrap();
    /// let key = |bits| AddressKey::new(address, Ipv6Prefix::new(bits).unwrap()).to_string();
    /// assert_eq!(key(64), "2001:db8:0:1ff::/64");
    /// assert_eq!(key(56), "2001:db8:0:100::/56");
    /// assert_eq!(key(128), "2001:db8:0:1ff:2::7");
    /// ```
    #[must_use]
    pub fn new(address: IpAddr, prefix: Ipv6Prefix) -> Self {
        match canonical(address) {
            IpAddr::V6(v6) => Self {
                network: IpAddr::V6(cut(v6, prefix)),
                prefix,
            },
            v4 @ IpAddr::V4(_) => Self {
                network: v4,
                prefix: Ipv6Prefix(IPV6_BITS),
            },
        }
    }

    /// Reads a key as an operator writes it: an address, or the text of a key of the same prefix.
    ///
    /// `None` for anything else, so that a key under which nothing can be counted is noticed.
    ///
    /// ```
    /// # use jeton_wire::client_ip::{AddressKey, Ipv6Prefix};
    /// let read = |text| AddressKey::parse(text, Ipv6Prefix::default());
    /// assert_eq!(read("2001:db8::1"), read("2001:db8::/64"));
    /// assert_eq!(read("2001:db8::/56"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str, prefix: Ipv6Prefix) -> Option<Self> {
        let Some((address, bits)) = text.split_once('/') else {
            return Some(Self::new(text.parse().ok()?, prefix));
        };
        let network: Ipv6Addr = address.parse().ok()?;
        let key = Self::new(IpAddr::V6(network), prefix);
        let same = bits.parse() == Ok(prefix.0) && key.network == IpAddr::V6(network);
        same.then_some(key)
    }

    /// The address, with the bits beyond the prefix cleared.
    #[must_use]
    pub const fn network(&self) -> IpAddr {
        self.network
    }
}

impl fmt::Display for AddressKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.network {
            IpAddr::V6(network) if self.prefix.0 < IPV6_BITS => {
                write!(f, "{network}/{}", self.prefix.0)
            }
            address => write!(f, "{address}"),
        }
    }
}

fn cut(address: Ipv6Addr, prefix: Ipv6Prefix) -> Ipv6Addr {
    // 0 to 127, since a prefix has at least one bit.
    let host_bits = u32::from(IPV6_BITS - prefix.0);
    Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits)
}
