//! Where one value of the Redis protocol ends and the next begins.

use std::str::from_utf8;

/// How many bytes the first value has; none while part of it is missing.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let line = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    let number = || -> i64 {
        let digits = bytes.get(1..line.saturating_sub(2)).unwrap_or_default();
        let number = from_utf8(digits).ok().and_then(|text| text.parse().ok());
        number.unwrap_or(-1)
    };
    match bytes.first()? {
        b'$' | b'=' | b'!' => {
            let end = usize::try_from(number()).map_or(line, |text| line + text + 2);
            (end <= bytes.len()).then_some(end)
        }
        b'*' | b'~' | b'>' => several(bytes, line, number()),
        b'%' => several(bytes, line, number() * 2),
        _ => Some(line),
    }
}

fn several(bytes: &[u8], head: usize, many: i64) -> Option<usize> {
    (0..many).try_fold(head, |end, _| Some(end + length(bytes.get(end..)?)?))
}

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// A script by its hash, with so many keys.
    ByHash(usize),
    /// A script by its text, with so many keys.
    ByText(usize),
    /// Anything else.
    Other,
}

impl Call {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut words = words(bytes);
        let name = words.next().unwrap_or_default();
        let keys = words.nth(1).and_then(|word| from_utf8(word).ok());
        let keys = keys.and_then(|keys| keys.parse().ok()).unwrap_or(0);
        match name {
            b"EVALSHA" => Self::ByHash(keys),
            b"EVAL" => Self::ByText(keys),
            _ => Self::Other,
        }
    }

    /// Whether it is a script that reads or writes keys.
    pub(super) const fn has_keys(self) -> bool {
        matches!(self, Self::ByHash(1..) | Self::ByText(1..))
    }
}

/// The words of a command, which is an array of texts.
fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = bytes.iter().position(|byte| *byte == b'\n');
    let mut rest = head
        .and_then(|end| bytes.get(end + 1..))
        .unwrap_or_default();
    std::iter::from_fn(move || {
        let (word, after) = rest.split_at_checked(length(rest)?)?;
        rest = after;
        let start = word.iter().position(|byte| *byte == b'\n')? + 1;
        word.get(start..word.len().saturating_sub(2))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_it_ends() {
        for whole in [
            "+OK\r\n",
            "-ERR no\r\n",
            ":12\r\n",
            "$5\r\nhe\r\no\r\n",
            "$0\r\n\r\n",
            "$-1\r\n",
            "*-1\r\n",
            "*0\r\n",
            "*3\r\n$1\r\na\r\n*1\r\n:1\r\n+x\r\n",
            "%1\r\n+a\r\n$1\r\nb\r\n",
        ] {
            let bytes = whole.as_bytes();
            let followed = [bytes, b"+more\r\n"].concat();
            assert_eq!(length(&followed), Some(bytes.len()), "{whole:?}");
            for cut in 0..bytes.len() {
                assert_eq!(length(&bytes[..cut]), None, "{whole:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn calls_are_told_apart() {
        let call = |words: &[&str]| {
            let texts = words
                .iter()
                .map(|word| format!("${}\r\n{word}\r\n", word.len()));
            let bytes = format!("*{}\r\n{}", words.len(), texts.collect::<String>());
            Call::read(bytes.as_bytes())
        };
        assert_eq!(call(&["EVALSHA", "abc", "2", "k", "l"]), Call::ByHash(2));
        assert_eq!(call(&["EVAL", "return\r\n1", "0", "x"]), Call::ByText(0));
        assert_eq!(call(&["PING"]), Call::Other);
        assert!(Call::ByText(1).has_keys() && !Call::ByHash(0).has_keys());
    }
}
