//! What became of each descriptor.

use jeton_core::{Decision, Fit, Span};
use smallvec::SmallVec;

use super::draft::Group;
use super::outline::{Outline, refuses};
use super::part::{Part, is_trial};
use super::{RuledDescriptor, Standing};

impl Outline {
    pub(super) fn descriptors(
        &self,
        decisions: &[Decision],
        over: &[bool],
    ) -> SmallVec<[RuledDescriptor; 4]> {
        let policy_refuses = self.listed.as_ref().is_some_and(refuses);
        let parts = self.parts.iter().zip(over).enumerate();
        let all = parts.map(|(at, (part, over))| {
            let standing = self.standing(part, decisions);
            let by_rule = (standing == Standing::Free).then(|| self.by_rule(at, decisions));
            match by_rule.flatten() {
                Some((line, denied)) => RuledDescriptor {
                    over: denied,
                    standing: Standing::ByRule(line),
                    limit: None,
                    line: None,
                },
                None => RuledDescriptor {
                    over: *over || (standing == Standing::Free && policy_refuses),
                    standing,
                    limit: part.limit,
                    line: part.line,
                },
            }
        });
        all.collect()
    }

    fn standing(&self, part: &Part, decisions: &[Decision]) -> Standing {
        let line = part
            .line
            .and_then(|line| Some((self.lines.get(line)?, decisions.get(line)?)));
        match (line, part.per) {
            _ if part.is_unlimited => Standing::Unlimited,
            // An operator's override changes how much it is, not over what time.
            (Some((line, decision)), Some((_, unit))) => Standing::Decided {
                requests: line.seed.quota.limit(),
                unit,
                decision: *decision,
            },
            (None, per) if part.refused.is_some() || part.is_shadow => Standing::Refused(per),
            _ => Standing::Free,
        }
    }

    /// The rule of the policy that speaks of a descriptor and matters most: the one that denies with the
    /// longest wait, else the one with least left.
    fn by_rule(&self, descriptor: usize, decisions: &[Decision]) -> Option<(usize, bool)> {
        let bit = 1_u64.checked_shl(u32::try_from(descriptor).ok()?)?;
        let own = |at: &usize| self.parts.iter().all(|part| part.line != Some(*at));
        let lines = self.lines.iter().zip(decisions).enumerate();
        let speaking = lines.filter(|(at, (line, _))| {
            line.speaks & bit != 0
                && line.seed.has_vote()
                && line.group == Group::Together
                && own(at)
                && !is_trial(&line.seed)
        });
        let (at, (_, decision)) = speaking.min_by_key(|(_, (_, decision))| {
            let wait = decision.fit.retry_after().map_or(0, Span::as_micros);
            (
                decision.fit.passes(),
                decision.fit != Fit::Impossible,
                u64::MAX - wait,
                decision.remaining,
            )
        })?;
        Some((at, !decision.fit.passes()))
    }
}
