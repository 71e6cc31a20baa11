//! Values in, bytes out.

use std::fmt;

/// Which version of the protocol a client speaks: the second until it says otherwise (HELLO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RESP2: maps are flat arrays.
    #[default]
    Two,
    /// RESP3.
    Three,
}

impl Version {
    /// Its number.
    pub const fn number(self) -> i64 {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// Appends values to a buffer.
///
/// ```
/// use jeton_server::resp::protocol::{Version, Writer};
/// let mut out = Vec::new();
/// let mut writer = Writer::new(&mut out, Version::Three);
/// writer.map(1);
/// writer.bulk(b"proto");
/// writer.integer(3);
/// assert_eq!(out, b"%1\r\n$5\r\nproto\r\n:3\r\n");
/// ```
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    version: Version,
}

impl<'o> Writer<'o> {
    /// Appends to `out` what clients of that version understand.
    pub const fn new(out: &'o mut Vec<u8>, version: Version) -> Self {
        Self { out, version }
    }

    /// A number.
    #[inline]
    pub fn integer(&mut self, number: i64) {
        self.headed(b':', number);
    }

    /// A number as text: where clients are used to that.
    pub fn bulk_integer(&mut self, number: i64) {
        let mut digits = itoa::Buffer::new();
        self.bulk(digits.format(number).as_bytes());
    }

    /// Bytes of any content.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A word such as `OK`.
    pub fn simple(&mut self, word: &str) {
        self.out.push(b'+');
        self.line(word);
    }

    /// A refusal: a word in capitals that clients tell apart, and what is wrong.
    pub fn error(&mut self, code: &str, what: impl fmt::Display) {
        self.out.push(b'-');
        self.line(&format!("{code} {what}"));
    }

    /// Nothing.
    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.version {
            Version::Two => b"$-1\r\n",
            Version::Three => b"_\r\n",
        });
    }

    /// The head of so many values, which come next.
    #[inline]
    pub fn array(&mut self, values: usize) {
        self.length(b'*', values);
    }

    /// The head of so many pairs.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Two => self.length(b'*', 2 * pairs),
            Version::Three => self.length(b'%', pairs),
        }
    }

    /// The head of so many values without an order.
    pub fn set(&mut self, values: usize) {
        match self.version {
            Version::Two => self.length(b'*', values),
            Version::Three => self.length(b'~', values),
        }
    }

    /// Five numbers, as all answers to decisions are.
    #[inline]
    pub fn five(&mut self, numbers: [i64; 5]) {
        self.out.extend_from_slice(b"*5\r\n");
        for number in numbers {
            self.integer(number);
        }
    }

    #[inline]
    fn length(&mut self, head: u8, length: usize) {
        self.headed(head, i64::try_from(length).unwrap_or(i64::MAX));
    }

    #[inline]
    fn headed(&mut self, head: u8, number: i64) {
        self.out.push(head);
        // Most numbers here have one digit.
        if let Ok(digit @ 0..=9) = u8::try_from(number) {
            self.out.extend_from_slice(&[b'0' + digit, b'\r', b'\n']);
            return;
        }
        let mut digits = itoa::Buffer::new();
        self.out.extend_from_slice(digits.format(number).as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    /// What clients have sent may stand in a line; it does not end it.
    fn line(&mut self, text: &str) {
        let byte = |byte: u8| if byte.is_ascii_control() { b' ' } else { byte };
        self.out.extend(text.bytes().map(byte));
        self.out.extend_from_slice(b"\r\n");
    }
}
