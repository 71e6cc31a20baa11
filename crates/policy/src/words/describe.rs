//! One rule in words.

use std::fmt;

use jeton_core::{Anchor, Span};
use serde::Serialize;

use super::promise::{LimitWords, Promise};
use super::settling::{debt, settling};
use crate::key::KeyPart;
use crate::matching::Match;
use crate::rule::{Allowance, Missing, Mode, Rule, Terms};
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
    /// The most in any second, with what answers may cost beyond it; none for `unlimited` and for
    /// requests in flight.
    pub any_second: Option<u64>,
    /// The most in any minute; none as above.
    pub any_minute: Option<u64>,
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
        let debt = debt(rule);
        let Promise {
            at_most,
            interval,
            any_second,
            any_minute,
            in_columns,
        } = Promise::of(&rule.allowance, debt);
        let plans = rule.plan.iter().flat_map(|plans| &plans.named);
        let plans = plans.map(|(name, allowance)| LimitWords::of(name, allowance, debt));
        let trial = rule.trial.map(Allowance::Quota);
        Self {
            name: rule.name.clone(),
            meaning: meaning(rule),
            scope: scope(&rule.matches),
            missing: missing(rule),
            at_most,
            interval,
            settling: settling(rule),
            any_second,
            any_minute,
            plan: rule
                .plan
                .as_ref()
                .map(|plans| part(&plans.source))
                .unwrap_or_default(),
            plans: plans.collect(),
            trial: trial.map(|terms| LimitWords::of("trial", &terms, debt)),
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
        for promise in [&self.missing, &self.at_most, &self.interval, &self.settling] {
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

/// The promise of a rule under some terms of its own, a plan or an override; empty for a word.
pub(crate) fn at_most(rule: &Rule, allowance: &Allowance) -> String {
    Promise::of(allowance, debt(rule)).at_most
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

/// Parts that a request may lack though the rule speaks of it. Whether a client has an address is
/// up to the door, not to the client.
fn missing(rule: &Rule) -> String {
    let sent = |part: &&KeyPart| {
        matches!(
            part,
            KeyPart::Header(_) | KeyPart::Cookie(_) | KeyPart::Query(_) | KeyPart::Descriptor(_)
        )
    };
    let Match { with, headers, .. } = &rule.matches;
    let certain = |part: &&KeyPart| {
        let by_value =
            |(name, _): &(String, _)| matches!(part, KeyPart::Header(own) if own == name);
        with.contains(part) || headers.iter().any(by_value)
    };
    let parts = rule.key.iter().filter(sent);
    let lacking = parts.filter(|part| !certain(part)).count();
    let is_quota = matches!(rule.allowance, Allowance::Quota(_));
    let what = match rule.missing {
        Missing::Share if is_quota => "one counter together",
        Missing::Share => return String::new(),
        Missing::Skip => "skipped by this rule",
        Missing::Deny => "403",
    };
    match lacking {
        0 => String::new(),
        _ if rule.key.len() == 1 => format!("requests without it: {what}"),
        1 => {
            let part = rule.key.iter().filter(sent).find(|part| !certain(part));
            let part = part.map(self::part).unwrap_or_default();
            format!("requests without {part}: {what}")
        }
        _ => format!("requests without one of them: {what}"),
    }
}

fn whose(key: &[KeyPart]) -> String {
    if matches!(key, [] | [KeyPart::Global]) {
        return "for all together".to_owned();
    }
    let parts: Vec<String> = key.iter().map(part).collect();
    format!("per {}", parts.join(" and "))
}

/// `x-api-key header`.
pub(crate) fn part(part: &KeyPart) -> String {
    match part {
        KeyPart::ClientIp(None) => "address".to_owned(),
        KeyPart::ClientIp(Some(prefix)) => format!("address (IPv6 /{})", prefix.bits()),
        KeyPart::Header(name) => format!("{name} header"),
        KeyPart::Cookie(name) => format!("{name} cookie"),
        KeyPart::Query(name) => format!("{name} parameter"),
        KeyPart::Descriptor(name) => format!("{name} descriptor"),
        plain => plain.to_string(),
    }
}

/// Values of header fields are left out: they may be what a client proves itself by.
fn scope(matches: &Match) -> String {
    fn any<T: fmt::Display>(list: &[T]) -> Option<String> {
        let all: Vec<String> = list.iter().map(T::to_string).collect();
        (!all.is_empty()).then(|| all.join(" or "))
    }
    let all = |list: &[KeyPart]| {
        let all: Vec<String> = list.iter().map(part).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    };
    let headers = matches
        .headers
        .iter()
        .map(|(name, _)| format!("with the right {name}"));
    let everything = matches.methods.is_empty() && matches.paths.is_empty();
    let words = [
        (everything && !matches.is_everything()).then(|| "requests".to_owned()),
        any(&matches.methods),
        any(&matches.paths),
        any(&matches.hosts).map(|hosts| format!("on {hosts}")),
        all(&matches.with).map(|parts| format!("with {parts}")),
        all(&matches.without).map(|parts| format!("without {parts}")),
    ];
    words
        .into_iter()
        .flatten()
        .chain(headers)
        .collect::<Vec<_>>()
        .join(" ")
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
