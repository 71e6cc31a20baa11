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
        counts: Arc::clone(&counts),
        due,
    };
    let carried = async {
        let answers = Answers {
            server: Values::of(from_server),
            counts,
        };
        let mut answers = pin!(answers.carry(Box::new(to_client), comes));
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
    due: mpsc::UnboundedSender<(Due, bool)>,
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
            if self.due.send((due, call.has_keys())).is_err() {
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

/// The way back.
struct Answers {
    server: Values,
    counts: Arc<Counts>,
}

impl Answers {
    /// Each answer with whether its call had keys, in the order of the calls.
    async fn carry(mut self, mut client: To, mut comes: mpsc::UnboundedReceiver<(Due, bool)>) {
        while let Some((due, has_keys)) = comes.recv().await {
            let answer = match due {
                Due::Words(refusal) => Some(format!("-{}\r\n", refusal.words()).into_bytes()),
                Due::Server(after) => {
                    let answer = self.next(has_keys).await;
                    if let Some(after) = after {
                        sleep_until(after).await;
                    }
                    answer
                }
                Due::Cut => {
                    let _ = self.next(has_keys).await;
                    None
                }
                Due::Lost => {
                    let _ = self.next(has_keys).await;
                    // What is sent on a dead line arrives all the same.
                    while let Some((_, has_keys)) = comes.recv().await {
                        let _ = self.next(has_keys).await;
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

    async fn next(&mut self, has_keys: bool) -> Option<Vec<u8>> {
        let answer = self.server.next().await?;
        let one = u64::from(has_keys && !answer.starts_with(b"-"));
        self.counts.carried_out.fetch_add(one, Relaxed);
        Some(answer)
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
