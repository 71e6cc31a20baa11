//! A rule as it holds after every check.

mod cost;
mod mode;
mod plans;
mod share;
mod terms;

use std::time::Duration;

use jeton_core::OnDeny;

pub use self::cost::{CostSpec, ResponseCost, StatusSet};
pub use self::mode::{Mode, OnFailure};
pub use self::plans::Plans;
pub use self::share::Share;
pub(crate) use self::share::unfit;
pub use self::terms::{Allowance, Terms};
use crate::envoy::DescriptorPath;
use crate::key::KeyPart;
use crate::matching::Match;

/// A named limit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rule {
    /// Printable ASCII without `"` and `\`, 1 to 64.
    pub name: String,
    /// Which requests it speaks of.
    pub matches: Match,
    /// Whose counter; at least one part, unless the allowance is a word.
    pub key: Vec<KeyPart>,
    /// What a request gets whose key has a part missing.
    pub missing: Missing,
    /// What it allows.
    pub allowance: Allowance,
    /// The word for its algorithm as the policy has it (`gcra` and `token-bucket` are two for one);
    /// none if the allowance is a word.
    pub algorithm: Option<&'static str>,
    /// Whether it has a vote.
    pub mode: Mode,
    /// Other allowances of the same rule, chosen by a word in the request. They change the quota,
    /// never the counter.
    pub plan: Option<Plans>,
    /// The answers that count; none if every request does.
    pub count: Option<StatusSet>,
    /// Units of one request.
    pub cost: CostSpec,
    /// How long a request waits that is refused only because of units held for answers that are
    /// still out, which may come back. Default 50 ms.
    pub hold_wait: Duration,
    /// Units that a cost known afterwards may go below nothing left; none for as much as the limit
    /// in force, which is also the most.
    pub max_debt: Option<u64>,
    /// What a denial by this rule costs.
    pub on_deny: OnDeny,
    /// What becomes of its requests when the store gives no decision; none for what `[store]` says.
    pub on_failure: Option<OnFailure>,
    /// Other terms of the same rule, counted side by side on a counter of their own, without a
    /// vote.
    pub trial: Option<Terms>,
    /// Names of rules that do not apply when this one matches. A rule that denies by word is not
    /// replaced, a rule in shadow replaces only rules in shadow, and a rule that was skipped for
    /// a missing key part replaces nothing.
    pub replaces: Vec<String>,
    /// `true` if keys must be shown as a fingerprint only: `secret_key = true`, or a key that
    /// holds a credential by its nature (`header:authorization`, `cookie:…`).
    pub secret_key: bool,
    /// The limit of a file of descriptors that it is; none for a rule of the policy.
    pub descriptor: Option<DescriptorPath>,
}

/// What a request gets whose key has a part missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// One counter that all such requests share (those that lack the same parts and have the same
    /// values of the others).
    #[default]
    Share,
    /// The rule does not apply.
    Skip,
    /// A refusal: 403. CORS preflights share a counter instead, for browsers leave credentials out.
    Deny,
}

impl Rule {
    /// How long requests wait for units held, unless the rule says otherwise.
    pub const HOLD_WAIT: Duration = Duration::from_millis(50);

    /// A rule about every request, by whatever key, with every default.
    pub(crate) fn new(name: String, key: Vec<KeyPart>, allowance: Allowance) -> Self {
        let secret_key = key.iter().any(KeyPart::is_credential);
        Self {
            name,
            matches: Match::default(),
            key,
            missing: Missing::default(),
            allowance,
            algorithm: None,
            mode: Mode::default(),
            plan: None,
            count: None,
            cost: CostSpec::default(),
            hold_wait: Self::HOLD_WAIT,
            max_debt: None,
            on_deny: OnDeny::default(),
            on_failure: None,
            trial: None,
            replaces: Vec::new(),
            secret_key,
            descriptor: None,
        }
    }
}
