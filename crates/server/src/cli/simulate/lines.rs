//! Lines of any origin, one at a time, none of them longer than it may be.

use std::io::{self, BufRead, BufReader, Read};

/// The longest line, in bytes: 32 charges with long keys fit many times.
const LONGEST: u64 = 1 << 20;

/// Bytes of input read ahead.
const BUFFER: usize = 256 << 10;

pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    number: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER, input),
            line: Vec::new(),
            number: 0,
        }
    }

    /// The number of the line read last, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its end, and whether more is there without waiting.
    pub(super) fn next(&mut self) -> io::Result<Option<(&[u8], bool)>> {
        self.line.clear();
        let read = (&mut self.input)
            .take(LONGEST + 1)
            .read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() as u64 > LONGEST {
            let what = format!("the line is longer than {LONGEST} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Some((line, !self.input.buffer().is_empty())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_either_end_or_none() {
        let mut lines = Lines::new(&b"a\r\n\nb"[..]);
        for (expected, number) in [("a", 1), ("", 2), ("b", 3)] {
            let line = lines.next().unwrap().unwrap().0.to_vec();
            assert_eq!(
                (line.as_slice(), lines.number()),
                (expected.as_bytes(), number)
            );
        }
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn a_line_without_end_is_refused_and_not_kept() {
        let mut lines = Lines::new(io::repeat(b'x'));
        assert!(lines.next().is_err());
    }
}
