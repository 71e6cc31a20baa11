//! Units that are taken ahead of the store, in words.

use super::span;
use crate::rule::{Allowance, Rule, Terms};
use crate::settings::Lease;
use crate::sharing::{Ahead, Leased};
use crate::units::{grouped, in_words};

/// What a store with leases does with a rule.
pub(super) fn of_rule(rule: &Rule, ahead: &Ahead) -> String {
    match &ahead.leased {
        Leased::Never(why) => format!("never taken ahead: {why}"),
        Leased::Aside { units, why } => {
            let taken = taken(*units, &rule.allowance);
            format!("{taken}; not for its requests: {why}")
        }
        Leased::Ahead { units, but } if but.is_empty() => taken(*units, &rule.allowance),
        Leased::Ahead { units, but } => {
            let but: Vec<String> = but.iter().map(|name| format!("{name:?}")).collect();
            let taken = taken(*units, &rule.allowance);
            format!("{taken}; not where {} applies", but.join(" or "))
        }
    }
}

fn taken(units: u64, allowance: &Allowance) -> String {
    let Allowance::Quota(terms) = allowance else {
        return String::new();
    };
    let each = grouped(units);
    match terms {
        _ if units == 0 => "taken ahead in plans only".to_owned(),
        Terms::FixedWindow { .. } => format!("{each} at a time taken ahead, spent in their window"),
        Terms::SlidingLog { .. } | Terms::SlidingCounter { .. } => {
            format!("{each} at a time taken ahead: n processes pass n times as many more")
        }
        Terms::Bucket { .. } | Terms::Concurrency { .. } => {
            format!("{each} at a time taken ahead, counted in the figures")
        }
    }
}

/// What holds for all rules.
pub(super) fn of_store(Lease { units, keep_for }: Lease) -> String {
    format!(
        "a process takes {} units of a key in use ahead, of buckets and fixed windows as many more \
         as it uses within a round trip, at most a quarter of the limit, and spends them within {}; \
         near the limit as many may be refused early, and a crash leaves them charged",
        grouped(units),
        in_words(span(keep_for))
    )
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use crate::raw::NoReferences;
    use crate::{Policy, PolicyTable, RuleWords, Source, Store};

    #[allow(clippy::unwrap_used)]
    fn policy(lease: &str, rules: &[&str]) -> Policy {
        let mut text = format!("[store]\nkind = \"redis\"\nurl = \"redis://h\"\n{lease}\n");
        for (rule, name) in rules.iter().zip('a'..) {
            let rule = format!("[[rule]]\nname = \"{name}\"\nkey = \"client-ip\"\n{rule}\n");
            text.push_str(&rule);
        }
        let loaded = Policy::load(&Source::new("t", text), &NoReferences);
        loaded.unwrap().policy
    }

    fn words(lease: &str, rule: &str) -> RuleWords {
        policy(lease, &[rule]).rules()[0].words()
    }

    const LEASE: &str = "lease = 20\nlease_for = \"2s\"";
    const BUCKET: &str = "algorithm = \"gcra\"\nrate = \"20/s\"\nburst = 100";
    const WINDOW: &str = "algorithm = \"fixed-window\"\nlimit = 40\nwindow = \"1min\"";
    const LOG: &str = "algorithm = \"sliding-log\"\nlimit = 40\nwindow = \"1min\"";
    const COUNTER: &str = "algorithm = \"sliding-counter\"\nlimit = 400\nwindow = \"10s\"";

    #[test]
    fn a_bucket_passes_what_flows_in_while_a_lease_lives() {
        let all = words(LEASE, BUCKET);
        // burst + rate x (t + lease_for)
        assert_eq!(all.at_most, "at most 160 in any 1 s");
        assert_eq!((all.any_second, all.any_minute), (Some(160), Some(1_340)));
        assert_eq!(all.per_process, 0);
        assert_eq!(
            all.lease,
            "20 at a time taken ahead, counted in the figures"
        );
    }

    #[test]
    fn a_fixed_window_passes_no_more_than_without_leases() {
        let (with, without) = (words(LEASE, WINDOW), words("", WINDOW));
        assert_eq!(
            with.lease,
            "10 at a time taken ahead, spent in their window"
        );
        assert_eq!(
            RuleWords {
                lease: String::new(),
                ..with
            },
            without
        );
    }

    #[test]
    fn a_log_and_a_counter_pass_what_processes_hold_on_top() {
        let log = words(LEASE, LOG);
        assert_eq!(
            log.at_most,
            "at most 40 in any 1 min, and 10 more for each process"
        );
        assert_eq!((log.any_minute, log.per_process), (Some(40), 10));
        let counter = words(LEASE, COUNTER);
        assert_eq!(
            counter.at_most,
            "at most 799 in any 10 s, and 20 more for each process"
        );
        let said = "20 at a time taken ahead: n processes pass n times as many more";
        assert_eq!(counter.lease, said);
    }

    #[test]
    fn a_plan_is_taken_ahead_of_by_its_own_limit() {
        let plans = format!("{LOG}\nplan = \"header:p\"\nplans = {{ big = {{ limit = 800 }} }}");
        let all = words(LEASE, &plans);
        assert_eq!((all.per_process, all.plans[0].per_process), (10, 20));
        let small = plans.replacen("limit = 40", "limit = 4", 1);
        let all = words(LEASE, &small);
        assert_eq!((all.per_process, all.plans[0].per_process), (0, 20));
        assert_eq!(all.lease, "taken ahead in plans only");
    }

    #[test]
    fn without_leases_nothing_is_said_of_them_and_elsewhere_they_are_gone() {
        assert_eq!(words("", BUCKET).lease, "");
        let here = policy(LEASE, &[BUCKET]);
        assert_eq!(RuleWords::of(here.rules()[0].rule()).any_second, Some(120));
        let there = here.over(Store::default()).rules()[0].words();
        assert_eq!((there.any_second, &there.lease[..]), (Some(120), ""));
    }

    /// A caller who names the rule meets no other one.
    #[test]
    fn what_leases_let_through_is_told_wherever_anybody_can_use_them() {
        let flight = "algorithm = \"concurrency\"\nlimit = 5\nlease = \"30s\"";
        let policy = policy(LEASE, &[LOG, flight]);
        let words = policy.rules()[0].words();
        assert!(
            words
                .lease
                .contains("not for its requests: \"b\" applies too"),
            "{}",
            words.lease
        );
        assert!(words.per_process > 0, "{words:?}");
    }

    #[test]
    fn the_table_names_those_that_are_not_taken_ahead_and_those_they_meet() {
        let login = format!("{LOG}\nmatch = {{ path = \"/login\" }}\ncount = {{ status = 401 }}");
        let both = format!("{LOG}\nmatch = {{ path = \"/login\", method = \"POST\" }}");
        let table = PolicyTable::new("t", &policy(LEASE, &[COUNTER, &login, &both])).to_string();
        for said in [
            "; not where \"b\" applies",
            "; not for its requests: it waits for the answer",
            "; not for its requests: \"b\" applies too, and never is",
            "+20n ",
        ] {
            let flat = table.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(said), "{said}: {table}");
        }
        let wide = table.lines().map(|line| line.chars().count()).max();
        assert!(wide <= Some(100), "{table}");
    }
}
