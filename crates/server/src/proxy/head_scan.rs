//! Watches the head of a request pass, for what the parser behind it does not tell.
//!
//! hyper follows RFC 9112, section 6.3, where a request has both `Transfer-Encoding` and
//! `Content-Length`: the first wins, the second is dropped, the connection is closed, and the
//! handler sees a clean request. The RFC also says that such a request "ought to be handled as an
//! error"; to do so, somebody has to have seen both.

/// Longest name looked for, with its colon.
const NAME_BYTES: usize = b"transfer-encoding:".len();

/// Which framing fields a head has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Framing(u8);

impl Framing {
    const CONTENT_LENGTH: u8 = 1;
    const TRANSFER_ENCODING: u8 = 2;

    pub(super) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u8 {
        self.0
    }

    /// Whether the two fields contradict each other.
    pub(super) const fn is_ambiguous(self) -> bool {
        self.0 == Self::CONTENT_LENGTH | Self::TRANSFER_ENCODING
    }

    fn note(&mut self, line: &[u8]) {
        let starts_with = |name: &[u8]| {
            line.get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        match line.first() {
            Some(b'c' | b'C') if starts_with(b"content-length:") => self.0 |= Self::CONTENT_LENGTH,
            Some(b't' | b'T') if starts_with(b"transfer-encoding:") => {
                self.0 |= Self::TRANSFER_ENCODING;
            }
            _ => {}
        }
    }
}

/// Reads a head line by line, in whatever pieces it arrives.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    request: u32,
    framing: Framing,
    /// The start of a line whose end has not arrived.
    partial: [u8; NAME_BYTES],
    partial_len: usize,
    /// A line that is not empty has been seen: an empty one ends the head.
    begun: bool,
    ended: bool,
}

impl HeadScan {
    /// Reads `bytes`, which belong to the head of request number `request`.
    pub(super) fn feed(&mut self, request: u32, bytes: &[u8]) -> Framing {
        if self.request != request {
            *self = Self {
                request,
                ..Self::default()
            };
        }
        let mut line_start = 0;
        for line_end in memchr::memchr_iter(b'\n', bytes) {
            if self.ended {
                return self.framing;
            }
            self.line(&bytes[line_start..line_end]);
            line_start = line_end + 1;
        }
        if !self.ended {
            self.keep(&bytes[line_start..]);
        }
        self.framing
    }

    fn line(&mut self, rest: &[u8]) {
        let is_empty = self.partial_len == 0 && matches!(rest, b"" | b"\r");
        if is_empty || (rest.is_empty() && self.partial[..self.partial_len] == *b"\r") {
            self.ended = self.begun;
        } else if self.partial_len == 0 {
            self.framing.note(rest);
            self.begun = true;
        } else {
            self.keep(rest);
            self.framing.note(&self.partial[..self.partial_len]);
            self.begun = true;
        }
        self.partial_len = 0;
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = &mut self.partial[self.partial_len..];
        let taken = room.len().min(bytes.len());
        room[..taken].copy_from_slice(&bytes[..taken]);
        self.partial_len += taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\
                        TRANSFER-encoding: chunked\r\n\r\n";

    fn scan(pieces: &[&[u8]]) -> Framing {
        let mut scan = HeadScan::default();
        pieces
            .iter()
            .fold(Framing::default(), |_, piece| scan.feed(0, piece))
    }

    #[test]
    fn both_fields_are_seen_however_the_head_is_cut() {
        assert!(scan(&[BOTH.as_bytes()]).is_ambiguous());
        for cut in 0..=BOTH.len() {
            let (left, right) = BOTH.as_bytes().split_at(cut);
            assert!(scan(&[left, right]).is_ambiguous(), "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = BOTH.as_bytes().chunks(1).collect();
        assert!(scan(&bytes).is_ambiguous());
    }

    #[test]
    fn the_body_is_not_the_head() {
        let head = "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n";
        let part = "f\r\nContent-Length: 3\r\n\r\n";
        assert!(!scan(&[format!("{head}{part}").as_bytes()]).is_ambiguous());
        assert!(!scan(&[head.as_bytes(), part.as_bytes()]).is_ambiguous());
    }

    #[test]
    fn names_are_whole_and_at_the_start_of_a_line() {
        for line in [
            "Content-Lengthy: 3",
            "X: content-length: 3",
            " Content-Length: 3",
            "Content",
        ] {
            let head = format!("P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{line}\r\n\r\n");
            assert!(!scan(&[head.as_bytes()]).is_ambiguous(), "{line}");
        }
    }

    #[test]
    fn a_new_request_starts_anew() {
        let mut scan = HeadScan::default();
        scan.feed(0, b"P / HTTP/1.1\r\nContent-Length: 3\r\n\r\n");
        let second = scan.feed(1, b"P / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert!(!second.is_ambiguous());
    }
}
