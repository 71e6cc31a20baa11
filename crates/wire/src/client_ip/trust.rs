//! Whose word about a client counts.

use std::{
    net::{IpAddr, Ipv4Addr},
    num::NonZeroU8,
};

use ipnet::{IpNet, Ipv4Net};

use super::canonical;

const MAPPED_BITS: u8 = 96;

/// Whose header is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Peers in these prefixes, and the addresses in these prefixes that stand in the header.
    Prefixes(Prefixes),
    /// So many proxies of ours in front, whoever the socket's peer is: nobody else can reach us.
    Hops(NonZeroU8),
}

impl Trust {
    /// Whether what the socket's peer forwards is believed at all. With prefixes, a peer without an
    /// address (a Unix socket) is not.
    #[must_use]
    pub fn believes(&self, peer: Option<IpAddr>) -> bool {
        match self {
            Self::Hops(_) => true,
            Self::Prefixes(trusted) => peer.is_some_and(|peer| trusted.contains(peer)),
        }
    }
}

impl Default for Trust {
    fn default() -> Self {
        Self::Prefixes(Prefixes::default())
    }
}

/// A set of networks, asked about addresses in any form.
///
/// `::ffff:10.0.0.0/104` is the same as `10.0.0.0/8`. Clients behind NAT64 are known by their IPv4
/// addresses: networks within `64:ff9b::/96` hold none of them.
///
/// ```
/// # use jeton_wire::client_ip::Prefixes;
/// let lan: Prefixes = ["10.0.0.0/8".parse().unwrap()].into_iter().collect();
/// assert!(lan.contains("::ffff:10.1.2.3".parse().unwrap()));
/// assert!(!lan.contains("11.0.0.1".parse().unwrap()));
/// let office: Prefixes = ["10.1.0.0/16".parse().unwrap()].into_iter().collect();
/// assert!(lan.holds(&office) && !office.holds(&lan));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefixes {
    /// Disjoint and sorted.
    networks: Vec<IpNet>,
}

impl Prefixes {
    /// Whether one of the networks holds `address`.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = canonical(address);
        let after = self
            .networks
            .partition_point(|network| network.network() <= address);
        let nearest = after
            .checked_sub(1)
            .and_then(|index| self.networks.get(index));
        nearest.is_some_and(|network| network.contains(&address))
    }

    /// Whether every address of `others` is held here too.
    #[must_use]
    pub fn holds(&self, others: &Self) -> bool {
        // Both are aggregated: a network that is held is held by one of ours.
        let held = |other: &IpNet| self.networks.iter().any(|own| own.contains(other));
        others.networks.iter().all(held)
    }

    /// Whether there is no network in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }
}

impl FromIterator<IpNet> for Prefixes {
    fn from_iter<I: IntoIterator<Item = IpNet>>(networks: I) -> Self {
        let networks: Vec<IpNet> = networks.into_iter().map(canonical_network).collect();
        let mut networks = IpNet::aggregate(&networks);
        networks.sort_unstable_by_key(IpNet::network);
        Self { networks }
    }
}

fn canonical_network(network: IpNet) -> IpNet {
    let v4 = || -> Option<Ipv4Net> {
        let IpNet::V6(v6) = network else {
            return None;
        };
        let bits = v6.prefix_len().checked_sub(MAPPED_BITS)?;
        let address: Ipv4Addr = v6.network().to_ipv4_mapped()?;
        Ipv4Net::new(address, bits).ok()
    };
    v4().map_or(network, IpNet::V4)
}
