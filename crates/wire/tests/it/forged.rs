//! The corpus `forged.txt`: whatever is forged, no forger gets a counter of their own.

use std::{collections::BTreeSet, net::IpAddr, num::NonZeroU8};

use ipnet::IpNet;
use jeton_wire::{
    client_ip::{AddressKey, ClientIp, Ipv6Prefix, Trust},
    proxy_protocol::{Origin, parse},
};

const CORPUS: &str = include_str!("forged.txt");

/// Who may come out: real clients, the stranger, our proxies.
const KNOWN: [&str; 7] = [
    "203.0.113.9/32",
    "2001:db8:c::9/128",
    "198.51.100.7/32",
    "10.0.0.0/8",
    "2001:db8:a::/48",
    // Not our proxies, whatever NAT64 makes of them; but nobody outside has such an address.
    "64:ff9b::10.0.0.0/104",
    "::ffff:10.0.0.0/104",
];

fn ip(text: &str) -> IpAddr {
    text.parse()
        .unwrap_or_else(|_| panic!("no address: {text}"))
}

fn network(text: &str) -> IpNet {
    text.parse()
        .unwrap_or_else(|_| panic!("no network: {text}"))
}

/// The bytes of an input: `{0d}` is a byte, `{3*ab}` is `ababab`, all else stands for itself.
fn bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('{') {
        out.extend_from_slice(plain.as_bytes());
        // A brace that does not close is one.
        let Some((inside, tail)) = after.split_once('}') else {
            out.push(b'{');
            rest = after;
            continue;
        };
        if let Some((times, repeated)) = inside.split_once('*') {
            let times = times.parse().expect("how often");
            out.extend(repeated.repeat(times).into_bytes());
        } else if let Ok(byte) = u8::from_str_radix(inside, 16) {
            out.push(byte);
        } else {
            out.extend(format!("{{{inside}}}").into_bytes());
        }
        rest = tail;
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// Who stands in front.
enum Front {
    Header(ClientIp, Option<IpAddr>),
    ProxyProtocol,
}

impl Front {
    fn read(section: &str) -> Self {
        if section == "proxy" {
            return Self::ProxyProtocol;
        }
        let words: Vec<&str> = section.split(' ').collect();
        let [source, trust, peer] = words.as_slice() else {
            panic!("not a section: {section}");
        };
        let trust = match trust.split_once('=') {
            Some(("hops", count)) => Trust::Hops(count.parse::<NonZeroU8>().expect("hops")),
            Some(("trusted", networks)) => {
                Trust::Prefixes(networks.split(',').map(network).collect())
            }
            _ => panic!("no trust: {trust}"),
        };
        let source = source.parse().expect("a header");
        let peer = (*peer != "unix").then(|| ip(peer));
        Self::Header(ClientIp { source, trust }, peer)
    }

    /// The outcome in the words of the corpus, and the address that would be counted.
    fn outcome(&self, input: &str) -> (String, Option<IpAddr>) {
        match self {
            Self::Header(rule, peer) => {
                let lines: Vec<_> = input.split(" // ").map(bytes).collect();
                let client = rule.find(*peer, lines.iter().map(Vec::as_slice));
                let shown = client
                    .address
                    .map_or("-".to_owned(), |found| found.to_string());
                (format!("{shown} {:?}", client.origin), client.address)
            }
            Self::ProxyProtocol => {
                match parse(&bytes(input)).map(|header| header.map(|it| it.origin)) {
                    Ok(Some(Origin::Client { source, .. })) => {
                        let address = jeton_wire::client_ip::canonical(source.ip());
                        (address.to_string(), Some(address))
                    }
                    Ok(Some(other)) => (format!("{other:?}"), None),
                    Ok(None) => ("more".to_owned(), None),
                    Err(error) => (format!("{error:?}"), None),
                }
            }
        }
    }
}

#[test]
fn no_forger_gets_a_counter_of_their_own() {
    let known = KNOWN.map(network);
    let mut front = None;
    let (mut rows, mut keys, mut faults) = (0, BTreeSet::new(), Vec::new());
    for line in CORPUS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# ") && *line != "#")
    {
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            && !line.contains(" => ")
        {
            front = Some(Front::read(section));
            continue;
        }
        let (input, expected) = line.rsplit_once(" => ").expect("input => outcome");
        let (outcome, address) = front.as_ref().expect("a section first").outcome(input);
        if outcome != expected {
            faults.push(format!(
                "{input}\n  is      {outcome}\n  and not {expected}"
            ));
        }
        if let Some(address) = address {
            assert!(
                known.iter().any(|network| network.contains(&address)),
                "{input}: {address}"
            );
            keys.insert(AddressKey::new(address, Ipv6Prefix::default()));
        }
        rows += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(rows >= 150, "{rows} rows");
    // The two clients, the stranger, and proxies of ours.
    assert!(keys.len() <= 9, "{keys:?}");
}

#[test]
fn inputs_are_spelled_as_the_corpus_says() {
    assert_eq!(bytes("a{00}b{ff}"), b"a\0b\xff");
    assert_eq!(bytes("{3*a,}b"), b"a,a,a,b");
    assert_eq!(bytes("${jndi:x} {"), b"${jndi:x} {");
}
