//! What a request costs, and when that is known, in words.

use jeton_core::OnDeny;

use super::promise::Debt;
use crate::rule::{CostSpec, OnFailure, ResponseCost, Rule};
use crate::units::grouped;

/// What may be owed on top of what a limit promises.
pub(super) fn debt(rule: &Rule) -> Debt {
    Debt {
        by_response: matches!(rule.cost, CostSpec::Response { .. }),
        most: rule.max_debt,
    }
}

/// Everything about costs and denials that is not as usual; empty if all is.
pub(super) fn settling(rule: &Rule) -> String {
    let units = |units: u64| match units {
        1 => "1 unit".to_owned(),
        units => format!("{} units", grouped(units)),
    };
    let cost = match &rule.cost {
        CostSpec::Fixed(1) => None,
        CostSpec::Fixed(cost) => Some(format!("{} a request", units(*cost))),
        CostSpec::Request(name) => Some(format!("as many units as {name} says")),
        CostSpec::Response { source, estimate } => {
            let (ResponseCost::Header(name) | ResponseCost::Trailer(name)) = source;
            let held = units(*estimate);
            Some(format!("{held} until the answer says how many in {name}"))
        }
    };
    let count = rule.count.as_ref();
    let count = count.map(|count| format!("only answers with {count} count"));
    let on_deny =
        (rule.on_deny == OnDeny::Charge).then(|| "a denial costs what is left".to_owned());
    let on_failure = match rule.on_failure {
        Some(OnFailure::Deny) => Some("503 without a store".to_owned()),
        Some(OnFailure::Allow) => Some("passes without a store".to_owned()),
        None => None,
    };
    let all = [cost, count, on_deny, on_failure];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
