//! Keys read back: whether bytes are one, and what it says.

use std::net::IpAddr;

use super::encode::{ADDRESS_V4, ADDRESS_V6, DIGEST, MISSING, TEXT};
use crate::key::KeyPart;

/// What a key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyText<'k> {
    /// One value for each part that has values, in order.
    Parts(Vec<PartValue<'k>>),
    /// It was too long to be kept.
    Digest,
}

/// The value of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartValue<'k> {
    Missing,
    Text(&'k [u8]),
    /// The network that is counted together.
    Address(IpAddr),
}

/// Reads a key of these parts. `None` for bytes that cannot be one: other parts, or more.
pub(crate) fn read_key<'k>(parts: &[KeyPart], key: &'k [u8]) -> Option<KeyText<'k>> {
    if key.first() == Some(&DIGEST) {
        return (key.len() == 1 + 8 + 32).then_some(KeyText::Digest);
    }
    let mut rest = key;
    let written = parts.iter().filter(|part| **part != KeyPart::Global);
    let values: Option<Vec<_>> = written.map(|part| read_part(part, &mut rest)).collect();
    values.filter(|_| rest.is_empty()).map(KeyText::Parts)
}

fn read_part<'k>(part: &KeyPart, rest: &mut &'k [u8]) -> Option<PartValue<'k>> {
    let is_address = matches!(part, KeyPart::ClientIp(_));
    match take(rest, 1)? {
        [MISSING] => Some(PartValue::Missing),
        [TEXT] => {
            let length = take(rest, 4)?.try_into().ok().map(u32::from_be_bytes)?;
            take(rest, usize::try_from(length).ok()?).map(PartValue::Text)
        }
        [ADDRESS_V4] if is_address => address::<4>(rest),
        [ADDRESS_V6] if is_address => address::<16>(rest),
        _ => None,
    }
}

fn address<'k, const N: usize>(rest: &mut &'k [u8]) -> Option<PartValue<'k>>
where
    IpAddr: From<[u8; N]>,
{
    let octets: [u8; N] = take(rest, N)?.try_into().ok()?;
    Some(PartValue::Address(octets.into()))
}

fn take<'k>(rest: &mut &'k [u8], bytes: usize) -> Option<&'k [u8]> {
    let (head, tail) = rest.split_at_checked(bytes)?;
    *rest = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::encode::{bound, push_address, push_text};

    const PARTS: [KeyPart; 3] = [KeyPart::ClientIp(None), KeyPart::Method, KeyPart::Host];

    fn key() -> Vec<u8> {
        let mut key = Vec::new();
        push_address("2001:db8::".parse().unwrap(), &mut key);
        key.push(MISSING);
        push_text(b"api.example", &mut key);
        key
    }

    #[test]
    fn a_key_reads_back_as_it_was_written() {
        let key = key();
        let values = vec![
            PartValue::Address("2001:db8::".parse().unwrap()),
            PartValue::Missing,
            PartValue::Text(b"api.example"),
        ];
        assert_eq!(read_key(&PARTS, &key), Some(KeyText::Parts(values)));
        assert_eq!(
            read_key(&[KeyPart::Global], b""),
            Some(KeyText::Parts(Vec::new()))
        );
    }

    #[test]
    fn bytes_of_other_parts_are_no_key() {
        let key = key();
        for cut in 0..key.len() {
            assert_eq!(read_key(&PARTS, &key[..cut]), None, "{cut}");
        }
        assert_eq!(read_key(&PARTS, &[&key[..], &[MISSING]].concat()), None);
        assert_eq!(read_key(&PARTS[1..], &key), None);
        assert_eq!(
            read_key(&[KeyPart::Method], &[ADDRESS_V4, 1, 2, 3, 4]),
            None
        );
        assert_eq!(read_key(&PARTS[..1], &[TEXT, 255, 255, 255, 255]), None);
    }

    #[test]
    fn a_key_that_was_too_long_is_known_as_such() {
        let mut key = Vec::new();
        push_text(&[b'x'; 2_000], &mut key);
        bound(&mut key, 0);
        assert_eq!(read_key(&[KeyPart::Host], &key), Some(KeyText::Digest));
        assert_eq!(read_key(&[KeyPart::Host], &key[1..]), None);
    }
}
