//! The client's socket, with an eye on what passes.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::departure::{ClientSocket, Departure};
use super::head_scan::HeadScan;
use super::pulse::Pulse;

/// Bytes thrown away in one read.
const SCRATCH_BYTES: usize = 16 << 10;

/// Tells the [`Pulse`] when a head begins and when writing is blocked, and closes in a way that
/// lets the last answer arrive.
pub(super) struct ClientIo<S> {
    stream: S,
    pulse: Arc<Pulse>,
    scan: HeadScan,
    closing: Closing,
    drain: Drain,
    departure: Departure,
}

/// Bounds for reading what nobody wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    pub(super) bytes: u64,
    pub(super) time: Duration,
}

enum Closing {
    Open,
    /// Our side is closed; `left` more bytes are read until the client closes its own.
    Lingering {
        left: u64,
        until: Pin<Box<Sleep>>,
    },
}

impl<S> ClientIo<S> {
    pub(super) fn new(stream: S, pulse: Arc<Pulse>, drain: Drain) -> Self {
        Self {
            stream,
            pulse,
            scan: HeadScan::default(),
            closing: Closing::Open,
            drain,
            departure: Departure::default(),
        }
    }

    fn note_write(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Pending => self.pulse.write_blocked(),
            Poll::Ready(_) => self.pulse.wrote(),
        }
    }
}

impl<S: ClientSocket> AsyncRead for ClientIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        let new = &buf.filled()[before..];
        if !new.is_empty() && this.pulse.expects_head() {
            let framing = this.scan.feed(this.pulse.requests(), new);
            this.pulse.head_bytes(framing);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: ClientSocket> AsyncWrite for ClientIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note_write(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes at the end of each round, and reads nothing while a response is due: this is
    /// where a client that is gone is noticed meanwhile.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Closing::Open = this.closing
            && !this.pulse.expects_head()
            && this.departure.poll(&this.stream, cx).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Closing::Open = this.closing {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            // A head that is not over here was refused by the parser.
            if !this.pulse.lingers() && !this.pulse.in_head() {
                return Poll::Ready(Ok(()));
            }
            let until = Box::pin(sleep(this.drain.time));
            this.closing = Closing::Lingering {
                left: this.drain.bytes,
                until,
            };
        }
        let Closing::Lingering { left, until } = &mut this.closing else {
            return Poll::Ready(Ok(()));
        };
        loop {
            if until.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut scratch = [MaybeUninit::uninit(); SCRATCH_BYTES];
            let mut buf = ReadBuf::uninit(&mut scratch);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut buf))?;
            *left = left.saturating_sub(buf.filled().len() as u64);
            if buf.filled().is_empty() || *left == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
