//! The Redis door between real clients and clients that misbehave.

mod bounds;
mod clients;
mod hostile;
mod service;
mod stores;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::support::binary::Running;

/// A door, with the API beside it for its metrics.
const DOORS: &str = "[api]\nlisten = \"127.0.0.1:0\"\n\n[resp]\nlisten = \"127.0.0.1:0\"\n";

const RULE: &str = r#"
[[rule]]
name = "api"
key = ["header:x-user"]
algorithm = "fixed-window"
limit = 100
window = "1d"
anchor = "first-request"
"#;

fn serve(settings: &str) -> Running {
    Running::serve(&format!("{DOORS}{settings}{RULE}"))
}

/// A connection that says what it is told to.
struct Client(TcpStream);

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        let patience = Duration::from_secs(20);
        stream.set_read_timeout(Some(patience)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self(stream)
    }

    fn to(running: &Running) -> Self {
        Self::connect(running.resp_address())
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.0.write_all(bytes.as_ref()).expect("sent");
        self
    }

    /// Whole lines, as many as are wanted.
    fn lines(&mut self, lines: usize) -> String {
        let (mut text, mut byte, mut ended) = (Vec::new(), [0], 0);
        while ended < lines {
            match self.0.read(&mut byte) {
                Ok(1) => {
                    text.push(byte[0]);
                    ended += usize::from(byte == [b'\n']);
                }
                other => panic!("{other:?} after {}", text.escape_ascii()),
            }
        }
        String::from_utf8(text).expect("text")
    }

    /// The five numbers of an answer.
    fn five(&mut self, line: &str) -> [i64; 5] {
        let answer = self.send(format!("{line}\r\n")).lines(6);
        let numbers = answer.lines().skip(1);
        let numbers: Vec<i64> = numbers
            .map(|line| line.strip_prefix(':').and_then(|it| it.parse().ok()))
            .map(|number| number.unwrap_or_else(|| panic!("{line}: {answer}")))
            .collect();
        numbers.try_into().expect("five numbers")
    }

    /// All that comes until the other side closes.
    fn rest(mut self) -> String {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error} after {}", rest.escape_ascii()),
        }
        String::from_utf8(rest).expect("text")
    }
}

/// A command as clients send it.
fn command(arguments: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        out.extend(format!("${}\r\n", argument.len()).into_bytes());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
    out
}
