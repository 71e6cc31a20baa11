//! Keys as bytes: no two different tuples of parts have the same ones.
//!
//! Each part is a tag, and unless the part is missing a length (four bytes, big-endian) and the
//! value. A rule always has the same number of parts, so the bytes read back in one way only. A
//! missing part has a tag of its own and is not an empty one.
//!
//! Longer keys than [`MAX_KEY_BYTES`] are replaced by their length and their SHA-256, under a tag
//! that begins no other key: stores hold bounded keys, and two of them meet only where SHA-256
//! collides.

use std::net::IpAddr;

use jeton_wire::client_ip::{AddressKey, Ipv6Prefix};
use sha2::{Digest, Sha256};

use crate::key::KeyPart;
use crate::matching::Matched;
use crate::request::Request;
use crate::value::{decoded, first_cookie, first_parameter, push_header};

/// The most bytes of a key as it stands; longer ones are digested.
pub(super) const MAX_KEY_BYTES: usize = 1024;

pub(super) const MISSING: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const ADDRESS_V4: u8 = 4;
pub(super) const ADDRESS_V6: u8 = 6;
pub(super) const DIGEST: u8 = 0xff;

/// What values are read with.
#[derive(Clone, Copy)]
pub(super) struct Lens {
    pub(super) prefix: Ipv6Prefix,
    pub(super) match_case: bool,
}

/// Appends the key of a request. The first part that is missing, if any is.
pub(super) fn push_key<'p>(
    parts: &'p [KeyPart],
    lens: Lens,
    matched: Matched<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> Option<&'p KeyPart> {
    let start = out.len();
    let mut missing = None;
    for part in parts {
        if !push_part(part, lens, matched, request, out) {
            out.push(MISSING);
            missing = missing.or(Some(part));
        }
    }
    bound(out, start);
    missing
}

/// Appends a part, unless it is missing.
fn push_part(
    part: &KeyPart,
    lens: Lens,
    matched: Matched<'_>,
    request: &Request<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let plain = match part {
        KeyPart::ClientIp(own) => {
            let address = request
                .client_ip
                .map(|ip| AddressKey::new(ip, own.unwrap_or(lens.prefix)));
            return address
                .map(|address| push_address(address.network(), out))
                .is_some();
        }
        KeyPart::Header(_) | KeyPart::Cookie(_) | KeyPart::Query(_) | KeyPart::Descriptor(_) => {
            return push_with(out, |out| push_word(part, request, out));
        }
        // A rule without another part: there is one key, and it is empty.
        KeyPart::Global => return true,
        KeyPart::Method => request.facts.method(),
        KeyPart::Host => request.host(),
        KeyPart::Path => matched.path(request, lens.match_case),
        KeyPart::Route => matched.route.map(crate::Pattern::as_str),
    };
    plain.is_some_and(|text| {
        push_with(out, |out| {
            out.extend_from_slice(text.as_bytes());
            true
        })
    })
}

/// Appends a text whose length is known only afterwards; nothing if there is none.
pub(super) fn push_with(out: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
    let start = out.len();
    out.extend_from_slice(&[TEXT, 0, 0, 0, 0]);
    let found = push(out);
    if !found {
        out.truncate(start);
        return false;
    }
    let begin = start + 5;
    // No door hands over four gigabytes; if one did, its digest would still tell the length.
    let length = u32::try_from(out.len() - begin)
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    if let Some(field) = out.get_mut(start + 1..begin) {
        field.copy_from_slice(&length);
    }
    true
}

/// Appends a text part.
pub(crate) fn push_text(text: &[u8], out: &mut Vec<u8>) {
    push_with(out, |out| {
        out.extend_from_slice(text);
        true
    });
}

/// Appends an address part.
pub(super) fn push_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(v4) => {
            out.push(ADDRESS_V4);
            out.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.push(ADDRESS_V6);
            out.extend_from_slice(&v6.octets());
        }
    }
}

/// Appends the text of a part that is one word of the request: nothing but the value.
pub(super) fn push_word(part: &KeyPart, request: &Request<'_>, out: &mut Vec<u8>) -> bool {
    let facts = request.facts;
    match part {
        KeyPart::Header(name) => push_header(facts, name, out),
        KeyPart::Cookie(name) => first_cookie(facts, name, &mut |value| {
            out.extend_from_slice(value);
        }),
        KeyPart::Query(name) => first_parameter(facts.query(), name)
            .map(|value| out.extend(decoded(value)))
            .is_some(),
        KeyPart::Descriptor(name) => facts
            .descriptor(name)
            .map(|text| out.extend_from_slice(text.as_bytes()))
            .is_some(),
        KeyPart::ClientIp(_)
        | KeyPart::Global
        | KeyPart::Method
        | KeyPart::Host
        | KeyPart::Path
        | KeyPart::Route => false,
    }
}

/// Replaces a key that is too long.
pub(crate) fn bound(out: &mut Vec<u8>, start: usize) {
    let key = out.get(start..).unwrap_or_default();
    if key.len() <= MAX_KEY_BYTES {
        return;
    }
    let length = (key.len() as u64).to_be_bytes();
    let digest = Sha256::digest(key);
    out.truncate(start);
    out.push(DIGEST);
    out.extend_from_slice(&length);
    out.extend_from_slice(&digest);
}
