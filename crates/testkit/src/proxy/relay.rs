//! One line through the proxy: calls one way, answers the other way, in their order.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::fault::{Fault, Refusal};
use super::resp::{Call, length};
use super::{Counts, Upstream};

type From = Box<dyn AsyncRead + Send + Unpin>;
type To = Box<dyn AsyncWrite + Send + Unpin>;

/// The answer that a call will have.
enum Due {
    /// The server's, no earlier than this.
    Server(Option<Instant>),
    /// The server's is awaited, and nothing is answered any more.
    Lost,
    /// The server's is awaited, and then the line is cut.
    Cut,
    /// These words in its place.
    Words(Refusal),
}

/// Carries a line until one of its ends closes, or nobody is to be there.
pub(super) async fn carry(
    client: TcpStream,
    upstream: Upstream,
    mut faults: watch::Receiver<Fault>,
    counts: Arc<Counts>,
) {
    let Ok((from_server, to_server)) = dial(upstream).await else {
        return;
    };
    let _ = client.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (due, comes) = mpsc::unbounded_channel();
    let calls = Calls {
        age: counts.age.load(Relaxed),
        server: to_server,
        faults: faults.clone(),
        counts,
        due,
    };
    let carried = async {
        let mut answers = pin!(answers(from_server, Box::new(to_client), comes));
        tokio::select! {
            // What was sent is answered to its end.
            () = calls.carry(Box::new(from_client)) => answers.await,
            () = &mut answers => {}
        }
    };
    tokio::select! {
        () = carried => {}
        _ = faults.wait_for(|fault| *fault == Fault::Gone) => {}
    }
}

async fn dial(upstream: Upstream) -> io::Result<(From, To)> {
    match upstream {
        Upstream::Socket(path) => {
            let (from, to) = UnixStream::connect(path).await?.into_split();
            Ok((Box::new(from), Box::new(to)))
        }
        Upstream::Address(address) => {
            let server = TcpStream::connect(address).await?;
            server.set_nodelay(true)?;
            let (from, to) = server.into_split();
            Ok((Box::new(from), Box::new(to)))
        }
    }
}

/// The way to the server.
struct Calls {
    /// How many faults there had been when this line was opened.
    age: u64,
    server: To,
    faults: watch::Receiver<Fault>,
    counts: Arc<Counts>,
    due: mpsc::UnboundedSender<Due>,
}

impl Calls {
    async fn carry(mut self, client: From) {
        let mut client = Values::of(client);
        while let Some(bytes) = client.next().await {
            let call = Call::read(&bytes);
            let Some(due) = self.due(call) else {
                client.drain().await;
                break;
            };
            let is_sent = !matches!(due, Due::Words(_));
            if self.due.send(due).is_err() {
                break;
            }
            if is_sent {
                let one = u64::from(call.has_keys());
                self.counts.arrived.fetch_add(one, Relaxed);
                if self.server.write_all(&bytes).await.is_err() {
                    break;
                }
            }
        }
    }

    /// The answer that a call will have; none if it is not to arrive.
    fn due(&self, call: Call) -> Option<Due> {
        let is_by_hash = u64::from(matches!(call, Call::ByHash(_)));
        let number = self.counts.by_hash.fetch_add(is_by_hash, Relaxed) + 1;
        Some(match *self.faults.borrow() {
            Fault::Hang => return None,
            Fault::Slow(time) => Due::Server(Some(Instant::now() + time)),
            Fault::Swallow if call.has_keys() => Due::Lost,
            Fault::Cut if call.has_keys() => Due::Cut,
            Fault::Refuse(refusal) if refusal.refuses(call, number) => Due::Words(refusal),
            Fault::RefuseOnOldLines(refusal)
                if self.age < self.counts.age.load(Relaxed) && refusal.refuses(call, number) =>
            {
                Due::Words(refusal)
            }
            _ => Due::Server(None),
        })
    }
}

async fn answers(server: From, mut client: To, mut comes: mpsc::UnboundedReceiver<Due>) {
    let mut server = Values::of(server);
    while let Some(due) = comes.recv().await {
        let answer = match due {
            Due::Words(refusal) => Some(format!("-{}\r\n", refusal.words()).into_bytes()),
            Due::Server(after) => {
                let answer = server.next().await;
                if let Some(after) = after {
                    sleep_until(after).await;
                }
                answer
            }
            Due::Cut => {
                let _ = server.next().await;
                None
            }
            Due::Lost => {
                let _ = server.next().await;
                // What is sent on a dead line arrives all the same.
                while comes.recv().await.is_some() {
                    let _ = server.next().await;
                }
                None
            }
        };
        let Some(answer) = answer else { return };
        if client.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// One value of the protocol after the other.
struct Values {
    from: From,
    bytes: Vec<u8>,
}

impl Values {
    const fn of(from: From) -> Self {
        Self {
            from,
            bytes: Vec::new(),
        }
    }

    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(length) = length(&self.bytes) {
                let rest = self.bytes.split_off(length);
                return Some(std::mem::replace(&mut self.bytes, rest));
            }
            let read = self.from.read_buf(&mut self.bytes).await;
            if !matches!(read, Ok(1..)) {
                return None;
            }
        }
    }

    /// Reads on until the other end closes.
    async fn drain(&mut self) {
        while matches!(self.from.read_buf(&mut self.bytes).await, Ok(1..)) {
            self.bytes.clear();
        }
    }
}
