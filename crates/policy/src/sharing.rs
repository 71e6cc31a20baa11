//! What rules of one policy have to do with each other on a store that is shared: which of them are
//! charged together, at how many places, and whether units of them can be taken ahead.

mod leases;

use jeton_wire::client_ip::Ipv6Prefix;

use crate::key::KeyPart;
use crate::matching::Match;
use crate::rule::{Allowance, Rule};
pub(crate) use leases::{Ahead, Leased};

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

#[cfg(all(test, feature = "toml"))]
mod tests {
    use std::time::Duration;

    use super::leases::leased;
    use super::*;
    use crate::settings::Lease;
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
