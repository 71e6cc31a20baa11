//! Who the client is: the socket's peer, or what trusted proxies wrote into a header ([`Source`]).
//!
//! Anybody can send `X-Forwarded-For` or `Forwarded` (RFC 7239); only the entries that our own
//! proxies appended are worth anything, and those stand at the right end. So it is read from the
//! right, all its lines joined in order (RFC 9110 section 5.3), and never further than trust
//! reaches:
//!
//! - [`Trust::Prefixes`]: the header counts only if the socket's peer is in a trusted prefix. From
//!   the right, trusted addresses are passed over; the first other one is the client.
//! - [`Trust::Hops`]: so many proxies of ours stand in front, and each appends the address it saw.
//!   The n-th entry from the right is the client: with `hops = 1` the rightmost one.
//!
//! Any other field (`CF-Connecting-IP`, `X-Real-IP`) holds one address, set by the proxy in front:
//! it counts if that proxy is believed, and is bad if there is more than one.
//!
//! | what is found | the client is | [`Origin`] |
//! |---|---|---|
//! | no header in use, none sent | the socket's peer | `Socket` |
//! | a header while none is in use | the socket's peer | `HeaderNotInUse` |
//! | a header from a peer that is not trusted | the socket's peer | `PeerNotTrusted` |
//! | an address where trust ends | that address | `Header` |
//! | every entry trusted | the leftmost entry | `AllTrusted` |
//! | fewer entries than hops | the socket's peer | `TooFewEntries` |
//! | `unknown`, `_hidden`, no `for` or nothing where trust ends | not known | `Anonymous` |
//! | garbage where trust ends | the last good hop before it | `BadEntry` |
//! | trusted entries beyond the bounds | the last good hop within them | `TooLong` |
//!
//! A Unix socket has no peer address. Its other end is a process on this machine: with hops it is
//! believed; with prefixes there is nothing to compare, so it is not, and the address is missing.
//! What a missing address means is the rule's decision (`missing = …`).

mod address;
mod entry;
mod forwarded;
mod key;
mod source;
mod trust;

use std::net::IpAddr;

pub use address::canonical;
pub use entry::Entry;
pub use key::{AddressKey, Ipv6Prefix, PrefixError};
pub use source::{FieldName, Source, SourceError};
pub use trust::{Prefixes, Trust};

/// Entries looked at, from the right. At least the largest number of hops.
pub const MAX_ENTRIES: usize = 256;

/// Bytes of the header looked at, from the right, commas included.
pub const MAX_BYTES: usize = 8192;

/// How clients are told apart by address: the section `[client_ip]` of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientIp {
    /// The header in use.
    pub source: Source,
    /// Who may write it. The default trusts nobody, which leaves the socket's address.
    pub trust: Trust,
}

/// The client of a request, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// In [`canonical`] form; `None` if nobody knows it.
    pub address: Option<IpAddr>,
    /// Where it came from: for meters and warnings.
    pub origin: Origin,
}

/// Where a client's address came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The socket; no header was sent.
    Socket,
    /// The socket; a header was sent, but none is in use. Worth one warning.
    HeaderNotInUse,
    /// The socket; its peer is not trusted, so the header was ignored wholly.
    PeerNotTrusted,
    /// The header, where trust ends.
    Header,
    /// The header's leftmost entry, since trust never ended. Worth counting.
    AllTrusted,
    /// The socket; the header holds fewer entries than proxies should have written.
    TooFewEntries,
    /// Nowhere: a trusted proxy wrote that it does not know or does not tell.
    Anonymous,
    /// The last good hop; beyond it stands something that is no address.
    BadEntry,
    /// The last good hop; beyond it there is more of the header than is looked at.
    TooLong,
}

impl ClientIp {
    /// Finds the client of a request from the socket's peer and the lines of the header.
    ///
    /// `lines` holds every line of [`Source::header`] in the order received, also when no header
    /// is in use.
    ///
    /// ```
    /// use std::num::NonZeroU8;
    /// use jeton_wire::client_ip::{ClientIp, Origin, Source, Trust};
    ///
    /// let rule = ClientIp { source: Source::XForwardedFor, trust: Trust::Hops(NonZeroU8::MIN) };
    /// let lines = [b"6.6.6.6, 203.0.113.9:5123".as_slice()];
    /// let client = rule.find("10.0.0.1".parse().ok(), lines.into_iter());
    /// assert_eq!(client.address, "203.0.113.9".parse().ok());
    /// assert_eq!(client.origin, Origin::Header);
    ///
    /// let rule = ClientIp { source: Source::Forwarded, ..rule };
    /// let lines = [br#"for=6.6.6.6, for="[2001:db8::9]:5123";proto=https"#.as_slice()];
    /// let client = rule.find("10.0.0.1".parse().ok(), lines.into_iter());
    /// assert_eq!(client.address, "2001:db8::9".parse().ok());
    /// ```
    #[must_use]
    pub fn find<'a>(
        &self,
        peer: Option<IpAddr>,
        lines: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Client {
        let peer = peer.map(canonical);
        let mut lines = lines.rev().peekable();
        let socket = |origin| Client {
            address: peer,
            origin,
        };
        if lines.peek().is_none() {
            return socket(Origin::Socket);
        }
        match &self.source {
            Source::None => socket(Origin::HeaderNotInUse),
            _ if !self.trust.believes(peer) => socket(Origin::PeerNotTrusted),
            Source::XForwardedFor => {
                let entries = lines.flat_map(|line| line.rsplit(|byte| *byte == b','));
                self.walk(peer, bounded(entries, Entry::read))
            }
            Source::Forwarded => {
                let elements = lines.flat_map(forwarded::elements_from_right);
                self.walk(peer, bounded(elements, forwarded::read_element))
            }
            Source::Field(_) => settle(Some(only(lines)), peer),
        }
    }

    fn walk(&self, peer: Option<IpAddr>, entries: impl Iterator<Item = Option<Entry>>) -> Client {
        match &self.trust {
            Trust::Hops(hops) => nth_hop(usize::from(hops.get()), peer, entries),
            Trust::Prefixes(trusted) => first_stranger(trusted, peer, entries),
        }
    }
}

/// The one address of a field that is no list. Of several, nobody knows which one the proxy set.
fn only<'a>(mut lines: impl Iterator<Item = &'a [u8]>) -> Entry {
    match (lines.next(), lines.next()) {
        (Some(line), None) => Entry::read(line),
        _ => Entry::Bad,
    }
}

/// Passes over trusted addresses from the right. A trusted proxy's word is needed at every step, so
/// the walk ends at whatever is no address.
fn first_stranger(
    trusted: &Prefixes,
    peer: Option<IpAddr>,
    entries: impl Iterator<Item = Option<Entry>>,
) -> Client {
    let mut last_good = peer;
    for entry in entries {
        match entry {
            Some(Entry::Address(address)) if trusted.contains(address) => last_good = Some(address),
            other => return settle(other, last_good),
        }
    }
    Client {
        address: last_good,
        origin: Origin::AllTrusted,
    }
}

/// Counts entries from the right. What our own proxies wrote about each other need not be an address
/// (nginx behind a Unix socket writes `unix:`); only the position counts.
fn nth_hop(
    hops: usize,
    peer: Option<IpAddr>,
    entries: impl Iterator<Item = Option<Entry>>,
) -> Client {
    let mut last_good = peer;
    for (index, entry) in entries.enumerate() {
        if entry.is_none() || index + 1 == hops {
            return settle(entry, last_good);
        }
        if let Some(Entry::Address(address)) = entry {
            last_good = Some(address);
        }
    }
    Client {
        address: peer,
        origin: Origin::TooFewEntries,
    }
}

/// The client by the entry at which trust ends; `None` stands for the end of what is looked at.
fn settle(entry: Option<Entry>, last_good: Option<IpAddr>) -> Client {
    match entry {
        Some(Entry::Address(address)) => Client {
            address: Some(address),
            origin: Origin::Header,
        },
        Some(Entry::Anonymous) => Client {
            address: None,
            origin: Origin::Anonymous,
        },
        Some(Entry::Bad) => Client {
            address: last_good,
            origin: Origin::BadEntry,
        },
        None => Client {
            address: last_good,
            origin: Origin::TooLong,
        },
    }
}

/// Reads entries while they lie within the bounds; the first one beyond is `None`.
fn bounded<'a>(
    entries: impl Iterator<Item = &'a [u8]>,
    read: fn(&[u8]) -> Entry,
) -> impl Iterator<Item = Option<Entry>> {
    let mut seen_bytes = 0_usize;
    entries.enumerate().map(move |(index, raw)| {
        seen_bytes = seen_bytes.saturating_add(raw.len()).saturating_add(1);
        let within = index < MAX_ENTRIES && seen_bytes <= MAX_BYTES;
        within.then(|| read(raw))
    })
}
