//! One rule in words.

use std::fmt;

use jeton_core::{Anchor, Span};
use serde::Serialize;

use super::leases;
use super::promise::{LimitWords, Promise};
use super::settling::{beyond, settling};
use super::whom::{missing, part, scope, whose};
use crate::compiled::CompiledRule;
use crate::rule::{Allowance, Mode, Rule, Terms};
use crate::sharing::Ahead;
use crate::units::{grouped, in_words};

/// A rule in words, with its worst case for one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleWords {
    /// The rule.
    pub name: String,
    /// What it allows and to whom: `20/s per address, bursts to 100`.
    pub meaning: String,
    /// Which requests it speaks of: `POST /login`; empty if of all.
    pub scope: String,
    /// What a request gets that lacks a part of the key: `requests without it: one counter
    /// together`; empty if every request of the rule has it.
    pub missing: String,
    /// The promise in one sentence: `at most 34 in any 30 s`; empty for a rule that is a word.
    pub at_most: String,
    /// How units come back to a bucket: `one per 600 ms`; empty for everything else.
    pub interval: String,
    /// What a request costs and when that is known, if it is not one unit at once: `only answers
    /// with 401, 403 count`; else empty.
    pub settling: String,
    /// Whether units are taken ahead of the store, and of which requests: `20 at a time taken ahead`;
    /// empty where the store has no leases.
    pub lease: String,
    /// The most in any second, with what answers may cost beyond it; none for `unlimited` and for
    /// requests in flight.
    pub any_second: Option<u64>,
    /// The most in any minute; none as above.
    pub any_minute: Option<u64>,
    /// Units that pass beyond these for each process that may have taken them ahead.
    pub per_process: u64,
    /// Where requests say which plan they have: `x-plan header`; empty without plans.
    pub plan: String,
    /// Its plans, in the order of the file.
    pub plans: Vec<LimitWords>,
    /// The terms on trial.
    pub trial: Option<LimitWords>,
    /// `enforce`, `shadow` or `mark`.
    pub mode: &'static str,
    /// `true` if the rule has no vote.
    pub shadow: bool,
    /// `true` if the promise is about a second or a minute, which have columns of their own.
    #[serde(skip)]
    pub(super) in_columns: bool,
}

impl RuleWords {
    /// The words for a rule.
    ///
    /// ```
    /// use jeton_policy::{NoReferences, Policy, RuleWords, Source};
    /// let source = Source::new("jeton.toml", r#"
    ///     [[rule]]
    ///     name = "api"
    ///     key = ["client-ip"]
    ///     algorithm = "gcra"
    ///     rate = "17/30s"
    /// "#);
    /// let policy = Policy::load(&source, &NoReferences)?.policy;
    /// let words = RuleWords::of(policy.rules()[0].rule());
    /// assert_eq!(words.meaning, "17 per 30 s per address, bursts to 17");
    /// assert_eq!(words.at_most, "at most 34 in any 30 s");
    /// # Ok::<(), jeton_policy::Report>(())
    /// ```
    pub fn of(rule: &Rule) -> Self {
        Self::taken_ahead(rule, None)
    }

    /// The same where a store has leases.
    fn taken_ahead(rule: &Rule, ahead: Option<&Ahead>) -> Self {
        let beyond = beyond(rule, ahead.and_then(Ahead::lease));
        let Promise {
            at_most,
            interval,
            any_second,
            any_minute,
            per_process,
            in_columns,
        } = Promise::of(&rule.allowance, beyond);
        let plans = rule.plan.iter().flat_map(|plans| &plans.named);
        let plans = plans.map(|(name, allowance)| LimitWords::of(name, allowance, beyond));
        let trial = rule.trial.map(Allowance::Quota);
        Self {
            name: rule.name.clone(),
            meaning: meaning(rule),
            scope: scope(rule),
            missing: missing(rule),
            at_most,
            interval,
            settling: settling(rule),
            lease: ahead
                .map(|ahead| leases::of_rule(rule, ahead))
                .unwrap_or_default(),
            any_second,
            any_minute,
            per_process,
            plan: rule
                .plan
                .as_ref()
                .map(|plans| part(&plans.source))
                .unwrap_or_default(),
            plans: plans.collect(),
            trial: trial.map(|terms| LimitWords::of("trial", &terms, beyond)),
            mode: rule.mode.word(),
            shadow: !rule.mode.has_vote(),
            in_columns,
        }
    }
}

impl fmt::Display for RuleWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.meaning)?;
        if !self.scope.is_empty() {
            write!(f, ", for {}", self.scope)?;
        }
        let Self {
            missing,
            at_most,
            interval,
            settling,
            lease,
            ..
        } = self;
        for promise in [missing, at_most, interval, settling, lease] {
            if !promise.is_empty() {
                write!(f, "; {promise}")?;
            }
        }
        for LimitWords { name, meaning, .. } in &self.plans {
            write!(f, "; with {name} in the {}: {meaning}", self.plan)?;
        }
        if let Some(trial) = &self.trial {
            write!(f, "; on trial: {}", trial.meaning)?;
        }
        match Mode::of_word(self.mode) {
            Some(Mode::Shadow) => f.write_str(" (shadow: counted, never refused)"),
            Some(Mode::Mark) => f.write_str(" (mark: never refused, the service behind is told)"),
            Some(Mode::Enforce) | None => Ok(()),
        }
    }
}

impl CompiledRule {
    /// The rule in words, as it holds on the store of its policy: with what leases let through
    /// beyond the limit.
    pub fn words(&self) -> RuleWords {
        RuleWords::taken_ahead(self.rule(), self.ahead())
    }
}

/// The promise of a rule under some terms of its own, a plan or an override; empty for a word.
pub(crate) fn at_most(rule: &CompiledRule, allowance: &Allowance) -> String {
    let lease = rule.ahead().and_then(Ahead::lease);
    Promise::of(allowance, beyond(rule.rule(), lease)).at_most
}

impl Allowance {
    /// In running text: `50/s, bursts to 200`, `5 in any 1 min`, `unlimited`.
    pub fn in_words(&self) -> String {
        allows(self, "")
    }
}

fn meaning(rule: &Rule) -> String {
    allows(&rule.allowance, &format!(" {}", whose(&rule.key)))
}

/// What an allowance allows; `whose` stands behind the amount, with a space before it.
pub(crate) fn allows(allowance: &Allowance, whose: &str) -> String {
    match allowance {
        Allowance::Unlimited => "unlimited".to_owned(),
        Allowance::Deny => "denied".to_owned(),
        Allowance::Quota(Terms::Bucket { pace, burst }) => {
            format!("{}{whose}, bursts to {}", pace.in_words(), grouped(*burst))
        }
        Allowance::Quota(Terms::SlidingLog { limit, window }) => {
            format!("{} in any {}{whose}", grouped(*limit), in_words(*window))
        }
        Allowance::Quota(Terms::SlidingCounter { limit, window }) => {
            format!(
                "about {} in any {}{whose}",
                grouped(*limit),
                in_words(*window)
            )
        }
        Allowance::Quota(Terms::FixedWindow {
            limit,
            window,
            anchor: Anchor::Epoch,
        }) => {
            format!("{} per {}{whose}", grouped(*limit), clock(*window))
        }
        Allowance::Quota(Terms::FixedWindow {
            limit,
            window,
            anchor: Anchor::FirstRequest,
        }) => {
            format!(
                "{} per {} from the first request{whose}",
                grouped(*limit),
                in_words(*window)
            )
        }
        Allowance::Quota(Terms::Concurrency { limit, .. }) => {
            format!("{} at once{whose}", grouped(*limit))
        }
    }
}

/// A window that begins with the clock: a calendar has words for some.
fn clock(window: Span) -> String {
    match window.as_micros() {
        1_000_000 => "clock second".to_owned(),
        60_000_000 => "clock minute".to_owned(),
        3_600_000_000 => "clock hour".to_owned(),
        86_400_000_000 => "UTC day".to_owned(),
        _ => format!("{} of the clock", in_words(window)),
    }
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::*;
    use crate::raw::NoReferences;
    use crate::{Policy, Source};

    #[allow(clippy::unwrap_used)]
    fn words(settings: &str) -> RuleWords {
        let text = format!("[[rule]]\nname = \"r\"\n{settings}");
        let loaded = Policy::load(&Source::new("t", text), &NoReferences).unwrap();
        RuleWords::of(loaded.policy.rules()[0].rule())
    }

    #[test]
    fn f10_a_bucket_tells_its_worst_case_and_its_interval() {
        let all = words("key = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"17/30s\"\nburst = 17");
        assert_eq!(all.at_most, "at most 34 in any 30 s");
        assert_eq!(all.interval, "one per about 1.76 s");
        let all = words("key = \"client-ip\"\nalgorithm = \"token-bucket\"\nrate = \"100/min\"");
        assert_eq!(all.meaning, "100/min per address, bursts to 100");
        assert_eq!(
            (&all.at_most[..], &all.interval[..]),
            ("at most 200 in any 1 min", "one per 600 ms")
        );
        assert_eq!((all.any_second, all.any_minute), (Some(101), Some(200)));
    }

    #[test]
    fn f10_the_strict_choice_promises_the_limit_itself() {
        let all =
            words("key = \"client-ip\"\nalgorithm = \"sliding-log\"\nlimit = 17\nwindow = \"30s\"");
        assert_eq!(all.at_most, "at most 17 in any 30 s");
        assert_eq!(all.interval, "");
    }

    #[test]
    fn windows_tell_their_edges() {
        let window = "limit = 100\nwindow = \"1min\"";
        let key = "key = [\"header:x-api-key\", \"path\"]";
        let all = words(&format!("{key}\nalgorithm = \"fixed-window\"\n{window}"));
        assert_eq!(
            all.meaning,
            "100 per clock minute per x-api-key header and path"
        );
        assert_eq!(all.at_most, "at most 200 in any 1 min");
        let all = words(&format!("{key}\nalgorithm = \"sliding-counter\"\n{window}"));
        assert_eq!(all.at_most, "at most 199 in any 1 min");
        let first = "algorithm = \"fixed-window\"\nanchor = \"first-request\"";
        let all = words(&format!("{key}\n{first}\n{window}"));
        assert_eq!(all.at_most, "at most 199 in any 1 min");
    }

    #[test]
    fn requests_without_the_key_are_told() {
        let quota = "algorithm = \"gcra\"\nrate = \"5/s\"";
        let told = |settings: &str| words(&format!("{settings}\n{quota}")).missing;
        let key = "key = \"header:x-api-key\"";
        assert_eq!(told(key), "requests without it: one counter together");
        assert_eq!(
            told(&format!("{key}\nmissing = \"skip\"")),
            "requests without it: skipped by this rule"
        );
        assert_eq!(
            told(&format!("{key}\nmissing = \"deny\"")),
            "requests without it: 403"
        );
        assert_eq!(
            told("key = [\"header:x-api-key\", \"query:q\"]"),
            "requests without one of them: one counter together"
        );
        assert_eq!(
            told("key = [\"client-ip\", \"query:q\"]"),
            "requests without q parameter: one counter together"
        );
        for certain in [
            "key = \"client-ip\"",
            "key = [\"host\", \"path\"]",
            "key = \"global\"",
            "key = \"header:x-a\"\nmatch = { with = \"header:x-a\" }",
            "key = \"header:x-a\"\nmatch = { header = { x-a = \"v\" } }",
        ] {
            assert_eq!(told(certain), "", "{certain}");
        }
    }

    #[test]
    fn words_are_words() {
        let all = words("limit = \"unlimited\"");
        assert_eq!((&all.meaning[..], all.any_second), ("unlimited", None));
        let all = words("limit = \"deny\"\nmatch = { method = \"POST\", path = \"/x\" }");
        assert_eq!(
            (&all.meaning[..], &all.scope[..], all.any_minute),
            ("denied", "POST /x", Some(0))
        );
        assert_eq!(all.to_string(), "r: denied, for POST /x");
    }
}
