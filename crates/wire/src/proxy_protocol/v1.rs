//! Version 1, for humans: `PROXY TCP4 203.0.113.9 192.0.2.1 56324 443` and CRLF.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Header, HeaderError, Origin, begins};

/// The longest line, with its CRLF.
const MAX_LINE_LEN: usize = 107;

pub(super) fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
    if !begins(bytes, b"PROXY ")? {
        return Ok(None);
    }
    let seen = bytes.get(..MAX_LINE_LEN).unwrap_or(bytes);
    let Some(end) = seen.iter().position(|byte| *byte == b'\r') else {
        return read_on(seen);
    };
    match seen.get(end + 1) {
        None => read_on(seen),
        Some(b'\n') => {
            let line = bytes.get(..end).ok_or(HeaderError::Line)?;
            let origin = read_line(line).ok_or(HeaderError::Line)?;
            let len = end + 2;
            Ok(Some(Header { len, origin }))
        }
        Some(_) => Err(HeaderError::Line),
    }
}

fn read_on(seen: &[u8]) -> Result<Option<Header>, HeaderError> {
    if seen.len() < MAX_LINE_LEN {
        Ok(None)
    } else {
        Err(HeaderError::Line)
    }
}

fn read_line(line: &[u8]) -> Option<Origin> {
    if line.split(|byte| *byte == b' ').nth(1)? == b"UNKNOWN" {
        // Whatever else stands in this line is to be ignored.
        return Some(Origin::Socket);
    }
    let mut words = str::from_utf8(line).ok()?.split(' ').skip(1);
    let read: fn(&str) -> Option<IpAddr> = match words.next()? {
        "TCP4" => |word| word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        "TCP6" => |word| word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        _ => return None,
    };
    let (source, destination) = (read(words.next()?)?, read(words.next()?)?);
    let (source_port, destination_port) = (port(words.next()?)?, port(words.next()?)?);
    let is_whole = words.next().is_none();
    is_whole.then_some(Origin::Client {
        source: SocketAddr::new(source, source_port),
        destination: SocketAddr::new(destination, destination_port),
    })
}

/// Digits without a leading zero.
fn port(word: &str) -> Option<u16> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let has_zero = word.len() > 1 && word.starts_with('0');
    word.parse().ok().filter(|_| is_plain && !has_zero)
}
