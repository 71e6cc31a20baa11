//! `[client_ip]` and `[lists]`: whose address counts, and for what.

use std::net::IpAddr;
use std::num::NonZeroU8;

use ipnet::IpNet;
use jeton_wire::client_ip::{ClientIp as Finder, Ipv6Prefix, Prefixes, Source, Trust};

use crate::diagnostic::{Fault, code, is_slip};
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw::{Context, Section, Spotted};
use crate::setting::Setting;
use crate::settings::{ClientIp, Lists};

pub(super) const CLIENT_IP: Vocabulary = Vocabulary {
    section: "[client_ip]",
    example: "[client_ip]",
    about: "Who the client is: the socket's peer, or what trusted proxies wrote into a header.",
    known: &[
        word(
            "header",
            Shape::Text(Form::HeaderName),
            "The header field that names the client. Default \"none\": the address of the socket.",
        ),
        word(
            "trusted",
            Shape::Texts(Form::Network),
            "Your own proxies: whose header is believed. The client is the first other address, \
             read from the right.",
        ),
        word(
            "hops",
            Shape::Count(1, 255),
            "Instead of `trusted`: how many proxies of yours stand in front, each of which \
             appends the address it saw.",
        ),
        word(
            "ipv6_prefix",
            Shape::Count(1, 128),
            "IPv6 addresses that share this many leading bits are one client. Default 64.",
        ),
    ],
    required: &[],
    later: &[],
};

pub(super) const LISTS: Vocabulary = Vocabulary {
    section: "[lists]",
    example: "[lists]",
    about: "Addresses that no rule decides about.",
    known: &[
        word(
            "exempt",
            Shape::Texts(Form::Network),
            "Always pass, and are not charged.",
        ),
        word(
            "block",
            Shape::Texts(Form::Network),
            "Never pass; stronger than `exempt`.",
        ),
    ],
    required: &[],
    later: &[],
};

pub(super) fn client_ip(cx: &mut Context<'_>, root: &Section<'_>) -> ClientIp {
    let item = root.item("client_ip");
    let Some(section) = item.and_then(|item| Section::open(cx, &CLIENT_IP, item)) else {
        return ClientIp::default();
    };
    let header = section.parsed(cx, "header", header);
    let source = header.map(|header| header.value.get().clone());
    let trusted = section.each(cx, "trusted", parse_network);
    let hops = section.count(cx, "hops", || {
        Fault::new(code::ZERO, "`hops` of 0 would believe nobody").fix("header = \"none\"")
    });
    let prefix = section.count(cx, "ipv6_prefix", || {
        Fault::new(code::ZERO, "`ipv6_prefix` of 0 makes one client of all").fix("ipv6_prefix = 64")
    });
    if source.is_some() || !section.has("header") {
        trust_is_stated(cx, &section, source.as_ref().unwrap_or(&Source::None));
    }
    let source = source.unwrap_or_default();
    hops_fit(cx, &source, hops.as_ref());
    let hops = hops.and_then(|hops| NonZeroU8::new(u8::try_from(hops.value).ok()?));
    let trust = match hops {
        Some(hops) => Trust::Hops(hops),
        None => Trust::Prefixes(prefixes(trusted)),
    };
    let prefix = prefix.and_then(|bits| u8::try_from(bits.value).ok());
    let prefix = prefix.and_then(|bits| Ipv6Prefix::new(bits).ok());
    ClientIp {
        finder: Finder { source, trust },
        ipv6_prefix: prefix.unwrap_or_default(),
    }
}

fn header(name: &str) -> Result<Source, Fault> {
    const FIX: &str = "header = \"x-forwarded-for\"";
    let fault = |what: &str| Fault::new(code::WORD, format!("{name:?} {what}"));
    let source: Source = name
        .parse()
        .map_err(|_| fault("is not the name of a header field").fix(FIX))?;
    match &source {
        // A field that nobody sends would make one client of all.
        Source::Field(field) if is_slip(field.as_str(), "x-forwarded-for") => {
            Err(fault("is not a field that proxies set")
                .label("did you mean \"x-forwarded-for\"?")
                .fix(FIX))
        }
        _ => Ok(source),
    }
}

/// The field as people write it.
pub(super) fn shown(source: &Source) -> &str {
    match source {
        Source::XForwardedFor => "X-Forwarded-For",
        Source::Forwarded => "Forwarded",
        other => other.header(),
    }
}

/// Anybody can send a header: it must be said who is believed, and in one way.
fn trust_is_stated(cx: &mut Context<'_>, section: &Section<'_>, source: &Source) {
    const BOTH: &str = "and `trusted` are two ways to say whose header is believed";
    const USELESS: &str = "has no effect while no header is in use";
    match (source, section.has("trusted"), section.has("hops")) {
        (Source::None, ..) => {
            for key in ["trusted", "hops"] {
                section.refuse(cx, key, USELESS, "header = \"x-forwarded-for\"");
            }
        }
        (_, true, true) => section.refuse(cx, "hops", BOTH, "keep one of them"),
        (_, false, false) => {
            let what = format!("nothing says whose {} is believed", shown(source));
            let fault = Fault::new(code::TRUST, what)
                .label("anybody can send one")
                .fix("trusted = [\"10.0.0.0/8\"], the addresses of your proxies; or hops = 1");
            let _: Option<()> = cx.error(section.mark_of("header"), fault);
        }
        _ => {}
    }
}

/// A field that holds one address has no entries to count.
fn hops_fit(cx: &mut Context<'_>, source: &Source, hops: Option<&Spotted<u64>>) {
    if let (Source::Field(field), Some(hops)) = (source, hops)
        && hops.value > 1
    {
        let what = format!(
            "{} holds one address, and `hops` counts in a list",
            field.as_str()
        );
        let fault = Fault::new(code::CONTRADICTION, what)
            .label("the proxy in front sets it")
            .fix("hops = 1");
        let _: Option<()> = cx.error(hops.mark, fault);
    }
}

pub(super) fn lists(cx: &mut Context<'_>, root: &Section<'_>) -> Lists {
    let Some(section) = root
        .item("lists")
        .and_then(|item| Section::open(cx, &LISTS, item))
    else {
        return Lists::default();
    };
    let mut list = |key| {
        if section.has_empty_list(key) {
            return Prefixes::default();
        }
        prefixes(section.each(cx, key, parse_network))
    };
    Lists {
        exempt: list("exempt"),
        block: list("block"),
    }
}

pub(super) fn prefixes(networks: Option<Vec<Spotted<Setting<IpNet>>>>) -> Prefixes {
    networks
        .into_iter()
        .flatten()
        .map(|network| *network.value.get())
        .collect()
}

/// Reads an address, or a prefix whose remaining bits are zero.
pub(super) fn parse_network(text: &str) -> Result<IpNet, Fault> {
    let fault = |why: &str| Fault::new(code::NETWORK, format!("{text:?} {why}"));
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(IpNet::from(address));
    }
    let Ok(network) = text.parse::<IpNet>() else {
        return Err(unreadable(text));
    };
    if network.trunc() == network {
        Ok(network)
    } else {
        Err(fault("has bits beyond its prefix")
            .label(format!("one address is {:?}", network.addr().to_string()))
            .fix(format!("\"{}\"", network.trunc())))
    }
}

fn unreadable(text: &str) -> Fault {
    let fault = Fault::new(
        code::NETWORK,
        format!("{text:?} is not an address or a prefix"),
    );
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    match (address.parse::<IpAddr>(), bits) {
        (Ok(address @ IpAddr::V4(_)), bits) if !bits.is_empty() => fault
            .label("a prefix of IPv4 has 0 to 32 bits")
            .fix(meant(address, 24)),
        (Ok(address @ IpAddr::V6(_)), bits) if !bits.is_empty() => fault
            .label("a prefix of IPv6 has 0 to 128 bits")
            .fix(meant(address, 64)),
        _ => fault.fix("such as \"192.0.2.7\", \"10.0.0.0/8\", \"2001:db8::/32\""),
    }
}

/// The usual prefix, if the address is one; else the address alone.
fn meant(address: IpAddr, bits: u8) -> String {
    match IpNet::new(address, bits) {
        Ok(network) if network.trunc() == network => format!("\"{network}\""),
        _ => format!("\"{address}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_and_slips_name_their_fix() {
        for text in ["10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "0.0.0.0/0"] {
            assert_eq!(parse_network(text).unwrap().to_string(), text);
        }
        assert_eq!(parse_network("::1").unwrap().prefix_len(), 128);
        for (text, fix) in [
            ("10.0.0.1/8", "\"10.0.0.0/8\""),
            ("10.0.0.0/33", "\"10.0.0.0/24\""),
            ("127.0.0.1/33", "\"127.0.0.1\""),
            ("::1/200", "\"::1\""),
            ("2001:db8::/129", "\"2001:db8::/64\""),
            (
                "10.0.0",
                "such as \"192.0.2.7\", \"10.0.0.0/8\", \"2001:db8::/32\"",
            ),
            (
                "",
                "such as \"192.0.2.7\", \"10.0.0.0/8\", \"2001:db8::/32\"",
            ),
        ] {
            assert_eq!(parse_network(text).unwrap_err().fix, fix, "{text}");
        }
    }
}
