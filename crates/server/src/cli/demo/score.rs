//! What became of the clients' requests.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::cli::number::grouped;
use crate::cli::paint::Paint;

/// Honest clients; the client after them is the spammer.
pub(super) const HONEST: u8 = 9;

/// What the spammer sends.
pub(super) const SPAM_PER_SECOND: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Denied,
    Failed,
}

/// The counts of honest clients, and of the spammer.
#[derive(Default)]
pub(super) struct Score {
    honest: Counts,
    spammer: Counts,
}

#[derive(Default)]
struct Counts {
    passed: AtomicU64,
    denied: AtomicU64,
    failed: AtomicU64,
}

/// Counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: u64,
    pub(super) denied: u64,
    pub(super) failed: u64,
}

impl Tally {
    const fn asked(self) -> u64 {
        self.passed + self.denied + self.failed
    }
}

impl Counts {
    fn read(&self) -> Tally {
        Tally {
            passed: self.passed.load(Relaxed),
            denied: self.denied.load(Relaxed),
            failed: self.failed.load(Relaxed),
        }
    }
}

impl Score {
    pub(super) fn note(&self, client: u8, outcome: Outcome) {
        let counts = if client < HONEST {
            &self.honest
        } else {
            &self.spammer
        };
        let count = match outcome {
            Outcome::Passed => &counts.passed,
            Outcome::Denied => &counts.denied,
            Outcome::Failed => &counts.failed,
        };
        count.fetch_add(1, Relaxed);
    }

    pub(super) fn honest(&self) -> Tally {
        self.honest.read()
    }

    pub(super) fn total(&self) -> Tally {
        let (honest, spammer) = (self.honest.read(), self.spammer.read());
        Tally {
            passed: honest.passed + spammer.passed,
            denied: honest.denied + spammer.denied,
            failed: honest.failed + spammer.failed,
        }
    }

    pub(super) fn in_a_line(&self) -> String {
        let (honest, spammer) = (self.honest.read(), self.spammer.read());
        format!(
            "● honest {} of {}   ✕ spammer {} of {} passed",
            grouped(honest.passed),
            grouped(honest.asked()),
            grouped(spammer.passed),
            grouped(spammer.asked())
        )
    }

    pub(super) fn print(&self, out: &mut impl Write, paint: Paint) -> io::Result<()> {
        let (honest, spammer, total) = (self.honest.read(), self.spammer.read(), self.total());
        let rows = [
            (
                paint.allowed("●"),
                format!("{HONEST} honest clients"),
                "1/s each".to_owned(),
                honest,
            ),
            (
                paint.denied("✕"),
                "1 spammer".to_owned(),
                format!("{SPAM_PER_SECOND}/s"),
                spammer,
            ),
        ];
        let width = |number: fn(Tally) -> u64| {
            rows.iter()
                .map(|row| grouped(number(row.3)).len())
                .max()
                .unwrap_or(0)
        };
        let (passed, asked) = (width(|tally| tally.passed), width(Tally::asked));
        for (mark, who, rate, tally) in &rows {
            let (got, of) = (grouped(tally.passed), grouped(tally.asked()));
            writeln!(
                out,
                "  {mark} {who:16}  {rate:8}  {got:>passed$} of {of:>asked$} passed"
            )?;
        }
        let denied = grouped(total.denied);
        let (asked, passed) = (grouped(total.asked()), grouped(total.passed));
        writeln!(
            out,
            "{asked} asked, {passed} passed, {denied} denied; {}.",
            verdict(honest.denied)
        )?;
        out.flush()
    }
}

fn verdict(honest_denied: u64) -> String {
    match honest_denied {
        0 => "no honest client was refused".to_owned(),
        1 => "1 request of an honest client was refused".to_owned(),
        some => format!("{} requests of honest clients were refused", grouped(some)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_adds_up() {
        let score = Score::default();
        (0..90).for_each(|number| score.note(number % HONEST, Outcome::Passed));
        (0..29).for_each(|_| score.note(HONEST, Outcome::Passed));
        (0..971).for_each(|_| score.note(HONEST, Outcome::Denied));
        let mut out = Vec::new();
        score.print(&mut out, Paint::for_stdout()).unwrap();
        let expected = "  ● 9 honest clients  1/s each  90 of    90 passed
  ✕ 1 spammer         100/s     29 of 1 000 passed
1 090 asked, 119 passed, 971 denied; no honest client was refused.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
