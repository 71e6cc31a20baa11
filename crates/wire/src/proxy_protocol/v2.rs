//! Version 2, for machines: a signature, a command, addresses of fixed length, additions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Header, HeaderError, MAX_LEN, Origin, begins};

const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const FIXED_LEN: usize = 16;
const UNIX_LEN: usize = 216;

/// The type of the addition that holds a checksum.
const CRC32C: u8 = 3;

pub(super) fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
    if !begins(bytes, SIGNATURE)? {
        return Ok(None);
    }
    let Some(&[command, family, high, low]) = bytes.get(SIGNATURE.len()..FIXED_LEN) else {
        return match bytes.get(SIGNATURE.len()) {
            Some(command) => is_local(*command).map(|_| None),
            None => Ok(None),
        };
    };
    let is_local = is_local(command)?;
    let len = FIXED_LEN + usize::from(u16::from_be_bytes([high, low]));
    if len > MAX_LEN {
        return Err(HeaderError::TooLong);
    }
    let Some(header) = bytes.get(..len) else {
        return Ok(None);
    };
    let origin = if is_local {
        // Family and addresses are to be ignored.
        Origin::Socket
    } else {
        read_addresses(family, header)?
    };
    Ok(Some(Header { len, origin }))
}

fn is_local(command: u8) -> Result<bool, HeaderError> {
    match (command >> 4, command & 0xf) {
        (2, 0) => Ok(true),
        (2, 1) => Ok(false),
        (2, _) => Err(HeaderError::Command),
        _ => Err(HeaderError::Version),
    }
}

fn read_addresses(family: u8, header: &[u8]) -> Result<Origin, HeaderError> {
    let payload = header.get(FIXED_LEN..).ok_or(HeaderError::Length)?;
    let (origin, additions) = match family {
        // Not known to the sender: what follows it need not be additions.
        0x00 => return Ok(Origin::Socket),
        0x11 | 0x12 => {
            let (source, rest) = take::<4>(payload)?;
            let (destination, rest) = take::<4>(rest)?;
            let ip = |octets: &[u8; 4]| IpAddr::V4(Ipv4Addr::from(*octets));
            with_ports(ip(source), ip(destination), rest)?
        }
        0x21 | 0x22 => {
            let (source, rest) = take::<16>(payload)?;
            let (destination, rest) = take::<16>(rest)?;
            let ip = |octets: &[u8; 16]| IpAddr::V6(Ipv6Addr::from(*octets));
            with_ports(ip(source), ip(destination), rest)?
        }
        0x31 | 0x32 => (Origin::Unix, take::<UNIX_LEN>(payload)?.1),
        _ => return Err(HeaderError::Family),
    };
    check_additions(header, additions)?;
    Ok(origin)
}

fn with_ports(
    source: IpAddr,
    destination: IpAddr,
    rest: &[u8],
) -> Result<(Origin, &[u8]), HeaderError> {
    let (source_port, rest) = take::<2>(rest)?;
    let (destination_port, rest) = take::<2>(rest)?;
    let origin = Origin::Client {
        source: SocketAddr::new(source, u16::from_be_bytes(*source_port)),
        destination: SocketAddr::new(destination, u16::from_be_bytes(*destination_port)),
    };
    Ok((origin, rest))
}

fn take<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), HeaderError> {
    bytes.split_first_chunk().ok_or(HeaderError::Length)
}

/// Walks over type, length, value to the end. Of all additions only the checksum matters here.
fn check_additions(header: &[u8], mut additions: &[u8]) -> Result<(), HeaderError> {
    while !additions.is_empty() {
        let cut_off = HeaderError::Additions;
        let Some((&[kind, high, low], rest)) = additions.split_first_chunk() else {
            return Err(cut_off);
        };
        let len = usize::from(u16::from_be_bytes([high, low]));
        let (value, rest) = rest.split_at_checked(len).ok_or(cut_off)?;
        if kind == CRC32C {
            let told = value.try_into().map_err(|_| HeaderError::Checksum)?;
            let at = header.len() - rest.len() - len;
            if crc32c(header, at) != u32::from_be_bytes(told) {
                return Err(HeaderError::Checksum);
            }
        }
        additions = rest;
    }
    Ok(())
}

/// The checksum of a header (RFC 3720 appendix B.4), in which its own four bytes at `at` count as
/// zero. Bit by bit: this runs once per connection, if ever.
fn crc32c(header: &[u8], at: usize) -> u32 {
    const REVERSED_POLYNOMIAL: u32 = 0x82f6_3b78;
    let own = at..at + 4;
    let mut crc = u32::MAX;
    for (index, byte) in header.iter().enumerate() {
        crc ^= u32::from(if own.contains(&index) { 0 } else { *byte });
        for _ in 0..8 {
            crc = (crc >> 1) ^ (REVERSED_POLYNOMIAL & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // RFC 3720 appendix B.4: 32 bytes of zero, of one, ascending; the check value of the CRC.
        let outside = usize::MAX - 4;
        assert_eq!(crc32c(&[0; 32], outside), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32], outside), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending, outside), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789", outside), 0xe306_9283);
        assert_eq!(crc32c(&[0xff; 4], 0), crc32c(&[0; 4], outside));
    }
}
