//! Commands as people type them: words on a line.

use memchr::memchr;

use super::{Arguments, Found, MAX_ARGUMENTS, MAX_COMMAND, Mistake};

/// Reads the line that `input` begins with. Quotes hold words together; what is escaped in them is
/// not read, so that every word stands in the input as it is.
pub(super) fn read<'a>(input: &'a [u8], arguments: &mut Arguments<'a>) -> Result<Found, Mistake> {
    let within = input.get(..MAX_COMMAND).unwrap_or(input);
    let Some(end) = memchr(b'\n', within) else {
        let is_over = within.len() == MAX_COMMAND;
        return if is_over {
            Err(Mistake::TooLong)
        } else {
            Ok(Found::Part)
        };
    };
    let line = within.get(..end).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if is_http(line) {
        return Err(Mistake::Http);
    }
    words(line, arguments)?;
    Ok(Found::Command(end + 1))
}

/// A page of a foreign site can make a browser send such a line, and commands behind it.
fn is_http(line: &[u8]) -> bool {
    let version = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    version.len() == 8 && version.starts_with(b"HTTP/")
}

fn words<'a>(line: &'a [u8], arguments: &mut Arguments<'a>) -> Result<(), Mistake> {
    let mut rest = line.trim_ascii_start();
    while let Some(first) = rest.first() {
        if arguments.len() == MAX_ARGUMENTS {
            return Err(Mistake::TooMany);
        }
        let (word, after) = match first {
            b'"' | b'\'' => quoted(rest, *first)?,
            _ => plain(rest)?,
        };
        arguments.push(word);
        rest = after.trim_ascii_start();
    }
    Ok(())
}

fn plain(rest: &[u8]) -> Result<(&[u8], &[u8]), Mistake> {
    let end = rest.iter().position(u8::is_ascii_whitespace);
    let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
    if word.iter().any(|byte| matches!(byte, b'"' | b'\'')) {
        return Err(Mistake::Quotes);
    }
    Ok((word, after))
}

fn quoted(rest: &[u8], quote: u8) -> Result<(&[u8], &[u8]), Mistake> {
    let inner = rest.get(1..).unwrap_or_default();
    let end = memchr(quote, inner).ok_or(Mistake::Quotes)?;
    let (word, after) = inner.split_at(end);
    let after = after.get(1..).unwrap_or_default();
    let is_whole = after.first().is_none_or(u8::is_ascii_whitespace);
    if word.contains(&b'\\') || !is_whole {
        return Err(Mistake::Quotes);
    }
    Ok((word, after))
}
