//! Why a request is charged what it is charged, and why not more: rule by rule, for people.
//!
//! What is charged and refused is not found out here: [`Policy::explain`] evaluates, and only
//! looks up the reasons.

mod key;
mod limits;
mod speaks;
mod words;

use jeton_core::{Cost, Micros};

pub use self::key::{ShownPart, ShownValue};
use crate::compiled::{
    Buffers, Charge, CompiledRule, Counter, Denied, DenyReason, Orders, Policy, Silent, Verdict,
    View,
};
use crate::facts::Facts;
use crate::fingerprint::Fingerprints;
use crate::key::KeyPart;
use crate::request::Request;
use crate::rule::{Allowance, Mode};

/// What a policy makes of one request, and why. Secrets are in it as fingerprints only.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explained {
    /// What is to happen, as [`Policy::evaluate`] says.
    pub verdict: Verdict,
    /// `true` if no list and no rule speaks of the request.
    pub unmatched: bool,
    /// Every rule, in the order of the file.
    pub rules: Vec<RuleExplained>,
}

/// What one rule has to do with a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuleExplained {
    /// Its name.
    pub rule: String,
    /// What becomes of it.
    pub outcome: Outcome,
    /// What it makes of the request; `None` if it does not speak of it, or was not asked.
    pub speaks: Option<Speaks>,
}

/// What becomes of a rule. Its [`Display`](std::fmt::Display) is a reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is charged, together with all others that are.
    Charged,
    /// It matches, and nothing is counted: its allowance is `"unlimited"`.
    Unlimited,
    /// It refuses the request, whatever has been used.
    Refuses(Refusal),
    /// It would refuse the request, and has no vote: that is counted.
    WouldRefuse(Refusal),
    /// It matches, and another rule refuses the request before it comes to charges.
    Overruled {
        /// The rule that refuses.
        by: String,
    },
    /// It matches, and another one that does too replaces it.
    Replaced {
        /// The rule that replaces it.
        by: String,
    },
    /// It matches, as do more than can be charged in one step.
    TooManyRules,
    /// A part of its key is missing, and `missing = "skip"`.
    Skipped {
        /// The first such part.
        part: KeyPart,
    },
    /// It does not match.
    Unmet(Unmet),
    /// It is a limit of a file of descriptors, and a descriptor of the request that looks like its own
    /// leads elsewhere: a value is found before a `*`, and that before the key alone.
    FoundBefore {
        /// The limit that it leads to; `None` if there is none.
        by: Option<String>,
    },
    /// A list decides about the address before any rule does.
    NotAsked,
}

/// Why a rule refuses whatever has been used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// By a word, a missing part of the key, or a cost that is no number.
    Denied(DenyReason),
    /// An operator blocks the key.
    Blocked {
        /// When that ends; `None` if somebody has to lift it.
        until: Option<Micros>,
    },
}

/// The first condition of a `match` that a request does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmet {
    /// Which one.
    pub condition: Condition,
    /// What it asks for, one of these: methods, hosts, patterns, the name of a part or of a header
    /// field. Never a value of a header field: it may be what a client proves itself by.
    pub wanted: Vec<String>,
}

/// A condition of a `match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// `domain`.
    Domain,
    /// `method`.
    Method,
    /// `host`.
    Host,
    /// `path`.
    Path,
    /// `with`: the part is not there.
    With,
    /// `without`: the part is there.
    Without,
    /// `header`: no line of that field has the value.
    Header,
    /// None of the descriptors of the request leads to this limit of a file.
    Descriptor,
}

/// What a rule makes of a request that it speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Speaks {
    /// Whose counter.
    pub key: Vec<ShownPart>,
    /// Which counter of the rule.
    pub counter: Counter,
    /// What the request says of a plan.
    pub plan: PlanFound,
    /// Whose terms are in force.
    pub terms: TermsFrom,
    /// Those terms in words, such as `5/s, bursts to 20`.
    pub allows: String,
    /// The worst case for one key under them, such as `at most 34 in any 30 s`; empty for a word,
    /// and for preflights, which have a multiple of them.
    pub at_most: String,
    /// Whether it has a vote.
    pub mode: Mode,
    /// Whether an operator set that mode.
    pub mode_by_order: bool,
    /// Units of this request; `None` if it names a cost that is no number.
    pub cost: Option<Cost>,
    /// Who says so.
    pub cost_from: CostFrom,
    /// The statuses of answers that count; `None` if whatever is answered does.
    pub count: Option<String>,
    /// Whether a denial by it costs what is left: `on_deny = "charge"`.
    pub charges_denials: bool,
    /// Whether other terms are counted beside it, without a vote.
    pub trial: bool,
}

/// What a request says of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanFound {
    /// The rule has no plans.
    NoPlans,
    /// The request names none.
    Unnamed,
    /// It names this one.
    Known(String),
    /// It names this one, which there is not; a credential as a fingerprint.
    Unknown(String),
}

/// Whose terms are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermsFrom {
    /// The rule's own.
    Rule,
    /// Those of the plan that the request names.
    Plan,
    /// Those that an operator gave the key.
    Override {
        /// When they end; `None` if somebody has to lift them.
        until: Option<Micros>,
    },
}

/// Who says what a request costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostFrom {
    /// The rule.
    Rule,
    /// The request, in this header field.
    Request(String),
    /// The answer will, at this place; until then it is an estimate.
    Response(String),
}

impl Policy {
    /// What [`Policy::evaluate`] says of the same request, and why of every rule. Nothing is
    /// charged: charges are only named.
    ///
    /// ```
    /// use jeton_core::Micros;
    /// use jeton_policy::{Facts, Fingerprints, NoReferences, Orders, Policy, Source};
    /// # struct Nothing;
    /// # impl Facts for Nothing {
    /// #     fn client_ip(&self) -> Option<std::net::IpAddr> { None }
    /// #     fn method(&self) -> Option<&str> { Some("GET") }
    /// #     fn host(&self) -> Option<&str> { None }
    /// #     fn path(&self) -> Option<&str> { Some("/") }
    /// #     fn query(&self) -> Option<&str> { None }
    /// #     fn header(&self, _: &str, _: &mut dyn FnMut(&[u8])) {}
    /// # }
    /// # let request = Nothing;
    /// let rule = "[[rule]]\nname = 'login'\nmatch = { method = 'POST' }\nkey = 'client-ip'\n\
    ///             algorithm = 'gcra'\nrate = '5/min'";
    /// let policy = Policy::load(&Source::new("jeton.toml", rule), &NoReferences)?.policy;
    /// let fingerprints = Fingerprints::new(b"random bytes");
    /// let explained = policy.explain(&request, &Orders::default(), Micros::ZERO, &fingerprints);
    /// assert_eq!(explained.rules[0].outcome.to_string(), "method is not POST");
    /// # Ok::<(), jeton_policy::Report>(())
    /// ```
    pub fn explain(
        &self,
        facts: &dyn Facts,
        orders: &Orders,
        now: Micros,
        fingerprints: &Fingerprints,
    ) -> Explained {
        let mut buffers = Buffers::default();
        let evaluation = self.evaluate(facts, orders, now, &mut buffers);
        let verdict = evaluation.verdict();
        let explaining = Explaining {
            policy: self,
            orders,
            fingerprints,
            request: Request::new(facts),
            verdict,
            charges: evaluation.charges().collect(),
            would_refuse: evaluation.shadow_denials(),
        };
        let is_listed = matches!(verdict, Verdict::Blocked | Verdict::Exempt);
        let rules = self.asked_rules().iter();
        Explained {
            verdict,
            unmatched: evaluation.is_unmatched(),
            rules: if is_listed {
                rules.map(not_asked).collect()
            } else {
                let views = self.views(&explaining.request, orders, now);
                let rules = rules.enumerate().zip(views);
                rules
                    .map(|((index, rule), view)| explaining.rule(index, rule, view))
                    .collect()
            },
        }
    }
}

fn not_asked(rule: &CompiledRule) -> RuleExplained {
    RuleExplained {
        rule: rule.name().to_owned(),
        outcome: Outcome::NotAsked,
        speaks: None,
    }
}

struct Explaining<'a> {
    policy: &'a Policy,
    orders: &'a Orders,
    fingerprints: &'a Fingerprints,
    request: Request<'a>,
    verdict: Verdict,
    charges: Vec<Charge<'a>>,
    would_refuse: &'a [Denied],
}

impl Explaining<'_> {
    fn rule(
        &self,
        index: usize,
        rule: &CompiledRule,
        view: Result<View, Silent<'_>>,
    ) -> RuleExplained {
        let name = rule.name().to_owned();
        match view {
            Ok(view) => RuleExplained {
                rule: name,
                outcome: self.outcome(index, &view),
                speaks: Some(self.speaks(index, rule, &view)),
            },
            Err(silent) => RuleExplained {
                rule: name,
                outcome: match silent {
                    Silent::Skipped(part) => Outcome::Skipped { part: part.clone() },
                    Silent::Unmet(unmet) => Outcome::Unmet(Unmet::of(unmet, rule)),
                },
                speaks: None,
            },
        }
    }

    fn outcome(&self, index: usize, view: &View) -> Outcome {
        let name = |rule: usize| {
            let rule = self.policy.rules().get(rule);
            rule.map(|rule| rule.name().to_owned()).unwrap_or_default()
        };
        if self.charge(index).is_some() {
            return Outcome::Charged;
        }
        let would = self.would_refuse.iter().find(|denied| denied.rule == index);
        if let Some(Denied { reason, .. }) = would {
            return Outcome::WouldRefuse(Refusal::Denied(*reason));
        }
        match (refusal(self.verdict), view.lifted_by) {
            (Some((by, refusal)), _) if by == index => Outcome::Refuses(refusal),
            (_, Some(by)) => Outcome::Replaced { by: name(by) },
            (Some((by, _)), None) => Outcome::Overruled { by: name(by) },
            (None, None) if self.verdict == Verdict::TooManyRules && is_counted(view) => {
                Outcome::TooManyRules
            }
            (None, None) => Outcome::Unlimited,
        }
    }

    /// The charge of a rule under its own terms.
    fn charge(&self, index: usize) -> Option<&Charge<'_>> {
        let own = |charge: &&Charge<'_>| charge.rule == index && charge.counter != Counter::Trial;
        self.charges.iter().find(own)
    }
}

/// The rule that refuses, and why.
fn refusal(verdict: Verdict) -> Option<(usize, Refusal)> {
    match verdict {
        Verdict::Denied(Denied { rule, reason }) => Some((rule, Refusal::Denied(reason))),
        Verdict::BadCost { rule } => Some((rule, Refusal::Denied(DenyReason::BadCost))),
        Verdict::BlockedUntil { rule, until } => Some((rule, Refusal::Blocked { until })),
        Verdict::Charges | Verdict::Blocked | Verdict::Exempt | Verdict::TooManyRules => None,
    }
}

fn is_counted(view: &View) -> bool {
    view.allowance != Allowance::Unlimited
}
