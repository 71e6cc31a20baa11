//! A client that sends exactly what it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

pub(crate) struct Raw(pub(crate) TcpStream);

/// What came back: everything up to the end of the connection, or to a pause.
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) is_closed: bool,
    pub(crate) is_reset: bool,
}

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        let status = self
            .text
            .strip_prefix("HTTP/1.1 ")
            .or(self.text.strip_prefix("HTTP/1.0 "));
        let status = status
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse().ok());
        status.unwrap_or_else(|| panic!("no status in {:?}", self.text))
    }

    /// The value of a field of the first response.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let head = self.text.split("\r\n\r\n").next()?;
        head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn head(&self) -> &str {
        self.text.split("\r\n\r\n").next().unwrap_or_default()
    }

    pub(crate) fn body(&self) -> &str {
        self.text
            .split_once("\r\n\r\n")
            .map_or("", |(_, body)| body)
    }

    /// How many responses came, on one connection.
    pub(crate) fn responses(&self) -> usize {
        self.text.matches("HTTP/1.1 ").count()
    }
}

impl Raw {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        stream
            .set_write_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        Self(stream)
    }

    pub(crate) fn send(&mut self, text: &str) -> &mut Self {
        self.0.write_all(text.as_bytes()).expect("sent");
        self
    }

    /// Everything until the other end closes; fails if it does not within 30 s.
    pub(crate) fn read_to_end(&mut self) -> Reply {
        let reply = self.read_until(|_| false);
        assert!(
            reply.is_closed,
            "the connection stayed open after {:?}",
            reply.text
        );
        reply
    }

    /// One response whose length is stated, or which has none; the connection stays open.
    pub(crate) fn read_response(&mut self) -> Reply {
        self.read_until(|text| {
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                return false;
            };
            let head = head.to_ascii_lowercase();
            match head.split_once("content-length:") {
                Some((_, rest)) => {
                    let length = rest.lines().next().and_then(|it| it.trim().parse().ok());
                    body.len() >= length.unwrap_or(0)
                }
                None if head.contains("transfer-encoding") => body.ends_with("0\r\n\r\n"),
                None => true,
            }
        })
    }

    /// The head of a response that has no body, whatever length it states.
    pub(crate) fn read_head(&mut self) -> Reply {
        self.read_until(|text| text.ends_with("\r\n\r\n"))
    }

    /// Reads until `is_enough`, or the end.
    pub(crate) fn read_until(&mut self, is_enough: impl Fn(&str) -> bool) -> Reply {
        let mut bytes = Vec::new();
        let mut buffer = [0; 16 << 10];
        let (mut is_closed, mut is_reset) = (false, false);
        while !is_enough(&String::from_utf8_lossy(&bytes)) {
            match self.0.read(&mut buffer) {
                Ok(0) => is_closed = true,
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                // A signal that was for the process, not for this read.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    is_reset = error.kind() == std::io::ErrorKind::ConnectionReset;
                    is_closed = is_reset;
                    assert!(
                        is_reset,
                        "{error} after {:?}",
                        String::from_utf8_lossy(&bytes)
                    );
                }
            }
            if is_closed {
                break;
            }
        }
        Reply {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            is_closed,
            is_reset,
        }
    }

    /// Fails unless the other end closes within `span`; gives how long it took.
    pub(crate) fn closes_within(&mut self, span: Duration) -> Duration {
        let start = Instant::now();
        self.0.set_read_timeout(Some(span)).expect("a timeout");
        let mut buffer = [0; 1024];
        loop {
            match self.0.read(&mut buffer) {
                Ok(0) => return start.elapsed(),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return start.elapsed();
                }
                Err(error) => panic!("still open after {span:?}: {error}"),
            }
        }
    }
}

/// One request on a connection of its own, to its end.
pub(crate) fn exchange(address: SocketAddr, request: &str) -> Reply {
    Raw::connect(address).send(request).read_to_end()
}
