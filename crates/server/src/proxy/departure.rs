//! Noticing that a client is gone while nothing is read from it.
//!
//! While a response is due the client may have closed its sending side: it has asked all it wanted
//! to, and still listens (RFC 9293, section 3.6, "a connection is half-closed"). Over TCP a client
//! that closed its socket sends the very same FIN. What tells them apart is the reset that answers
//! the next bytes written to a socket that is closed; a Unix socket knows at once.
//!
//! Others take the FIN itself for the end (nginx logs 499 and sends nothing, unless told
//! `proxy_ignore_client_abort`). Here a request was charged before, and what is charged is answered.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, Interest, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Sleep, sleep};

/// A socket that says nothing of its end, as one that is half-closed or has unread bytes does, is
/// looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// A client's socket.
pub(super) trait ClientSocket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Calls when there is something to read: bytes, the end, or an error.
    fn poll_stir(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// What the socket is known to be ready for.
    fn readiness(&self) -> Option<Ready>;
}

macro_rules! client_socket {
    ($($stream:ty),*) => {$(
        impl ClientSocket for $stream {
            fn poll_stir(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_read_ready(cx)
            }

            fn readiness(&self) -> Option<Ready> {
                let ready = pin!(self.ready(Interest::READABLE | Interest::WRITABLE));
                match ready.poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(ready) => ready.ok(),
                    Poll::Pending => None,
                }
            }
        }
    )*};
}

client_socket!(TcpStream, UnixStream);

/// Watches for the end of a client.
#[derive(Default)]
pub(super) struct Departure {
    look: Option<Pin<Box<Sleep>>>,
}

impl Departure {
    /// Ready when both directions are closed: nothing that is written will be read.
    pub(super) fn poll(&mut self, socket: &impl ClientSocket, cx: &mut Context<'_>) -> Poll<()> {
        while socket.poll_stir(cx).is_ready() {
            if socket.readiness().is_some_and(Ready::is_write_closed) {
                return Poll::Ready(());
            }
            // It stays ready, so it will not call again.
            let look = self.look.get_or_insert_with(|| Box::pin(sleep(LOOK_EVERY)));
            if look.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.look = None;
        }
        self.look = None;
        Poll::Pending
    }
}
