//! What a request costs, and when that is known, in words.

use jeton_core::OnDeny;

use super::outage::outage;
use super::promise::Beyond;
use crate::rule::{CostSpec, ResponseCost, Rule};
use crate::settings::Lease;
use crate::units::grouped;

/// What may be owed, or was taken ahead, on top of what a limit promises.
pub(super) fn beyond(rule: &Rule, ahead: Option<Lease>) -> Beyond {
    Beyond {
        by_response: matches!(rule.cost, CostSpec::Response { .. }),
        most_debt: rule.max_debt,
        ahead,
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
    let all = [cost, count, on_deny, outage(rule)];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use crate::raw::NoReferences;
    use crate::{Policy, RuleWords, Source};

    #[allow(clippy::unwrap_used)]
    fn words(settings: &str) -> RuleWords {
        let text = format!(
            "[[rule]]\nname = \"r\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\n\
             rate = \"10/min\"\nburst = 20\n{settings}"
        );
        let loaded = Policy::load(&Source::new("t", text), &NoReferences).unwrap();
        RuleWords::of(loaded.policy.rules()[0].rule())
    }

    #[test]
    fn what_is_as_usual_needs_no_words() {
        let all = words("");
        assert_eq!(all.settling, "");
        assert_eq!(
            (&all.plan[..], &all.plans[..], all.trial),
            ("", &[][..], None)
        );
    }

    #[test]
    fn costs_and_counts_are_told() {
        for (settings, said) in [
            ("cost = 5", "5 units a request"),
            ("cost = \"header:X-Cost\"", "as many units as x-cost says"),
            (
                "count = { status = [401, \"5xx\"] }",
                "only answers with 401, 500-599 count",
            ),
            (
                "cost = { response = \"trailer:x-units\", estimate = 1 }",
                "1 unit until the answer says how many in x-units",
            ),
            (
                "on_deny = \"charge\"\non_failure = \"deny\"",
                "a denial costs what is left; 503 while the store is away",
            ),
        ] {
            assert_eq!(words(settings).settling, said);
        }
    }

    #[test]
    fn a_debt_is_part_of_the_worst_case() {
        let cost = "cost = { response = \"header:x-units\", estimate = 1 }\n";
        let all = words(cost);
        assert_eq!(
            all.at_most,
            "at most 30 in any 1 min, and up to 20 more in debt"
        );
        assert_eq!((all.any_second, all.any_minute), (Some(40), Some(50)));
        let all = words(&format!("{cost}max_debt = 5"));
        assert_eq!(all.any_minute, Some(35));
        let all = words(&format!("{cost}max_debt = 0"));
        let lost = "at most 30 in any 1 min; what answers cost above what was held is lost";
        assert_eq!((&all.at_most[..], all.any_minute), (lost, Some(30)));
        // Only an answer goes into debt by itself.
        assert_eq!(words("max_debt = 5").any_minute, Some(30));
    }

    #[test]
    fn each_plan_and_the_trial_have_a_worst_case_of_their_own() {
        let all = words(
            "plan = \"header:x-plan\"\nplans = { pro = { rate = \"50/s\" }, staff = \"unlimited\", \
             banned = \"deny\" }\ntrial = { burst = 4 }",
        );
        assert_eq!(all.plan, "x-plan header");
        let told: Vec<_> = all.plans.iter().chain(&all.trial).collect();
        let told: Vec<_> = told
            .iter()
            .map(|plan| (&plan.name[..], &plan.meaning[..], plan.any_minute))
            .collect();
        assert_eq!(
            told,
            [
                ("pro", "50/s, bursts to 50", Some(3_050)),
                ("staff", "unlimited", None),
                ("banned", "denied", Some(0)),
                ("trial", "10/min, bursts to 4", Some(14)),
            ]
        );
        assert!(
            all.to_string()
                .contains("; with pro in the x-plan header: 50/s, bursts to 50")
        );
        assert!(all.to_string().contains("; on trial: 10/min, bursts to 4"));
    }

    #[test]
    fn units_in_flight_and_marks_are_told() {
        let text = "[[rule]]\nname = \"r\"\nkey = \"client-ip\"\nalgorithm = \"concurrency\"\n\
            limit = 10\nlease = \"30s\"\nmode = \"mark\"\n";
        let loaded = Policy::load(&Source::new("t", text), &NoReferences);
        let all = loaded.map(|loaded| RuleWords::of(loaded.policy.rules()[0].rule()));
        let all = all.unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(all.meaning, "10 at once per address");
        assert_eq!(
            all.at_most,
            "at most 10 in flight, as long as holders renew"
        );
        assert_eq!(all.interval, "back after 30 s unless renewed");
        assert_eq!((all.any_second, all.any_minute), (None, None));
        assert_eq!((all.mode, all.shadow), ("mark", true));
        assert!(
            all.to_string()
                .ends_with("(mark: never refused, the service behind is told)")
        );
    }
}
