//! Where counters live, in words, and what that brings with it.

use std::time::Duration;

use jeton_core::Span;
use serde::Serialize;

use super::{disk, leases, outage};
use crate::compiled::{CompiledRule, Policy};
use crate::rule::{OnFailure, Rule};
use crate::settings::{Deployment, Overflow, Redis, Store, StoreKind};
use crate::sharing::{charged_together, same_key};
use crate::units::{grouped, in_words};

/// The store of a policy in words: what an outage, a failover, leases and slots let through, or hold
/// up. A text is empty where there is nothing to say.
///
/// ```
/// use jeton_policy::{NoReferences, Policy, Source, StoreWords};
/// let text = "[store]\nkind = \"redis\"\nurl = \"redis-cluster://me:hunter2@a,b\"\n";
/// let policy = Policy::load(&Source::new("jeton.toml", text), &NoReferences)?.policy;
/// let words = StoreWords::of(&policy);
/// assert_eq!(words.meaning, "Redis cluster at a, b");
/// assert!(words.outage.starts_with("all pass, unbounded"));
/// # Ok::<(), jeton_policy::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreWords {
    /// `memory`, `disk` or `redis`.
    pub kind: &'static str,
    /// What and where it is: `memory store, at most 1 000 000 keys`, `disk store in jeton-data, synced
    /// within 1 s, at most 1 000 000 keys`, `Redis at cache:6379`.
    pub meaning: String,
    /// What becomes of requests while it gives no decision.
    pub outage: String,
    /// What bounds the limits of each process while the store is away.
    pub local: String,
    /// What a server, or a crash, may forget.
    pub loss: String,
    /// On a disk: who waits for it, and for how long.
    pub waiting: String,
    /// How late a denial may be noticed to hold no more.
    pub deny_cache: String,
    /// What is taken ahead of it.
    pub lease: String,
    /// On a cluster: what it means that not all rules of a request are decided in one step.
    pub across_slots: &'static str,
    /// Rules that are not, each pair once.
    pub apart: Vec<Apart>,
}

/// A rule, and those after it that may charge the same request in another slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Apart {
    /// Its name.
    pub rule: String,
    /// The names of the others, in the order of the file.
    pub from: Vec<String>,
}

impl StoreWords {
    /// The words for the store of a policy.
    pub fn of(policy: &Policy) -> Self {
        let store = &policy.settings().store;
        let redis = store.redis();
        let slots = redis.is_some_and(|redis| redis.deployment() == Deployment::Cluster);
        let apart = slots.then(|| apart(policy));
        let text = |of: fn(&Redis) -> String| redis.map(of).unwrap_or_default();
        let local = match &store.kind {
            StoreKind::Memory => None,
            StoreKind::Disk(_) | StoreKind::Redis(_) => local(policy),
        };
        Self {
            kind: kind(store),
            meaning: meaning(store),
            outage: outage::of_store(store).unwrap_or_default(),
            local: local.unwrap_or_default(),
            loss: store.disk().map_or_else(|| text(loss), disk::loss),
            waiting: store
                .disk()
                .map(|on| disk::waiting(on, store))
                .unwrap_or_default(),
            deny_cache: text(deny_cache),
            lease: store.lease().map(leases::of_store).unwrap_or_default(),
            across_slots: match &apart {
                None => "",
                Some(apart) if apart.is_empty() => ONE_SLOT,
                Some(_) => ACROSS_SLOTS,
            },
            apart: apart.unwrap_or_default(),
        }
    }

    /// Each text with what it is about, as the table has them.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let apart = self.apart.iter();
        let apart: Vec<String> = apart
            .map(|Apart { rule, from }| format!("{rule} with {}", from.join(", ")))
            .collect();
        let across = match apart.as_slice() {
            [] => self.across_slots.to_owned(),
            apart => format!("{}: {}", apart.join("; "), self.across_slots),
        };
        let (away, forgets) = match self.kind {
            "disk" => ("while the disk fails", "what a crash may forget"),
            _ => ("while the store is away", "what it may forget"),
        };
        let all = [
            (away, self.outage.clone()),
            ("local limits", self.local.clone()),
            (forgets, self.loss.clone()),
            ("waiting", self.waiting.clone()),
            ("denials", self.deny_cache.clone()),
            ("leases", self.lease.clone()),
            ("across slots", across),
        ];
        let said = all.into_iter().filter(|(_, text)| !text.is_empty());
        said.collect()
    }
}

const ONE_SLOT: &str = "none; all rules of a request are decided in one step";
const ACROSS_SLOTS: &str = "charged one after the other, and given back if a later one denies; a \
                            concurrent request may be refused meanwhile, a crash leaves a charge, \
                            nothing is ever admitted beyond a limit";

const fn kind(store: &Store) -> &'static str {
    match &store.kind {
        StoreKind::Memory => "memory",
        StoreKind::Disk(_) => "disk",
        StoreKind::Redis(_) => "redis",
    }
}

fn meaning(store: &Store) -> String {
    let redis = match &store.kind {
        StoreKind::Redis(redis) => redis,
        StoreKind::Disk(on) => return disk::meaning(on, store),
        StoreKind::Memory => {
            return format!("memory store, at most {} keys", grouped(store.max_keys));
        }
    };
    let place = redis.place();
    match redis.deployment() {
        Deployment::One => format!("Redis at {place}"),
        Deployment::Sentinel => format!("Redis behind sentinels at {place}"),
        Deployment::Cluster => format!("Redis cluster at {place}"),
    }
}

/// The bounds of the memory that local limits stand in, if there are such.
fn local(policy: &Policy) -> Option<String> {
    let store = &policy.settings().store;
    let is_local = |on_failure| matches!(on_failure, OnFailure::Local(_));
    let mut rules = policy.rules().iter().map(CompiledRule::on_failure);
    if !rules.any(is_local) && !is_local(store.on_failure) {
        return None;
    }
    let beyond = match store.overflow {
        Overflow::Share => "share a coarse estimate",
        Overflow::Deny => "are denied",
        Overflow::Allow => "pass",
    };
    let size = match store.max_memory {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", grouped(bytes >> 20)),
        bytes => format!("{} KiB", grouped(bytes >> 10)),
    };
    Some(format!(
        "at most {} keys in {size} of each process; new ones beyond that {beyond}",
        grouped(store.max_keys)
    ))
}

fn loss(redis: &Redis) -> String {
    let text = match redis.deployment() {
        Deployment::One => {
            "what it had not saved when it restarts: of each key, as much may pass again as was \
             charged since, at most a whole limit"
        }
        Deployment::Sentinel | Deployment::Cluster => {
            "what a new primary had not yet been sent, for replication is asynchronous: of each \
             key, as much may pass again as was charged within the lag, of a bucket lag x rate"
        }
    };
    text.to_owned()
}

fn deny_cache(redis: &Redis) -> String {
    let Some(longest) = redis.deny_cache else {
        return String::new();
    };
    format!(
        "answered again without asking until the wait told is over, {} at most: a reset, a refund or \
         a raised limit elsewhere is noticed that much later",
        in_words(span(longest))
    )
}

/// A time of the settings, all of which have bounds.
pub(super) fn span(duration: Duration) -> Span {
    let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    Span::from_micros(us).unwrap_or(Span::LONGEST)
}

/// Rules that may charge one request under different keys, which live in different slots.
fn apart(policy: &Policy) -> Vec<Apart> {
    let prefix = policy.settings().client_ip.ipv6_prefix;
    let rules: Vec<&Rule> = policy.rules().iter().map(CompiledRule::rule).collect();
    let of = |(at, rule): (usize, &&Rule)| {
        let later = rules.iter().skip(at + 1);
        let apart =
            |other: &&&Rule| charged_together(rule, other) && !same_key(rule, other, prefix);
        let from: Vec<String> = later
            .filter(apart)
            .map(|other| other.name.clone())
            .collect();
        let rule = rule.name.clone();
        (!from.is_empty()).then_some(Apart { rule, from })
    };
    rules.iter().enumerate().filter_map(of).collect()
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::*;
    use crate::raw::NoReferences;
    use crate::{PolicyTable, Source};

    #[allow(clippy::unwrap_used)]
    fn policy(store: &str, rules: &str) -> Policy {
        let text = format!("[store]\n{store}\n{rules}");
        let loaded = Policy::load(&Source::new("t", text), &NoReferences);
        loaded.unwrap().policy
    }

    fn words(store: &str, rules: &str) -> StoreWords {
        StoreWords::of(&policy(&format!("kind = \"redis\"\nurl = {store}"), rules))
    }

    fn rule(name: &str, key: &str, settings: &str) -> String {
        format!(
            "[[rule]]\nname = \"{name}\"\nkey = {key}\nalgorithm = \"gcra\"\nrate = \"20/s\"\n\
             burst = 100\n{settings}\n"
        )
    }

    const ONE: &str = "\"redis://:hunter2@h:1\"";
    const CLUSTER: &str = "\"redis-cluster://:hunter2@a,b\"";

    #[test]
    fn a_store_in_memory_needs_few_words() {
        let words = StoreWords::of(&policy("max_keys = 1000", ""));
        assert_eq!(
            (words.kind, &words.meaning[..]),
            ("memory", "memory store, at most 1 000 keys")
        );
        assert_eq!(words.lines(), []);
    }

    #[test]
    fn a_server_is_named_by_its_place_and_never_by_its_password() {
        for (url, meaning) in [
            (ONE, "Redis at h:1"),
            (CLUSTER, "Redis cluster at a, b"),
            (
                "\"redis-sentinel://:hunter2@a,b:7/main\"",
                "Redis behind sentinels at a, b:7",
            ),
            (
                "\"unix:///run/r.sock?pass=hunter2\"",
                "Redis at /run/r.sock",
            ),
        ] {
            let words = words(url, "");
            assert_eq!((words.kind, &words.meaning[..]), ("redis", meaning));
            assert!(!format!("{words:?}").contains("hunter2"));
        }
    }

    #[test]
    fn an_outage_of_a_server_is_told_whatever_the_rule() {
        let said =
            |on_failure: &str| words(&format!("{ONE}\non_failure = {on_failure}"), "").outage;
        assert_eq!(
            said("\"allow\""),
            "all pass, unbounded, unless the rule says otherwise"
        );
        assert_eq!(said("\"deny\""), "503, unless the rule says otherwise");
        assert!(said("{ local = 0.5 }").contains("n processes n times that"));
        assert_eq!(words(ONE, "").outage, said("\"allow\""));
    }

    #[test]
    fn the_bounds_of_the_process_are_told_where_it_has_limits_of_its_own() {
        let store = format!("{ONE}\nmax_keys = 1000\nmax_memory = \"1MiB\"\noverflow = \"deny\"");
        assert_eq!(words(&store, "").local, "");
        let bounds = "at most 1 000 keys in 1 MiB of each process; new ones beyond that are denied";
        let by_store = format!("{store}\non_failure = {{ local = 0.5 }}");
        assert_eq!(words(&by_store, "").local, bounds);
        let by_rule = rule("r", "\"client-ip\"", "on_failure = { local = 0.5 }");
        assert_eq!(words(&store, &by_rule).local, bounds);
    }

    #[test]
    fn what_a_server_may_forget_depends_on_who_takes_over() {
        assert!(words(ONE, "").loss.contains("restarts"));
        assert!(words(CLUSTER, "").loss.contains("lag x rate"));
    }

    #[test]
    fn memory_of_denials_tells_how_late_it_may_be() {
        assert_eq!(words(ONE, "").deny_cache, "");
        let said = words(&format!("{ONE}\ndeny_cache = \"1500ms\""), "").deny_cache;
        assert!(
            said.contains("1500 ms at most: a reset, a refund or a raised limit"),
            "{said}"
        );
    }

    #[test]
    fn rules_of_different_keys_are_apart_on_a_cluster_only() {
        let rules = [
            rule("everyone", "\"client-ip\"", ""),
            rule("user", "\"header:x\"", ""),
            rule("login", "\"client-ip/64\"", "match = { path = \"/login\" }"),
            rule("reports", "\"global\"", "match = { path = \"/reports\" }"),
        ]
        .concat();
        let told = |words: &StoreWords| -> Vec<String> {
            let apart = words.apart.iter();
            apart
                .map(|Apart { rule, from }| format!("{rule}: {}", from.join(" ")))
                .collect()
        };
        let cluster = words(CLUSTER, &rules);
        assert_eq!(
            told(&cluster),
            ["everyone: user reports", "user: login reports"]
        );
        assert!(cluster.across_slots.contains("a crash leaves a charge"));
        let one = words(ONE, &rules);
        assert_eq!((&told(&one)[..], one.across_slots), (&[][..], ""));
        let same = [
            rule("a", "\"client-ip\"", ""),
            rule("b", "\"client-ip\"", ""),
        ]
        .concat();
        let same = words(CLUSTER, &same);
        assert_eq!((&told(&same)[..], same.across_slots), (&[][..], ONE_SLOT));
    }

    #[test]
    fn the_table_says_all_of_it_in_lines_that_a_terminal_shows() {
        let rules = rule("everyone", "\"client-ip\"", "") + &rule("user", "\"header:x\"", "");
        let store = "on_failure = { local = 0.5 }\ndeny_cache = \"1s\"\nlease = 20";
        let policy = policy(
            &format!("kind = \"redis\"\nurl = {CLUSTER}\n{store}"),
            &rules,
        );
        let table = PolicyTable::new("t", &policy).to_string();
        assert!(
            table.starts_with("t: 2 rules, Redis cluster at a, b\n  while the store is away: "),
            "{table}"
        );
        for about in [
            "local limits",
            "what it may forget",
            "denials",
            "leases",
            "across slots",
        ] {
            assert!(table.contains(&format!("\n  {about}: ")), "{about} {table}");
        }
        assert!(
            table.contains("across slots: everyone with user: charged one after"),
            "{table}"
        );
        assert!(
            table.lines().all(|line| line.chars().count() <= 100),
            "{table}"
        );
        let json = serde_json::to_value(StoreWords::of(&policy)).unwrap();
        assert_eq!(json["apart"][0]["from"][0], "user");
    }
}
