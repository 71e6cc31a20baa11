//! A socket whose peer has to say what it speaks in time: who connects and is silent holds one of few
//! places.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// What an HTTP/2 connection begins with has so many bytes, and the head of a request no fewer.
const PREFACE: usize = 24;

/// A socket that fails unless its peer begins in time.
pub(super) struct Patient<S> {
    stream: S,
    /// None once it has begun.
    waiting: Option<Waiting>,
}

struct Waiting {
    until: Pin<Box<Sleep>>,
    missing: usize,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, time: Duration) -> Self {
        let waiting = Waiting {
            until: Box::pin(sleep(time)),
            missing: PREFACE,
        };
        Self {
            stream,
            waiting: Some(waiting),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, waiting } = &mut *self;
        let before = out.filled().len();
        let read = Pin::new(stream).poll_read(cx, out);
        let Some(own) = waiting else {
            return read;
        };
        let came = out.filled().len().saturating_sub(before);
        own.missing = own.missing.saturating_sub(came);
        if own.missing == 0 {
            *waiting = None;
        } else if read.is_pending() && own.until.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const TIME: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn who_begins_in_time_may_be_silent_afterwards() {
        let (mut peer, stream) = duplex(1024);
        let mut patient = Patient::new(stream, TIME);
        let mut bytes = [0; PREFACE];
        peer.write_all(&[1; PREFACE]).await.unwrap();
        patient.read_exact(&mut bytes).await.unwrap();
        let later = tokio::time::timeout(TIME * 9, patient.read(&mut bytes)).await;
        assert!(later.is_err(), "still open");
    }

    #[tokio::test(start_paused = true)]
    async fn who_begins_and_stops_is_given_up() {
        let (mut peer, stream) = duplex(1024);
        let mut patient = Patient::new(stream, TIME);
        peer.write_all(&[1; PREFACE - 1]).await.unwrap();
        let error = patient.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
