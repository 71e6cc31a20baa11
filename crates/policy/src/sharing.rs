//! What rules of one policy have to do with each other on a store that is shared: which of them are
//! charged together, at how many places, and whether units of them can be taken ahead.

use jeton_core::OnDeny;
use jeton_wire::client_ip::Ipv6Prefix;

use crate::key::KeyPart;
use crate::matching::Match;
use crate::rule::{Allowance, CostSpec, Missing, Rule, Terms};
use crate::settings::{Lease, Store};

/// Whether some request may be charged by both. `true` also where only a closer look would tell
/// that none is.
pub(crate) fn charged_together(one: &Rule, other: &Rule) -> bool {
    let counts = |rule: &Rule| matches!(rule.allowance, Allowance::Quota(_));
    counts(one)
        && counts(other)
        && one.matches.may_meet(&other.matches)
        && !replaces(one, other)
        && !replaces(other, one)
}

/// Whether `one` stands in the place of `other` wherever both match.
fn replaces(one: &Rule, other: &Rule) -> bool {
    let heard = one.mode.has_vote() || !other.mode.has_vote();
    heard && one.replaces.contains(&other.name)
}

/// Whether a request that both count is one key to both of them: the same parts read in the same
/// way.
pub(crate) fn same_key(one: &Rule, other: &Rule, prefix: Ipv6Prefix) -> bool {
    let address = |part: &KeyPart| match part {
        KeyPart::ClientIp(own) => Some(own.unwrap_or(prefix)),
        _ => None,
    };
    let alike = |(own, theirs): (&KeyPart, &KeyPart)| match own {
        KeyPart::ClientIp(_) => address(own) == address(theirs),
        KeyPart::Path => own == theirs && one.matches.match_case == other.matches.match_case,
        KeyPart::Route => own == theirs && same_paths(&one.matches, &other.matches),
        _ => own == theirs,
    };
    one.key.len() == other.key.len() && one.key.iter().zip(&other.key).all(alike)
}

fn same_paths(one: &Match, other: &Match) -> bool {
    one.match_case == other.match_case && one.paths == other.paths
}

/// Whether units of a rule are taken ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leased {
    /// Never: why not, to be read after the rule's name.
    Never(String),
    /// So many at once, but not for its own requests, and why not: a caller who names the rule, an
    /// override or an operator's word may still bring it about.
    Aside { units: u64, why: String },
    /// So many at once by a process; of no request that one of these other rules charges too.
    Ahead { units: u64, but: Vec<String> },
}

/// What a store with leases does with one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    lease: Lease,
    pub(crate) leased: Leased,
}

impl Ahead {
    /// For each rule; `None` where nothing is counted, or the store has no leases.
    pub(crate) fn of(rules: &[Rule], store: &Store) -> Vec<Option<Self>> {
        let Some(lease) = store.lease() else {
            return rules.iter().map(|_| None).collect();
        };
        let with = |leased| Self { lease, leased };
        let all = leased(rules, lease).into_iter();
        all.map(|leased| leased.map(with)).collect()
    }

    /// The lease, if it is one of this rule too.
    pub(crate) fn lease(&self) -> Option<Lease> {
        let leases = matches!(self.leased, Leased::Ahead { .. } | Leased::Aside { .. });
        leases.then_some(self.lease)
    }
}

/// Whether units of each rule are taken ahead; `None` of rules that count nothing.
fn leased(rules: &[Rule], lease: Lease) -> Vec<Option<Leased>> {
    let never: Vec<&Rule> = rules
        .iter()
        .filter(|rule| never_leased(rule, lease).is_some() || keeps_requests(rule, lease).is_some())
        .collect();
    let of = |rule: &Rule| {
        let Allowance::Quota(terms) = &rule.allowance else {
            return None;
        };
        let units = lease.units_under(terms);
        if let Some(why) = never_leased(rule, lease) {
            return Some(Leased::Never(why));
        }
        if let Some(why) = keeps_requests(rule, lease) {
            let why = why.to_owned();
            return Some(Leased::Aside { units, why });
        }
        let beside = never.iter().filter(|other| charged_together(rule, other));
        let beside: Vec<&Rule> = beside.copied().collect();
        let always = |other: &&&Rule| always_charged(other, rule, rules);
        if let Some(other) = beside.iter().find(always) {
            let why = format!("{:?} applies too, and never is", other.name);
            return Some(Leased::Aside { units, why });
        }
        Some(Leased::Ahead {
            units,
            but: beside.iter().map(|other| other.name.clone()).collect(),
        })
    };
    rules.iter().map(of).collect()
}

/// Whether a rule charges every request that `rule` charges, as far as their words tell.
fn always_charged(other: &Rule, rule: &Rule, rules: &[Rule]) -> bool {
    let replaced = rules.iter().any(|third| replaces(third, other));
    let skipped =
        other.missing == Missing::Skip && !matches!(other.key.as_slice(), [KeyPart::Global]);
    other.matches.covers(&rule.matches) && !skipped && !replaced
}

/// Why nothing of a rule is ever taken ahead; `None` if something may be, or it counts nothing.
fn never_leased(rule: &Rule, lease: Lease) -> Option<String> {
    let Allowance::Quota(terms) = &rule.allowance else {
        return None;
    };
    let why = match terms {
        Terms::Concurrency { .. } => "it counts requests in flight",
        _ if rule.on_deny == OnDeny::Charge => "its denials are charged",
        Terms::FixedWindow { window, .. } if *window <= Lease::BRIEF => "its window is too short",
        _ if most_leased(rule, lease) == 0 => {
            return Some(format!("its limit is below {}", Lease::LEAST_LIMIT));
        }
        _ => return None,
    };
    Some(why.to_owned())
}

/// Why its requests are never paid from what is taken ahead, if that is so.
fn keeps_requests(rule: &Rule, lease: Lease) -> Option<&'static str> {
    let why = match &rule.cost {
        CostSpec::Response { .. } => "its cost is known afterwards",
        _ if rule.count.is_some() => "it waits for the answer",
        _ if !rule.mode.has_vote() => "it has no vote",
        _ if rule.trial.is_some() => "it has a trial",
        CostSpec::Fixed(cost) if *cost > most_leased(rule, lease) => {
            "a request costs more than is taken ahead"
        }
        _ => return None,
    };
    Some(why)
}

/// Units of a key that a process takes ahead at most, under any plan.
fn most_leased(rule: &Rule, lease: Lease) -> u64 {
    let plans = rule.plan.iter().flat_map(|plans| &plans.named);
    let all = plans
        .map(|(_, allowance)| allowance)
        .chain([&rule.allowance]);
    let units = |allowance: &Allowance| match allowance {
        Allowance::Quota(terms) => lease.units_under(terms),
        Allowance::Unlimited | Allowance::Deny => 0,
    };
    all.map(units).max().unwrap_or(0)
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{NoReferences, Policy, Source};

    #[allow(clippy::unwrap_used)]
    fn rules(text: &str) -> Vec<Rule> {
        let loaded = Policy::load(&Source::new("t", text), &NoReferences);
        let policy = loaded.unwrap().policy;
        policy
            .rules()
            .iter()
            .map(|rule| rule.rule().clone())
            .collect()
    }

    fn rule(name: &str, settings: &str) -> String {
        let quota = "algorithm = \"sliding-log\"\nlimit = 100\nwindow = \"1min\"\n";
        let quota = if settings.contains("algorithm") {
            ""
        } else {
            quota
        };
        let key = if settings.contains("key =") {
            ""
        } else {
            "key = \"client-ip\"\n"
        };
        format!("[[rule]]\nname = \"{name}\"\n{key}{quota}{settings}\n")
    }

    #[allow(clippy::unwrap_used)]
    fn pair(one: &str, other: &str) -> [Rule; 2] {
        let rules = rules(&format!("{}{}", rule("one", one), rule("other", other)));
        rules.try_into().unwrap()
    }

    const LEASE: Lease = Lease {
        units: 20,
        keep_for: Duration::from_secs(1),
    };

    #[test]
    fn rules_are_charged_together_unless_one_replaces_the_other_or_no_request_meets_both() {
        for (one, other, together) in [
            ("", "", true),
            ("", "match = { path = \"/x\" }", true),
            (
                "match = { path = \"/y\" }",
                "match = { path = \"/x\" }",
                false,
            ),
            ("", "replaces = [\"one\"]", false),
            ("replaces = [\"other\"]", "", false),
            ("", "replaces = [\"one\"]\nmode = \"shadow\"", true),
            (
                "mode = \"shadow\"",
                "replaces = [\"one\"]\nmode = \"shadow\"",
                false,
            ),
        ] {
            let [one, other] = pair(one, other);
            assert_eq!(
                charged_together(&one, &other),
                together,
                "{one:?} {other:?}"
            );
            assert_eq!(charged_together(&other, &one), together);
        }
        let word = rules("[[rule]]\nname = \"w\"\nlimit = \"unlimited\"\n");
        let [one, _] = pair("", "");
        assert!(!charged_together(&one, &word[0]));
    }

    #[test]
    fn the_same_parts_read_alike_are_the_same_key() {
        let path = "match = { path = \"/a/{x..}\" }";
        for (one, other, same) in [
            ("", "", true),
            ("key = \"client-ip\"", "key = \"client-ip/64\"", true),
            ("key = \"client-ip\"", "key = \"client-ip/56\"", false),
            ("key = \"client-ip\"", "key = \"global\"", false),
            (
                "key = \"client-ip\"",
                "key = [\"client-ip\", \"host\"]",
                false,
            ),
            (
                "key = [\"host\", \"client-ip\"]",
                "key = [\"client-ip\", \"host\"]",
                false,
            ),
            ("key = \"header:a\"", "key = \"header:a\"", true),
            ("key = \"header:a\"", "key = \"header:b\"", false),
            ("key = \"path\"", "key = \"path\"", true),
            (
                "key = \"path\"",
                "key = \"path\"\nmatch = { path = \"/{x..}\", match_case = true }",
                false,
            ),
            (
                &format!("key = \"route\"\n{path}"),
                &format!("key = \"route\"\n{path}"),
                true,
            ),
            (
                &format!("key = \"route\"\n{path}"),
                "key = \"route\"\nmatch = { path = \"/a/b\" }",
                false,
            ),
        ] {
            let [one, other] = pair(one, other);
            let found = same_key(&one, &other, Ipv6Prefix::default());
            assert_eq!(found, same, "{:?} {:?}", one.key, other.key);
        }
    }

    #[test]
    fn what_is_settled_later_or_has_no_vote_pays_nothing_from_leases() {
        for (settings, why) in [
            ("count = { status = 401 }", "waits for the answer"),
            (
                "cost = { response = \"header:x\", estimate = 1 }",
                "known afterwards",
            ),
            ("on_deny = \"charge\"", "denials are charged"),
            ("mode = \"shadow\"", "no vote"),
            ("mode = \"mark\"", "no vote"),
            ("trial = { limit = 50 }", "a trial"),
            ("cost = 21", "costs more"),
            (
                "algorithm = \"sliding-log\"\nlimit = 7\nwindow = \"1s\"",
                "below 8",
            ),
            (
                "algorithm = \"fixed-window\"\nlimit = 100\nwindow = \"100ms\"",
                "too short",
            ),
            (
                "algorithm = \"concurrency\"\nlimit = 100\nlease = \"30s\"",
                "in flight",
            ),
        ] {
            let rules = rules(&rule("r", settings));
            let found = leased(&rules, LEASE);
            // What a plan, an override or a caller who names it can bring about is never out of reach.
            let is_final = ["denials", "below", "short", "flight"]
                .iter()
                .any(|word| why.contains(word));
            let told = |found: &Leased| match found {
                Leased::Never(text) => is_final && text.contains(why),
                Leased::Aside { why: text, .. } => !is_final && text.contains(why),
                Leased::Ahead { .. } => false,
            };
            assert!(found[0].as_ref().is_some_and(told), "{settings}: {found:?}");
        }
        let plan = "plan = \"header:p\"\nplans = { pro = { limit = 50 } }\n";
        let small = format!("algorithm = \"sliding-log\"\nlimit = 5\nwindow = \"1s\"\n{plan}");
        let found = leased(&rules(&rule("r", &small)), LEASE);
        let (units, but) = (0, Vec::new());
        assert_eq!(
            found,
            [Some(Leased::Ahead { units, but })],
            "a plan of it is"
        );
    }

    #[test]
    fn a_rule_is_not_taken_ahead_where_it_meets_one_that_never_is() {
        let login = "match = { path = \"/login\" }\ncount = { status = 401 }";
        let text = [
            rule("everyone", ""),
            rule("login", login),
            rule("reports", "match = { path = \"/reports\" }"),
            "[[rule]]\nname = \"free\"\nmatch = { path = \"/free\" }\nlimit = \"unlimited\"\n"
                .to_owned(),
        ];
        let found = leased(&rules(&text.concat()), LEASE);
        let aside = |why: &str| {
            let (units, why) = (20, why.to_owned());
            Some(Leased::Aside { units, why })
        };
        let but = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            found,
            [
                Some(Leased::Ahead {
                    units: 20,
                    but: but(&["login"])
                }),
                aside("it waits for the answer"),
                Some(Leased::Ahead {
                    units: 20,
                    but: but(&[])
                }),
                None,
            ]
        );
        let everywhere = rule("shadowed", "mode = \"shadow\"");
        let found = leased(
            &rules(&(rule("narrow", "match = { path = \"/x\" }") + &everywhere)),
            LEASE,
        );
        assert_eq!(found[0], aside("\"shadowed\" applies too, and never is"));
        let lifted = "match = { with = \"header:x\" }\nreplaces = [\"shadowed\"]";
        let text = [
            rule("narrow", ""),
            rule("lifts", lifted),
            everywhere.clone(),
        ];
        let found = leased(&rules(&text.concat()), LEASE);
        assert_eq!(
            found[0],
            Some(Leased::Ahead {
                units: 20,
                but: but(&["shadowed"])
            })
        );
        let skipped = rule(
            "skipped",
            "key = \"header:x\"\nmissing = \"skip\"\nmode = \"shadow\"",
        );
        let found = leased(&rules(&(rule("narrow", "") + &skipped)), LEASE);
        assert_eq!(
            found[0],
            Some(Leased::Ahead {
                units: 20,
                but: but(&["skipped"])
            })
        );
    }
}
