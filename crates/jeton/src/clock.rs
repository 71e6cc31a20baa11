//! The only place where time enters: every decision below this takes it as an argument.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use jeton_core::{Micros, Reading};

/// Where "now" comes from.
///
/// ```
/// use jeton::{Clock, Micros};
/// let clock = Clock::fixed(Micros::new(5));
/// clock.set(Micros::new(7));
/// assert_eq!(clock.now(), Micros::new(7));
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Boot(Arc<Carried>),
    Tsc(Arc<Tsc>),
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// The safe default: time since boot, carried to wall time.
    ///
    /// It runs on while the machine is suspended and while the process is stopped, and never goes
    /// back: a wall clock set forward is followed within 10 ms, one set back is not followed.
    pub fn system() -> Self {
        Self(Source::Boot(Arc::new(Carried::new(boot_us()))))
    }

    /// The processor's time-stamp counter, carried to wall time: half the cost of the default.
    ///
    /// For machines whose counters run on through sleep. It follows the wall clock forward like the
    /// default, within 10 ms of its own time. Where counters differ between cores, a reading that
    /// lies before an earlier one counts as that one: no client pays for it, and none gains.
    pub fn tsc() -> Self {
        Self(Source::Tsc(Arc::new(Tsc::new())))
    }

    /// A clock that moves by hand only: for simulations and tests.
    pub fn fixed(at: Micros) -> Self {
        Self(Source::Virtual(Arc::new(AtomicU64::new(at.get()))))
    }

    /// Now.
    #[allow(clippy::inline_always)] // a few steps, before the system's own
    #[inline(always)]
    pub fn now(&self) -> Micros {
        match &self.0 {
            Source::Boot(carried) => carried.since_boot(),
            Source::Tsc(tsc) => tsc.now(),
            Source::Virtual(at) => Micros::new(at.load(Relaxed)),
        }
    }

    /// Now, with what stores need to know of this clock: an earlier reading of a running clock is an old
    /// one; only a clock that moves by hand goes back.
    #[inline]
    pub fn reading(&self) -> Reading {
        match &self.0 {
            Source::Boot(_) | Source::Tsc(_) => Reading::steady(self.now()),
            Source::Virtual(_) => Reading::from(self.now()),
        }
    }

    /// Moves a [`Clock::fixed`] clock, forward or back, for all its clones. Others stay as they
    /// are; `false` says so.
    pub fn set(&self, at: Micros) -> bool {
        match &self.0 {
            Source::Virtual(now) => {
                now.store(at.get(), Relaxed);
                true
            }
            _ => false,
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

/// How often a steady clock is held against the wall clock.
const CHECK_US: u64 = 10_000;

/// A steady clock carried to wall time by an offset that only grows.
#[derive(Debug)]
struct Carried {
    offset_us: AtomicU64,
    next_check_us: AtomicU64,
}

impl Carried {
    fn new(steady_us: u64) -> Self {
        let offset_us = AtomicU64::new(wall_us().saturating_sub(steady_us));
        Self {
            offset_us,
            next_check_us: AtomicU64::new(steady_us + CHECK_US),
        }
    }

    #[inline]
    fn now(&self, steady_us: impl Fn() -> u64, wall_us: impl Fn() -> u64) -> Micros {
        let now_us = steady_us();
        if now_us >= self.next_check_us.load(Relaxed) {
            self.follow(steady_us, wall_us);
        }
        Micros::new(now_us.saturating_add(self.offset_us.load(Relaxed)))
    }

    /// Time since boot, carried. The system's clock is a call in any case.
    #[inline(never)]
    fn since_boot(&self) -> Micros {
        self.now(boot_us, wall_us)
    }

    #[cold]
    #[inline(never)]
    fn follow(&self, steady_us: impl Fn() -> u64, wall_us: impl Fn() -> u64) {
        // In this order: a thread that is held up between the two readings finds the wall clock too far
        // back, which is put right by the next one. The other way round it would find it too far ahead,
        // and every hold-up would move this clock forward for good.
        let wall_us = wall_us();
        let steady_us = steady_us();
        self.next_check_us.store(steady_us + CHECK_US, Relaxed);
        self.offset_us
            .fetch_max(wall_us.saturating_sub(steady_us), Relaxed);
    }
}

#[derive(Debug)]
struct Tsc {
    clock: quanta::Clock,
    start: u64,
    /// Microseconds of a tick, as a fraction of 2^64.
    tick: u64,
    carried: Carried,
}

/// Ticks over which the length of one is taken: an hour or less.
const MANY_TICKS: u32 = 40;

impl Tsc {
    fn new() -> Self {
        let clock = quanta::Clock::new();
        let many_ns = clock.delta_as_nanos(0, 1 << MANY_TICKS);
        let tick = (u128::from(many_ns) << (64 - MANY_TICKS)) / 1_000;
        Self {
            start: clock.raw(),
            tick: u64::try_from(tick).unwrap_or(u64::MAX),
            carried: Carried::new(0),
            clock,
        }
    }

    #[inline]
    fn now(&self) -> Micros {
        let since_start = || {
            let ticks = self.clock.raw().saturating_sub(self.start);
            scaled(ticks, self.tick)
        };
        self.carried.now(since_start, wall_us)
    }
}

/// The high half of a product: a number times a fraction of 2^64.
#[allow(clippy::cast_possible_truncation)] // below the first factor
#[inline]
const fn scaled(number: u64, fraction: u64) -> u64 {
    ((number as u128 * fraction as u128) >> 64) as u64
}

/// Microseconds since boot, sleep included.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
fn boot_us() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // Neither is below zero, and it takes half a million years to wrap.
    let (secs, nanos) = (now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned());
    secs.wrapping_mul(1_000_000).wrapping_add(nanos / 1_000)
}

/// Microseconds of a steady clock. Where it stands still during sleep, the wall clock tells.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[inline]
fn boot_us() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Microseconds of the wall clock since the Unix epoch; 0 before it.
#[allow(clippy::disallowed_methods)] // this is the one place
fn wall_us() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_agree_with_the_wall() {
        for clock in [Clock::system(), Clock::tsc()] {
            let apart = clock.now().get().abs_diff(wall_us());
            assert!(apart < 1_000_000, "{clock:?} is {apart} us off");
        }
    }

    fn carried(offset_us: u64) -> Carried {
        Carried {
            offset_us: AtomicU64::new(offset_us),
            next_check_us: AtomicU64::new(0),
        }
    }

    #[test]
    fn a_wall_clock_set_forward_is_followed_and_one_set_back_is_not() {
        let carried = carried(1_000);
        let at = |steady_us, wall_us| carried.now(|| steady_us, || wall_us).get();
        assert_eq!(at(50, 1_050), 1_050);
        // Between checks the wall is not looked at.
        assert_eq!(at(60, 9_060), 1_060);
        assert_eq!(at(50 + CHECK_US, 9_050 + CHECK_US), 9_050 + CHECK_US);
        assert_eq!(at(50 + 2 * CHECK_US, 100), 9_050 + 2 * CHECK_US);
    }

    #[test]
    fn a_hold_up_between_two_readings_does_not_move_the_clock_forward() {
        const HOLD_UP_US: u64 = 50_000;
        let carried = carried(1_000);
        // The thread loses the processor before it gets to read the wall clock.
        let readings = std::cell::Cell::new(0);
        let steady_us = || readings.replace(readings.get() + HOLD_UP_US);
        let wall_us = || readings.get() + 1_000;
        carried.now(steady_us, wall_us);
        let later_us = 10 * HOLD_UP_US;
        assert_eq!(
            carried.now(|| later_us, || later_us + 1_000).get(),
            later_us + 1_000
        );
    }

    #[test]
    fn clones_of_a_fixed_clock_move_together() {
        let clock = Clock::fixed(Micros::ZERO);
        let other = clock.clone();
        assert!(clock.set(Micros::new(9)));
        assert_eq!(other.now(), Micros::new(9));
        assert!(!Clock::system().set(Micros::ZERO));
    }
}
