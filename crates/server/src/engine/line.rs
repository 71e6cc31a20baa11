//! One answer, printed. A line of a trace and the answer to a call differ in the unit of their
//! spans, and in what only a caller can use.

use jeton::policy::{CompiledRule, Counter, DenyReason};
use jeton::{Answered, Disposition, RuleDecision, Span};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::step::Outcome;

macro_rules! shape {
    (
        $line:ident, $decision:ident, $retry_after:ident, $reset_after:ident, $unit:expr,
        [$($at_us:ident)?], [$($key:ident, $handle:ident, $expires_after:ident)?]
    ) => {
        /// What became of it.
        #[derive(Debug, Serialize, JsonSchema)]
        pub struct $line<'a> {
            $(
                /// The instant of the event.
                pub $at_us: u64,
            )?
            /// Whether it may pass, or was carried out.
            pub allowed: bool,
            /// The wait after which the same request passes if nobody else competes; `null` if it
            /// passes now, or if no wait is known.
            pub $retry_after: Option<u64>,
            /// Whether the cost is above what a rule can ever hold.
            pub impossible: bool,
            /// The decisions of all rules that apply.
            pub decisions: Vec<$decision<'a>>,
            /// `true` if the store gave no decision, and `on_failure` spoke: decisions are then those
            /// of one process alone, under a share of each limit.
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            pub degraded: bool,
            /// Why no counter decided, where none did.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Reason")]
            pub reason: Option<Reason>,
            /// The rule that refused, where no counter did.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "String")]
            pub rule: Option<&'a str>,
            /// `true` if the reservation had been settled before: nothing was done again.
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            pub repeated: bool,
            /// The rules that an order concerns; of one that was lifted, those that had it.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Vec<String>")]
            pub rules: Option<&'a [String]>,
            $(
                /// The key that an order concerns, a text for each part; a fingerprint where the
                /// rule's keys are secret.
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schemars(with = "Vec<String>")]
                pub $key: Option<&'a [String]>,
                /// What settles the reservation.
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schemars(with = "String")]
                pub $handle: Option<String>,
                /// How long the handle is good for, or an order holds.
                #[serde(skip_serializing_if = "Option::is_none")]
                #[schemars(with = "u64")]
                pub $expires_after: Option<u64>,
            )?
        }

        /// One rule's decision.
        #[derive(Debug, Serialize, JsonSchema)]
        pub struct $decision<'a> {
            /// The rule's name.
            pub rule: &'a str,
            /// Whether it has room.
            pub allowed: bool,
            /// The most it holds.
            pub limit: u64,
            /// Units left.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "u64")]
            pub remaining: Option<u64>,
            /// When it starts over, or is full again; 0 if nothing is used.
            pub $reset_after: u64,
            /// When it would have room.
            pub $retry_after: Option<u64>,
            /// Whether it has a vote.
            pub mode: Word,
            /// The plan that is in force.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "String")]
            pub plan: Option<&'a str>,
            /// `true` if a full store estimated it.
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            pub approximate: bool,
            /// What names this charge, to refund exactly it.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "String")]
            pub receipt: Option<String>,
        }

        impl<'a> $line<'a> {
            /// As it is printed.
            pub fn of($($at_us: u64,)? outcome: &'a Outcome) -> Self {
                let unit: fn(Span) -> u64 = $unit;
                let answered = outcome.answered();
                Self {
                    $($at_us,)?
                    allowed: outcome.is_carried_out(),
                    $retry_after: answered.and_then(Answered::retry_after).map(unit),
                    impossible: answered.is_some_and(Answered::impossible),
                    decisions: outcome
                        .decisions()
                        .map(|decided| $decision::of(&decided, outcome.has_receipts()))
                        .collect(),
                    degraded: answered.is_some_and(Answered::is_degraded),
                    reason: Reason::of(outcome),
                    rule: answered.and_then(refusing),
                    repeated: outcome.is_repeated(),
                    rules: outcome.rules(),
                    $(
                        $key: outcome.key(),
                        $handle: outcome.handle().map(ToString::to_string),
                        $expires_after: outcome.lasting().map(unit),
                    )?
                }
            }
        }

        impl<'a> $decision<'a> {
            fn of(decided: &RuleDecision<'a>, has_receipts: bool) -> Self {
                let unit: fn(Span) -> u64 = $unit;
                let decision = decided.decision;
                let receipt = decided.receipt().filter(|_| has_receipts);
                Self {
                    rule: decided.rule.name(),
                    allowed: decision.fit.passes(),
                    limit: decision.limit.into(),
                    // Of an estimate nobody knows what is left to this key.
                    remaining: (!decision.approximate).then(|| decision.remaining.into()),
                    $reset_after: unit(decision.reset_after),
                    $retry_after: decision.fit.retry_after().map(unit),
                    mode: Word::of(decided),
                    plan: decided.plan,
                    approximate: decision.approximate,
                    receipt: receipt.map(|receipt| receipt.to_string()),
                }
            }
        }
    };
}

shape!(
    TraceLine,
    TraceDecision,
    retry_after_us,
    reset_after_us,
    Span::as_micros,
    [at_us],
    []
);
shape!(
    CallAnswer,
    CallDecision,
    retry_after_ms,
    reset_after_ms,
    Span::as_millis_ceil,
    [],
    [key, handle, expires_after_ms]
);

/// Why no counter decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// No rule speaks of the request: it passes.
    Unmatched,
    /// The rules that apply do not count: it passes.
    Unlimited,
    /// The address is on the exempt list: it passes.
    Exempt,
    /// The address is on the block list.
    Block,
    /// An operator has blocked the key.
    Blocked,
    /// A rule, a plan or an override denies by a word.
    Deny,
    /// A part of the key is missing, under `missing = "deny"`.
    Missing,
    /// More rules apply than can be decided in one step.
    TooManyRules,
    /// The field that tells the cost of the request says no number.
    BadCost,
    /// A rule limits how much is in flight: it has to be reserved.
    NeedsHold,
    /// The store gave no decision, and the outage rule spoke.
    Degraded,
    /// There is no such reservation: never made, expired, or forgotten by its store.
    UnknownHandle,
}

impl Reason {
    fn of(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Unknown = outcome {
            return Some(Self::UnknownHandle);
        }
        outcome
            .answered()
            .map(Answered::disposition)
            .and_then(Self::of_disposition)
    }

    const fn of_disposition(disposition: Disposition) -> Option<Self> {
        Some(match disposition {
            Disposition::Unmatched => Self::Unmatched,
            Disposition::Unlimited => Self::Unlimited,
            Disposition::Exempt => Self::Exempt,
            Disposition::Blocked => Self::Block,
            Disposition::BlockedUntil { .. } => Self::Blocked,
            Disposition::Refused {
                reason: DenyReason::MissingKey,
                ..
            } => Self::Missing,
            Disposition::Refused { .. } => Self::Deny,
            Disposition::TooManyRules => Self::TooManyRules,
            Disposition::BadCost { .. } => Self::BadCost,
            Disposition::NeedsHold { .. } => Self::NeedsHold,
            Disposition::Degraded { .. } => Self::Degraded,
            _ => return None,
        })
    }

    /// As it is printed.
    const fn word(self) -> &'static str {
        match self {
            Self::Unmatched => "unmatched",
            Self::Unlimited => "unlimited",
            Self::Exempt => "exempt",
            Self::Block => "block",
            Self::Blocked => "blocked",
            Self::Deny => "deny",
            Self::Missing => "missing",
            Self::TooManyRules => "too-many-rules",
            Self::BadCost => "bad-cost",
            Self::NeedsHold => "needs-hold",
            Self::Degraded => "degraded",
            Self::UnknownHandle => "unknown-handle",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// Why no counter decided; none if counters did.
pub(crate) fn reason(disposition: Disposition) -> Option<&'static str> {
    Reason::of_disposition(disposition).map(Reason::word)
}

/// The rule that refused, where no counter did.
pub(crate) fn refusing(answered: &Answered) -> Option<&str> {
    match answered.disposition() {
        Disposition::Refused { rule, .. }
        | Disposition::BlockedUntil { rule, .. }
        | Disposition::BadCost { rule }
        | Disposition::NeedsHold { rule } => {
            answered.policy().rules().get(rule).map(CompiledRule::name)
        }
        _ => None,
    }
}

/// Whether a counter has a vote, in the words of the policy language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// It has.
    Enforce,
    /// It has none, and is counted.
    Shadow,
    /// It has none; the service behind is told when it would have denied.
    Mark,
    /// Another setting of a rule, counted side by side, without a vote.
    Trial,
}

impl Word {
    const fn of(decided: &RuleDecision<'_>) -> Self {
        use jeton::policy::Mode;
        match (decided.counter, decided.mode) {
            (Counter::Trial, _) => Self::Trial,
            (_, Mode::Enforce) => Self::Enforce,
            (_, Mode::Shadow) => Self::Shadow,
            (_, Mode::Mark) => Self::Mark,
        }
    }
}
