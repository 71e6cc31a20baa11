//! What a whole trace came to, by rule.

use std::io::{self, Write};

use jeton::{Event, Gate, RuleOutcome};

use crate::cli::number::grouped;

/// Columns of a number.
const WIDTH: usize = 13;

/// The span and size of a trace.
#[derive(Default)]
pub(super) struct Summary {
    events: u64,
    /// First and last instant, in the order of time.
    span: Option<(u64, u64)>,
}

impl Summary {
    pub(super) fn count(&mut self, at_us: u64) {
        self.events += 1;
        let (first, last) = self.span.unwrap_or((at_us, at_us));
        self.span = Some((first.min(at_us), last.max(at_us)));
    }

    pub(super) fn print(&self, name: &str, gate: &Gate, out: &mut impl Write) -> io::Result<()> {
        let (first, last) = self.span.unwrap_or_default();
        let (events, over_s) = (grouped(self.events), tenths(last - first));
        let plural = if self.events == 1 { "" } else { "s" };
        writeln!(out, "{name}: {events} event{plural} over {over_s} s")?;
        let (policy, tally) = (gate.policy(), gate.tally());
        let names = policy
            .told_rules()
            .iter()
            .map(|rule| rule.name().len())
            .max()
            .unwrap_or(0)
            .max(4);
        let is_used = |outcome: &RuleOutcome| {
            let mut rules = 0..policy.rules().len();
            is_usual(*outcome) || rules.any(|rule| tally.rule(rule, *outcome) > 0)
        };
        let columns: Vec<RuleOutcome> = RuleOutcome::ALL.into_iter().filter(is_used).collect();
        write!(out, "  {:names$}  {:>WIDTH$}", "rule", "asked")?;
        for outcome in &columns {
            write!(out, "  {:>WIDTH$}", outcome.word().replace('_', "-"))?;
        }
        writeln!(out)?;
        for (index, rule) in policy.told_rules().iter().enumerate() {
            // A trial is another count of the same requests.
            let own = columns.iter().filter(|outcome| !is_trial(**outcome));
            let asked: u64 = own.map(|outcome| tally.rule(index, *outcome)).sum();
            write!(out, "  {:names$}  {:>WIDTH$}", rule.name(), grouped(asked))?;
            for outcome in &columns {
                write!(out, "  {:>WIDTH$}", grouped(tally.rule(index, *outcome)))?;
            }
            writeln!(out)?;
        }
        for (event, words) in BESIDE {
            let count = tally.event(event);
            if count > 0 {
                writeln!(out, "  {}: {words}", grouped(count))?;
            }
        }
        Ok(())
    }
}

/// The columns that are there whatever the trace brings.
const fn is_usual(outcome: RuleOutcome) -> bool {
    use RuleOutcome::{Allowed, Denied, ShadowDenied, Withheld};
    matches!(outcome, Allowed | Denied | Withheld | ShadowDenied)
}

const fn is_trial(outcome: RuleOutcome) -> bool {
    matches!(
        outcome,
        RuleOutcome::TrialAllowed | RuleOutcome::TrialDenied
    )
}

const BESIDE: [(Event, &str); 6] = [
    (Event::Unmatched, "matched by no rule, passed"),
    (Event::Unlimited, "unlimited, passed"),
    (Event::Exempt, "on the exempt list, passed"),
    (Event::Blocked, "on the block list, refused"),
    (Event::Refused, "refused by a word"),
    (Event::TooManyRules, "refused, since too many rules apply"),
];

/// Microseconds in seconds, to a tenth.
fn tenths(us: u64) -> String {
    format!("{}.{}", grouped(us / 1_000_000), us % 1_000_000 / 100_000)
}
