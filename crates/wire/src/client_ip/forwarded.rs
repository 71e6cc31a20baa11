//! One element of `Forwarded` (RFC 7239 section 4): `for=192.0.2.60;proto=http;by=203.0.113.43`.

use super::{
    entry::{Entry, MAX_ENTRY_LEN},
    source::is_token,
};
use crate::pieces::{Pieces, PiecesFromRight};

/// The elements of a line, from right to left.
pub(super) fn elements_from_right(line: &[u8]) -> PiecesFromRight<'_> {
    PiecesFromRight::new(line, b',')
}

/// What an element says of the client. Without `for` it tells nothing; malformed anywhere, with
/// `for` twice included, it is bad as a whole.
///
/// Addresses with colons should stand in quotes; as nothing else can be meant, they are also read
/// without.
pub(super) fn read_element(element: &[u8]) -> Entry {
    let mut node = None;
    for pair in Pieces::new(element, b';').map(<[u8]>::trim_ascii) {
        if pair.is_empty() {
            continue;
        }
        let Some((name, value)) = split_pair(pair) else {
            return Entry::Bad;
        };
        if name.eq_ignore_ascii_case(b"for") && node.replace(value).is_some() {
            return Entry::Bad;
        }
    }
    node.map_or(Entry::Anonymous, read_node)
}

fn split_pair(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = pair.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (pair.get(..equals)?, pair.get(equals + 1..)?);
    let fits = is_token(name) && (is_bare(value) || is_quoted(value));
    fits.then_some((name, value))
}

/// A token, or what some proxies write without the quotes it needs.
fn is_bare(value: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_graphic() && !b"\"\\".contains(byte);
    !value.is_empty() && value.iter().all(fits)
}

/// A `quoted-string` of RFC 9110 section 5.6.4.
fn is_quoted(value: &[u8]) -> bool {
    let Some(inside) = inside_quotes(value) else {
        return false;
    };
    let mut escaped = false;
    for byte in inside {
        match byte {
            _ if byte.is_ascii_control() && *byte != b'\t' => return false,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return false,
            _ => {}
        }
    }
    !escaped
}

fn inside_quotes(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

fn read_node(value: &[u8]) -> Entry {
    match inside_quotes(value) {
        None => Entry::read_node(value),
        Some(inside) if inside.contains(&b'\\') => read_escaped(inside),
        Some(inside) => Entry::read_node(inside),
    }
}

/// Nothing in an address needs a backslash; but one before any character stands for that character.
fn read_escaped(inside: &[u8]) -> Entry {
    let mut plain = [0; MAX_ENTRY_LEN];
    let mut len = 0;
    let mut bytes = inside.iter();
    while let Some(byte) = bytes.next() {
        let byte = if *byte == b'\\' {
            bytes.next()
        } else {
            Some(byte)
        };
        let (Some(byte), Some(place)) = (byte, plain.get_mut(len)) else {
            return Entry::Bad;
        };
        *place = *byte;
        len += 1;
    }
    plain.get(..len).map_or(Entry::Bad, Entry::read_node)
}
