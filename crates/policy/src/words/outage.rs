//! What the outage rule lets pass while the store is away, in words.

use super::allows;
use crate::rule::{Allowance, OnFailure, Rule, Terms};
use crate::settings::Store;

/// The bound of a rule that says for itself; none if it goes by what `[store]` says, or counts
/// nothing.
pub(super) fn outage(rule: &Rule) -> Option<String> {
    match (rule.on_failure?, &rule.allowance) {
        (OnFailure::Deny, _) => Some("503 without a store".to_owned()),
        (OnFailure::Allow, _) => Some("passes without a store, unbounded".to_owned()),
        (OnFailure::Local(share), Allowance::Quota(terms)) => {
            let local = share.of_terms(terms)?;
            let once = match terms {
                Terms::Bucket { .. } => "burst",
                _ => "limit",
            };
            Some(format!(
                "without a store each process grants {} by itself: n processes n times that, and \
                 one {once} more an outage",
                allows(&Allowance::Quota(local), "")
            ))
        }
        (OnFailure::Local(_), _) => None,
    }
}

/// The same for rules that say nothing themselves. The memory store never fails: there it goes
/// without saying that all pass.
pub(super) fn of_store(store: &Store) -> Option<String> {
    match store.on_failure {
        OnFailure::Allow if store.redis().is_some() => {
            Some("all pass, unbounded, unless the rule says otherwise".to_owned())
        }
        OnFailure::Allow => None,
        OnFailure::Deny => Some("503, unless the rule says otherwise".to_owned()),
        OnFailure::Local(share) => Some(format!(
            "each process grants {share} of a limit by itself, unless the rule says otherwise: n \
             processes n times that, and one limit or burst more an outage"
        )),
    }
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use crate::raw::NoReferences;
    use crate::{Policy, PolicyTable, RuleWords, Source};

    #[allow(clippy::unwrap_used)]
    fn policy(store: &str, rule: &str) -> Policy {
        let text = format!("{store}\n[[rule]]\nname = \"r\"\nkey = \"client-ip\"\n{rule}");
        let loaded = Policy::load(&Source::new("t", text), &NoReferences);
        loaded.unwrap().policy
    }

    const BUCKET: &str = "algorithm = \"gcra\"\nrate = \"20/s\"\nburst = 100";
    const WINDOW: &str = "algorithm = \"fixed-window\"\nlimit = 5\nwindow = \"1min\"";

    fn words(rule: &str, on_failure: &str) -> String {
        let rule = format!("{rule}\non_failure = {on_failure}");
        RuleWords::of(policy("", &rule).rules()[0].rule()).settling
    }

    #[test]
    fn every_outage_rule_prints_its_bound() {
        assert_eq!(words(BUCKET, "\"deny\""), "503 without a store");
        assert_eq!(
            words(BUCKET, "\"allow\""),
            "passes without a store, unbounded"
        );
        assert_eq!(
            words(BUCKET, "{ local = 0.25 }"),
            "without a store each process grants 5/s, bursts to 25 by itself: n processes n times \
             that, and one burst more an outage"
        );
        assert_eq!(
            words(WINDOW, "{ local = 0.5 }"),
            "without a store each process grants 2 per clock minute by itself: n processes n times \
             that, and one limit more an outage"
        );
    }

    #[test]
    fn what_holds_for_all_rules_stands_above_them() {
        let table = |store| PolicyTable::new("t", &policy(store, BUCKET)).to_string();
        assert!(!table("").contains("without a store"));
        let deny = table("[store]\non_failure = \"deny\"");
        assert!(deny.contains("  without a store: 503, unless"), "{deny}");
        let local = table("[store]\non_failure = { local = 0.5 }");
        assert!(local.contains("grants 0.5 of a limit by itself"), "{local}");
    }
}
