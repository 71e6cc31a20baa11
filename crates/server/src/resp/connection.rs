//! Bytes of one client, in and out.
//!
//! What a client has sent is read into memory of the thread that serves it, where commands are read,
//! decided and answered without waiting; a connection holds only what was left over. Nothing more is read
//! from a client as long as it has not taken its answers, so that none of them costs more than a few pages.

mod memory;
mod patience;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use jeton::{BatchReply, Decided};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::listen::Door;
use super::protocol::MAX_COMMAND;
use super::session::{Read, Session, Stopped, Turn};
use super::turn::Answers;
use crate::doors::Asking;
use memory::{INPUT_BYTES, Memory, with_memory};
use patience::{Patience, Waiting};

/// A client that is being served.
pub(super) struct Connection<S> {
    stream: S,
    session: Session,
    /// What has come and was not read as commands.
    held: Vec<u8>,
    /// Whether there may be whole commands among it.
    has_more: bool,
    /// What has still to be sent, and how much of it was.
    out: Vec<u8>,
    sent: usize,
    /// No more commands are read; what is there to be sent is.
    is_over: bool,
    /// Whether a command was read, or what was to be sent is, since that was last asked: single bytes of
    /// either are none.
    has_progressed: bool,
}

/// What comes after one turn.
enum Next {
    /// Another one.
    Turn,
    /// Another one, behind all others who wait for theirs: there is more than one turn takes.
    Others,
    /// The answers that a store has still to give.
    Wait(Later),
    /// Nothing.
    End,
}

/// Answers that will be.
struct Later {
    deciding: Pin<Box<dyn Future<Output = Decided> + Send>>,
    asking: Asking,
    answers: Answers,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S, session: Session) -> Self {
        Self {
            stream,
            session,
            held: Vec::new(),
            has_more: false,
            out: Vec::new(),
            sent: 0,
            is_over: false,
            has_progressed: false,
        }
    }

    /// Serves until the client leaves, breaks the protocol or takes too long, or `stopped` completes.
    pub(super) async fn serve(mut self, door: &Arc<Door>, stopped: impl Future<Output = ()>) {
        let mut stopped = std::pin::pin!(stopped);
        let mut is_stopped = false;
        let mut patience = std::pin::pin!(Patience::new(door.idle_timeout));
        loop {
            let next = poll_fn(|cx| {
                let turn = self.turn(door, cx);
                if std::mem::take(&mut self.has_progressed) {
                    patience.as_mut().get_mut().progressed();
                }
                match turn {
                    Poll::Ready(Next::Others) => cx.waker().wake_by_ref(),
                    Poll::Ready(next) => return Poll::Ready(next),
                    Poll::Pending => {}
                }
                is_stopped = is_stopped || stopped.as_mut().poll(cx).is_ready();
                // Whoever is told to stop has nothing left to say but to what has come.
                let is_over = is_stopped && !self.has_more && self.waiting() != Waiting::ToSend
                    || patience.as_mut().get_mut().poll_lost(self.waiting(), cx);
                if is_over {
                    Poll::Ready(Next::End)
                } else {
                    Poll::Pending
                }
            });
            match next.await {
                Next::Turn | Next::Others => {}
                Next::End => return,
                Next::Wait(later) => self.wait(later, door).await,
            }
        }
    }

    fn waiting(&self) -> Waiting {
        if self.sent < self.out.len() {
            Waiting::ToSend
        } else if self.held.is_empty() {
            Waiting::ForCommand
        } else {
            Waiting::ForRest
        }
    }

    /// Sends what there is to send; then reads, decides and answers what has come.
    fn turn(&mut self, door: &Arc<Door>, cx: &mut Context<'_>) -> Poll<Next> {
        if self.sent < self.out.len() {
            return match ready!(self.send_rest(cx)) {
                Ok(()) if self.is_over => Poll::Ready(Next::End),
                Ok(()) => Poll::Ready(Next::Turn),
                Err(_) => Poll::Ready(Next::End),
            };
        }
        if self.is_over {
            return Poll::Ready(Next::End);
        }
        with_memory(|memory| {
            if !self.has_more {
                match ready!(self.receive(memory, cx)) {
                    Ok(true) => {}
                    Ok(false) | Err(_) => return Poll::Ready(Next::End),
                }
            }
            Poll::Ready(self.answer(door, memory, cx))
        })
    }

    /// Reads behind what was left over; whether anything came.
    fn receive(&mut self, memory: &mut Memory, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let (before, room) = memory.input.split_at_mut(self.held.len().min(MAX_COMMAND));
        before.copy_from_slice(self.held.get(..before.len()).unwrap_or_default());
        let mut buffer = ReadBuf::new(room);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        let read = buffer.filled().len();
        memory.filled = before.len() + read;
        Poll::Ready(Ok(read > 0))
    }

    fn answer(&mut self, door: &Arc<Door>, memory: &mut Memory, cx: &mut Context<'_>) -> Next {
        if self.has_more {
            let held = self.held.len().min(memory.input.len());
            if let (Some(to), Some(from)) = (memory.input.get_mut(..held), self.held.get(..held)) {
                to.copy_from_slice(from);
            }
            memory.filled = held;
        }
        let Memory {
            input,
            filled,
            turn,
            out,
        } = memory;
        turn.answers.clear();
        let input = input.get(..*filled).unwrap_or_default();
        let Read { taken, why } = self.session.read(input, &door.house, turn);
        self.has_progressed |= taken > 0;
        self.held.clear();
        let rest = input.get(taken..).unwrap_or_default();
        if rest.is_empty() {
            // Idle clients hold nothing.
            self.held = Vec::new();
        } else if why != Stopped::End {
            self.held.extend_from_slice(rest);
        }
        self.has_more = why == Stopped::Enough && !self.held.is_empty();
        self.is_over = why == Stopped::End;
        let decided = match decide(turn, door) {
            Ok(decided) => decided,
            Err(later) => return Next::Wait(later),
        };
        out.clear();
        turn.answers.write(decided.as_ref(), out);
        if let Some(decided) = decided {
            turn.memory = decided.into_memory();
        }
        let may_have_more = self.has_more || *filled == INPUT_BYTES;
        match self.send(out, cx) {
            Next::Turn if may_have_more => Next::Others,
            next => next,
        }
    }

    /// Sends as much as the client takes at once, and keeps the rest.
    fn send(&mut self, out: &[u8], cx: &mut Context<'_>) -> Next {
        let mut sent = 0;
        while let Some(rest) = out.get(sent..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(0) | Err(_)) => return Next::End,
                Poll::Ready(Ok(written)) => sent += written,
                Poll::Pending => {
                    self.out = rest.to_vec();
                    self.sent = 0;
                    return Next::Turn;
                }
            }
        }
        if self.is_over { Next::End } else { Next::Turn }
    }

    fn send_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        (self.out, self.sent) = (Vec::new(), 0);
        self.has_progressed = true;
        Poll::Ready(Ok(()))
    }

    /// Waits for decisions; the answers are sent next.
    async fn wait(&mut self, later: Later, door: &Arc<Door>) {
        let Later {
            deciding,
            asking,
            answers,
        } = later;
        let asked = std::time::Instant::now();
        let decided = deciding.await;
        drop(asking);
        door.decided(asked, decided.answers().count());
        answers.write(Some(&decided), &mut self.out);
    }
}

/// Has the batch of a turn decided, if it has one.
fn decide(turn: &mut Turn, door: &Arc<Door>) -> Result<Option<Decided>, Later> {
    let Some(batch) = turn.batch.take() else {
        return Ok(None);
    };
    let (asked, calls) = (std::time::Instant::now(), batch.len());
    let asking = door.house.keeper.ask(calls);
    match batch.decide(asking.room()) {
        BatchReply::Now(decided) => {
            door.decided(asked, calls);
            Ok(Some(decided))
        }
        BatchReply::Later(deciding) => Err(Later {
            deciding,
            asking,
            answers: std::mem::take(&mut turn.answers),
        }),
    }
}
