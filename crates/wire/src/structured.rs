//! Items of structured fields (RFC 9651), read as strictly as the RFC has it: what is malformed
//! is no item at all.

use std::borrow::Cow;

/// A bare item, as far as the limit fields have a use for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Bare<'a> {
    /// An Integer.
    Integer(i64),
    /// A String or a Token.
    Text(Cow<'a, str>),
    /// A Byte Sequence, still in base64.
    Bytes(&'a str),
    /// Decimal, Boolean, Date or Display String.
    Other,
}

impl Bare<'_> {
    /// A non-negative Integer.
    pub(crate) fn whole(&self) -> Option<u64> {
        match self {
            Self::Integer(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }
}

/// Reads one item and hands its parameters to `each`, in order. `None` if it is malformed; `each`
/// may have seen some parameters by then.
pub(crate) fn read_item<'a>(
    item: &'a [u8],
    mut each: impl FnMut(&'a str, Bare<'a>),
) -> Option<Bare<'a>> {
    let mut cursor = Cursor {
        rest: item.trim_ascii(),
    };
    let bare = cursor.bare()?;
    while !cursor.rest.is_empty() {
        let (key, value) = cursor.parameter()?;
        each(key, value);
    }
    Some(bare)
}

/// Reads one member of a Dictionary that has a value: `limit=100`. `None` for anything else.
pub(crate) fn read_member(member: &[u8]) -> Option<(&str, Bare<'_>)> {
    let mut cursor = Cursor {
        rest: member.trim_ascii(),
    };
    let key = cursor.key()?;
    cursor.eat(b'=')?;
    Some((key, read_item(cursor.rest, |_, _| ())?))
}

/// Whether this is a member of a Dictionary rather than of a List, well-formed or not.
pub(crate) fn is_member(member: &[u8]) -> bool {
    let mut cursor = Cursor {
        rest: member.trim_ascii(),
    };
    cursor.key().is_some() && cursor.eat(b'=').is_some()
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, byte: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }

    /// The longest prefix of bytes that fit.
    fn while_fits(&mut self, fits: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !fits(*byte));
        let (head, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        head
    }

    fn parameter(&mut self) -> Option<(&'a str, Bare<'a>)> {
        self.eat(b';')?;
        self.while_fits(|byte| byte == b' ');
        let key = self.key()?;
        let value = match self.eat(b'=') {
            Some(()) => self.bare()?,
            None => Bare::Other,
        };
        Some((key, value))
    }

    fn key(&mut self) -> Option<&'a str> {
        let first = *self.rest.first()?;
        if !first.is_ascii_lowercase() && first != b'*' {
            return None;
        }
        text(self.while_fits(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte)
        }))
    }

    fn bare(&mut self) -> Option<Bare<'a>> {
        match *self.rest.first()? {
            b'"' => self.string().map(Bare::Text),
            b'-' | b'0'..=b'9' => self.number(),
            b':' => self.bytes().map(Bare::Bytes),
            b'?' => self.boolean(),
            b'@' => self.date(),
            b'%' => self.display_string(),
            first if first.is_ascii_alphabetic() || first == b'*' => self.token(),
            _ => None,
        }
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.eat(b'"')?;
        let plain = self.while_fits(|byte| matches!(byte, b' '..=b'~') && !b"\"\\".contains(&byte));
        if self.eat(b'"').is_some() {
            return text(plain).map(Cow::Borrowed);
        }
        let mut owned = text(plain)?.to_owned();
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            match *byte {
                b'"' => return Some(Cow::Owned(owned)),
                b'\\' => {
                    let (escaped, rest) = rest.split_first()?;
                    self.rest = rest;
                    let known = b"\"\\".contains(escaped);
                    known.then(|| owned.push(char::from(*escaped)))?;
                }
                plain @ b' '..=b'~' => owned.push(char::from(plain)),
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<Bare<'a>> {
        let is_negative = self.eat(b'-').is_some();
        let digits = self.while_fits(|byte| byte.is_ascii_digit());
        if self.eat(b'.').is_some() {
            let decimals = self.while_fits(|byte| byte.is_ascii_digit());
            let fits = (1..=12).contains(&digits.len()) && (1..=3).contains(&decimals.len());
            return fits.then_some(Bare::Other);
        }
        if !(1..=15).contains(&digits.len()) {
            return None;
        }
        let value: i64 = text(digits)?.parse().ok()?;
        Some(Bare::Integer(if is_negative { -value } else { value }))
    }

    /// Base64 with its padding, but not decoded.
    fn bytes(&mut self) -> Option<&'a str> {
        self.eat(b':')?;
        let encoded =
            self.while_fits(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        self.eat(b':')?;
        let encoded = text(encoded)?;
        let unpadded = encoded.trim_end_matches('=');
        // Padding fills up the last group of four, which holds at least two digits.
        let room = (4 - unpadded.len() % 4) % 4;
        let fits = encoded.len() - unpadded.len() <= room
            && !unpadded.contains('=')
            && unpadded.len() % 4 != 1;
        fits.then_some(encoded)
    }

    fn boolean(&mut self) -> Option<Bare<'a>> {
        self.eat(b'?')?;
        self.eat(b'0').or_else(|| self.eat(b'1'))?;
        Some(Bare::Other)
    }

    fn date(&mut self) -> Option<Bare<'a>> {
        self.eat(b'@')?;
        match self.number()? {
            Bare::Integer(_) => Some(Bare::Other),
            _ => None,
        }
    }

    fn token(&mut self) -> Option<Bare<'a>> {
        let token = self.while_fits(|byte| {
            byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
        });
        text(token).map(|token| Bare::Text(Cow::Borrowed(token)))
    }

    /// Its text is nothing the limit fields use, but it must be well-formed to be passed over.
    fn display_string(&mut self) -> Option<Bare<'a>> {
        self.eat(b'%')?;
        self.eat(b'"')?;
        let mut decoded = Vec::new();
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            match *byte {
                b'"' => return str::from_utf8(&decoded).is_ok().then_some(Bare::Other),
                b'%' => {
                    let (high, low) = (*rest.first()?, *rest.get(1)?);
                    decoded.push(lower_hex(high)? << 4 | lower_hex(low)?);
                    self.rest = rest.get(2..)?;
                }
                plain @ b' '..=b'~' => decoded.push(plain),
                _ => return None,
            }
        }
    }
}

fn lower_hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Bytes that were checked to be ASCII.
fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sfv::{BareItem, Item, Parser};

    fn read(item: &str) -> Option<(Bare<'_>, Vec<(&str, Bare<'_>)>)> {
        let mut parameters = Vec::new();
        let bare = read_item(item.as_bytes(), |key, value| parameters.push((key, value)))?;
        Some((bare, parameters))
    }

    fn same(ours: &Bare<'_>, theirs: &BareItem) -> bool {
        match theirs {
            BareItem::Integer(value) => *ours == Bare::Integer(i64::from(*value)),
            BareItem::String(value) => *ours == Bare::Text(value.as_str().into()),
            BareItem::Token(value) => *ours == Bare::Text(value.as_str().into()),
            BareItem::ByteSequence(_) => matches!(ours, Bare::Bytes(_)),
            _ => *ours == Bare::Other,
        }
    }

    fn item() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "\"a\"", "\"", "\\", "\\\"", ";", "; ", "=", "r", "a1", "*", "-", "5", "0", "12345",
            ".", ":", "AQ==", "=", "?1", "?0", "@", "%\"", "%c3%a9", "%", "tok/en:x", " ", "A",
            "\u{e9}", ";r=5", ";w=\"x\"", ",",
        ]);
        prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16_384))]

        #[test]
        fn an_item_is_read_exactly_where_a_strict_parser_reads_one(text in item()) {
            let trimmed = text.trim_matches(' ');
            let theirs = Parser::new(trimmed).parse::<Item>().ok();
            let ours = read(&text);
            prop_assert_eq!(ours.is_some(), theirs.is_some(), "{}", text);
            if let (Some((bare, parameters)), Some(item)) = (ours, theirs) {
                prop_assert!(same(&bare, &item.bare_item), "{}", text);
                for (key, value) in &item.params {
                    let last = parameters.iter().rfind(|(ours, _)| *ours == key.as_str());
                    prop_assert!(same(&last.unwrap().1, value), "{}", text);
                }
            }
        }
    }

    #[test]
    fn padding_belongs_to_the_last_digits() {
        for (bytes, read_as) in [
            (":=:", false),
            ("::", true),
            (":AQ:", true),
            (":AQ==:", true),
            (":AQ===:", false),
            (":AQI=:", true),
            (":AQI==:", false),
            (":AQID=:", false),
            (":AQ==AQ==:", false),
            (":A:", false),
        ] {
            assert_eq!(read(bytes).is_some(), read_as, "{bytes}");
            assert_eq!(
                Parser::new(bytes).parse::<Item>().is_ok(),
                read_as,
                "{bytes}"
            );
        }
    }

    #[test]
    fn members_of_dictionaries_are_told_from_items() {
        assert_eq!(
            read_member(b" limit=100 "),
            Some(("limit", Bare::Integer(100)))
        );
        assert_eq!(
            read_member(b"reset=5;x=1"),
            Some(("reset", Bare::Integer(5)))
        );
        assert_eq!(read_member(b"limit=x y"), None);
        for (member, expected) in [
            ("limit=100", true),
            (" limit=", true),
            ("limit", false),
            ("default;r=5", false),
            ("\"limit\";r=5", false),
            ("Limit=100", false),
            ("100;w=60", false),
        ] {
            assert_eq!(is_member(member.as_bytes()), expected, "{member}");
        }
    }
}
