//! Bytes in, commands out.

use smallvec::SmallVec;

use super::{Mistake, inline};

/// The most bytes of one command, with all that stands around its arguments.
pub const MAX_COMMAND: usize = 16 << 10;

/// The most arguments of one command, its name among them.
pub const MAX_ARGUMENTS: usize = 64;

/// The arguments of a command, its name first.
pub type Arguments<'a> = SmallVec<[&'a [u8]; 8]>;

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A whole command of so many bytes; or an empty one, without arguments, which is passed over.
    Command(usize),
    /// Part of one, as far as can be told.
    Part,
}

/// Reads the command that `input` begins with. Its arguments take the place of what was in `arguments`.
///
/// What is found does not depend on how the bytes came: a part of a command is never taken for another
/// one, and what is refused with all bytes there is refused, if not before.
///
/// ```
/// use jeton_server::resp::protocol::{Arguments, Found, read};
/// let mut arguments = Arguments::new();
/// let found = read(b"*2\r\n$4\r\nPING\r\n$2\r\nhi\r\nPING", &mut arguments)?;
/// assert_eq!(found, Found::Command(22));
/// assert_eq!(arguments.as_slice(), [&b"PING"[..], b"hi"]);
/// # Ok::<(), jeton_server::resp::protocol::Mistake>(())
/// ```
///
/// # Errors
/// [`Mistake`]: this is no command, nor will it become one.
#[inline]
pub fn read<'a>(input: &'a [u8], arguments: &mut Arguments<'a>) -> Result<Found, Mistake> {
    arguments.clear();
    match input.first() {
        None => Ok(Found::Part),
        Some(b'*') => array(input, arguments),
        Some(_) => inline::read(input, arguments),
    }
}

#[inline]
fn array<'a>(input: &'a [u8], arguments: &mut Arguments<'a>) -> Result<Found, Mistake> {
    let Some((count, mut at)) = length(input, 1)? else {
        return Ok(Found::Part);
    };
    let Ok(count) = usize::try_from(count) else {
        return Ok(Found::Command(at));
    };
    if count > MAX_ARGUMENTS {
        return Err(Mistake::TooMany);
    }
    for _ in 0..count {
        match input.get(at) {
            None => return Ok(Found::Part),
            Some(b'$') => {}
            Some(other) => return Err(Mistake::NoBulk(*other)),
        }
        let Some((length, start)) = length(input, at + 1)? else {
            return Ok(Found::Part);
        };
        let length = usize::try_from(length).map_err(|_| Mistake::Length)?;
        // Before anything is kept for what may never come.
        if length > MAX_COMMAND || start + length + 2 > MAX_COMMAND {
            return Err(Mistake::TooLong);
        }
        let end = start + length;
        let (argument, rest) = match (input.get(start..end), input.get(end..)) {
            (Some(argument), Some(rest)) => (argument, rest),
            _ => return Ok(Found::Part),
        };
        match rest {
            [b'\r', b'\n', ..] => {}
            [] | [b'\r'] => return Ok(Found::Part),
            _ => return Err(Mistake::NoEnd),
        }
        arguments.push(argument);
        at = end + 2;
    }
    Ok(Found::Command(at))
}

/// More digits than any length has that is not refused.
const MAX_DIGITS: usize = 10;

/// A length, and where the line ends; none if it goes on.
#[inline]
fn length(input: &[u8], start: usize) -> Result<Option<(i64, usize)>, Mistake> {
    let line = input.get(start..).unwrap_or_default();
    let (sign, digits) = match line {
        [b'-', digits @ ..] => (-1, digits),
        digits => (1, digits),
    };
    let mut length = 0;
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' if at < MAX_DIGITS => length = length * 10 + i64::from(byte - b'0'),
            b'\r' if at > 0 => {
                let end = input.len() - digits.len() + at + 2;
                return match digits.get(at + 1) {
                    None => Ok(None),
                    Some(b'\n') => Ok(Some((sign * length, end))),
                    Some(_) => Err(Mistake::Length),
                };
            }
            _ => return Err(Mistake::Length),
        }
    }
    Ok(None)
}
