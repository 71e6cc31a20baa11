//! How far a client's connection is, and until when that may last.
//!
//! hyper's own timers start and stop one timer per request; here the phases write a deadline into
//! an atomic, and the connection's single timer looks at it when it fires (see `connection`).

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

use super::head_scan::Framing;
use super::settings::Timeouts;

/// No deadline.
const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// Between requests.
    Idle,
    /// Some bytes of a head have arrived.
    Head,
    /// A request is being decided or is with the upstream; there is no head of a response yet.
    Exchange,
    /// The response is on its way.
    Answer,
}

impl Phase {
    fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::Idle,
            1 => Self::Head,
            2 => Self::Exchange,
            _ => Self::Answer,
        }
    }
}

/// What has run out of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// No new request came.
    Idle,
    /// A head did not end.
    Head,
    /// Upstream or uploading client went silent.
    Exchange,
    /// The client takes no bytes.
    Write,
}

/// Shared by the parts of one client connection: its socket, its requests, their bodies.
#[derive(Debug)]
pub(super) struct Pulse {
    start: Instant,
    head_us: u64,
    idle_us: u64,
    write_us: u64,
    response_us: u64,
    due_us: AtomicU64,
    write_due_us: AtomicU64,
    phase: AtomicU8,
    framing: AtomicU8,
    requests: AtomicU32,
    expired: AtomicBool,
    upload_open: AtomicBool,
    upload_starved: AtomicBool,
    lingers: AtomicBool,
}

impl Pulse {
    pub(super) fn new(timeouts: &Timeouts) -> Self {
        let head_us = micros(timeouts.head);
        Self {
            start: Instant::now(),
            head_us,
            idle_us: micros(timeouts.idle),
            write_us: micros(timeouts.write),
            response_us: micros(timeouts.response),
            // A new connection has no longer to send its first head than to finish it.
            due_us: AtomicU64::new(head_us),
            write_due_us: AtomicU64::new(NEVER),
            phase: AtomicU8::new(Phase::Idle as u8),
            framing: AtomicU8::new(0),
            requests: AtomicU32::new(0),
            expired: AtomicBool::new(false),
            upload_open: AtomicBool::new(false),
            upload_starved: AtomicBool::new(false),
            lingers: AtomicBool::new(false),
        }
    }

    fn phase(&self) -> Phase {
        Phase::from_bits(self.phase.load(Relaxed))
    }

    fn enter(&self, phase: Phase, due_us: u64) {
        self.due_us.store(due_us, Relaxed);
        self.phase.store(phase as u8, Relaxed);
    }

    fn in_us(&self, wait_us: u64) -> u64 {
        micros(self.start.elapsed()).saturating_add(wait_us)
    }

    /// Whether bytes that arrive now belong to the head of a request.
    pub(super) fn expects_head(&self) -> bool {
        matches!(self.phase(), Phase::Idle | Phase::Head) && !self.upload_open()
    }

    /// Bytes of a head have arrived.
    pub(super) fn head_bytes(&self, framing: Framing) {
        self.framing.store(framing.bits(), Relaxed);
        if self.phase() == Phase::Idle {
            self.enter(Phase::Head, self.in_us(self.head_us));
        }
    }

    /// Whether a head has begun and not ended.
    pub(super) fn in_head(&self) -> bool {
        self.phase() == Phase::Head
    }

    /// Heads handed out so far.
    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Relaxed)
    }

    /// A head is complete. Gives what the socket saw of it, nothing if it came along with the
    /// bytes of an earlier request.
    pub(super) fn begin(&self, has_body: bool) -> Framing {
        self.requests
            .store(self.requests().wrapping_add(1), Relaxed);
        self.expired.store(false, Relaxed);
        self.upload_starved.store(false, Relaxed);
        self.upload_open.store(has_body, Relaxed);
        self.enter(Phase::Exchange, NEVER);
        Framing::from_bits(self.framing.swap(0, Relaxed))
    }

    /// The request is with the upstream, or one more piece of its body is.
    pub(super) fn progress(&self) {
        self.upload_starved.store(false, Relaxed);
        if self.phase() == Phase::Exchange {
            self.due_us.store(self.in_us(self.response_us), Relaxed);
        }
    }

    /// The upstream waits for the client's next piece.
    pub(super) fn starve(&self) {
        self.upload_starved.store(true, Relaxed);
    }

    /// Whether it is the client that keeps the exchange waiting.
    pub(super) fn starved(&self) -> bool {
        self.upload_starved.load(Relaxed)
    }

    /// Tells the request in flight that its time is up.
    pub(super) fn expire(&self) {
        self.due_us.store(NEVER, Relaxed);
        self.expired.store(true, Relaxed);
    }

    /// Whether [`expire`](Self::expire) was called for this request.
    pub(super) fn expired(&self) -> bool {
        self.expired.load(Relaxed)
    }

    /// The head of the response is there.
    pub(super) fn answer(&self) {
        self.enter(Phase::Answer, NEVER);
    }

    /// The response is complete.
    pub(super) fn finish(&self) {
        self.enter(Phase::Idle, self.in_us(self.idle_us));
    }

    /// The body of the request has ended, or nobody will read more of it.
    pub(super) fn upload_ended(&self) {
        self.upload_open.store(false, Relaxed);
    }

    /// Whether bytes of a request's body may still come.
    pub(super) fn upload_open(&self) -> bool {
        self.upload_open.load(Relaxed)
    }

    /// The client may still be sending when the connection is closed: read on for a while, or the
    /// system resets the connection and the answer is lost on the way.
    pub(super) fn linger(&self) {
        self.lingers.store(true, Relaxed);
    }

    /// Whether to read on after the last byte was written.
    pub(super) fn lingers(&self) -> bool {
        self.lingers.load(Relaxed)
    }

    /// The socket takes no more bytes.
    pub(super) fn write_blocked(&self) {
        if self.write_due_us.load(Relaxed) == NEVER {
            self.write_due_us.store(self.in_us(self.write_us), Relaxed);
        }
    }

    /// The socket took some.
    pub(super) fn wrote(&self) {
        if self.write_due_us.load(Relaxed) != NEVER {
            self.write_due_us.store(NEVER, Relaxed);
        }
    }

    /// The next instant at which something is overdue; none if nothing will be.
    pub(super) fn due(&self) -> Option<Instant> {
        let due_us = self
            .due_us
            .load(Relaxed)
            .min(self.write_due_us.load(Relaxed));
        if due_us == NEVER {
            return None;
        }
        self.start.checked_add(Duration::from_micros(due_us))
    }

    /// What is overdue now.
    pub(super) fn overdue(&self) -> Option<Overdue> {
        let now_us = micros(self.start.elapsed());
        if self.write_due_us.load(Relaxed) <= now_us {
            return Some(Overdue::Write);
        }
        if self.due_us.load(Relaxed) > now_us {
            return None;
        }
        match self.phase() {
            Phase::Idle => Some(Overdue::Idle),
            Phase::Head => Some(Overdue::Head),
            Phase::Exchange => Some(Overdue::Exchange),
            Phase::Answer => None,
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse() -> Pulse {
        Pulse::new(&Timeouts {
            head: Duration::from_secs(1),
            idle: Duration::from_secs(5),
            write: Duration::from_secs(2),
            response: Duration::from_secs(3),
            ..Timeouts::default()
        })
    }

    async fn after(secs: u64) {
        tokio::time::advance(Duration::from_secs(secs)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn each_phase_has_its_own_time() {
        let pulse = pulse();
        after(1).await;
        assert_eq!(pulse.overdue(), Some(Overdue::Idle), "no first byte");
        pulse.head_bytes(Framing::default());
        assert_eq!(pulse.overdue(), None);
        after(1).await;
        assert_eq!(pulse.overdue(), Some(Overdue::Head));
        pulse.begin(false);
        after(100).await;
        assert_eq!(pulse.overdue(), None, "deciding has its own bound");
        pulse.progress();
        after(3).await;
        assert_eq!(pulse.overdue(), Some(Overdue::Exchange));
        pulse.answer();
        after(100).await;
        assert_eq!(pulse.overdue(), None, "an event stream may be silent");
        pulse.finish();
        after(5).await;
        assert_eq!(pulse.overdue(), Some(Overdue::Idle));
    }

    #[tokio::test(start_paused = true)]
    async fn a_blocked_write_is_overdue_unless_it_moves() {
        let pulse = pulse();
        pulse.begin(false);
        pulse.answer();
        pulse.write_blocked();
        after(1).await;
        pulse.write_blocked();
        after(1).await;
        assert_eq!(pulse.overdue(), Some(Overdue::Write));
        pulse.wrote();
        assert_eq!((pulse.overdue(), pulse.due()), (None, None));
    }
}
