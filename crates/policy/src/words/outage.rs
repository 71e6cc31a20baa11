//! What the outage rule lets pass while the store is away, in words.

use super::allows;
use crate::rule::{Allowance, OnFailure, Rule, Share};
use crate::settings::{Store, StoreKind};
use crate::units::grouped;

/// The bound of a rule that says for itself; none if it goes by what `[store]` says, or counts
/// nothing.
pub(super) fn outage(rule: &Rule) -> Option<String> {
    match (rule.on_failure?, &rule.allowance) {
        (OnFailure::Deny, _) => Some("503 while the store is away".to_owned()),
        (OnFailure::Allow, _) => Some("passes unbounded while the store is away".to_owned()),
        (OnFailure::Local(share), Allowance::Quota(terms)) => {
            let local = share.of_terms(terms)?;
            let whole = terms.most();
            Some(format!(
                "while the store is away each process grants {} by itself{}: n processes n times \
                 that, and what the store had granted before, at most {}, does not count there",
                allows(&Allowance::Quota(local), ""),
                cut(share, whole, local.most()),
                grouped(whole),
            ))
        }
        (OnFailure::Local(_), _) => None,
    }
}

/// What rounding took away, if it did.
fn cut(share: Share, whole: u64, granted: u64) -> String {
    if share.is_of(whole, granted) {
        String::new()
    } else {
        format!(" ({share} of {}, in whole units)", grouped(whole))
    }
}

/// The same for rules that say nothing themselves. The memory store never fails: there it goes
/// without saying that all pass.
pub(super) fn of_store(store: &Store) -> Option<String> {
    match store.on_failure {
        OnFailure::Allow if store.kind == StoreKind::Memory => None,
        OnFailure::Allow => Some("all pass, unbounded, unless the rule says otherwise".to_owned()),
        OnFailure::Deny => Some("503, unless the rule says otherwise".to_owned()),
        // Its folder is of one process.
        OnFailure::Local(share) if store.disk().is_some() => Some(format!(
            "this process grants {share} of a limit from memory alone, unless the rule says otherwise: \
             what was granted before, at most a limit or burst, does not count there"
        )),
        OnFailure::Local(share) => Some(format!(
            "each process grants {share} of a limit by itself, unless the rule says otherwise: n \
             processes n times that, and what the store had granted before, at most a limit or \
             burst, does not count there"
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
        assert_eq!(words(BUCKET, "\"deny\""), "503 while the store is away");
        assert_eq!(
            words(BUCKET, "\"allow\""),
            "passes unbounded while the store is away"
        );
        assert_eq!(
            words(BUCKET, "{ local = 0.25 }"),
            "while the store is away each process grants 5/s, bursts to 25 by itself: n processes \
             n times that, and what the store had granted before, at most 100, does not count there"
        );
        assert_eq!(
            words(WINDOW, "{ local = 0.34 }"),
            "while the store is away each process grants 1 per clock minute by itself (0.34 of 5, \
             in whole units): n processes n times that, and what the store had granted before, at \
             most 5, does not count there"
        );
        let all = words(WINDOW, "{ local = 1 }");
        assert!(
            all.contains("grants 5 per clock minute by itself:"),
            "{all}"
        );
    }

    #[test]
    fn what_holds_for_all_rules_stands_above_them() {
        let table = |store| PolicyTable::new("t", &policy(store, BUCKET)).to_string();
        assert!(!table("").contains("store is away"));
        let deny = table("[store]\non_failure = \"deny\"");
        assert!(
            deny.contains("  while the store is away: 503, unless"),
            "{deny}"
        );
        let local = table("[store]\non_failure = { local = 0.5 }");
        assert!(local.contains("grants 0.5 of a limit by itself"), "{local}");
    }
}
