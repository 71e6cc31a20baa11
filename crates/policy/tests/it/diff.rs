//! What a reload changes, keeps and refuses.

use jeton_policy::{Change, Changes, Policy};
use proptest::prelude::*;

use crate::common::{SECRET, load};

const GCRA: &str = "algorithm = \"gcra\"\nrate = \"5/s\"\nburst = 20\n";
const LOG: &str = "algorithm = \"sliding-log\"\nlimit = 5\nwindow = \"1m\"\n";
const FIXED: &str = "algorithm = \"fixed-window\"\nlimit = 5\nwindow = \"1m\"\n";

fn rule(name: &str, more: &str) -> String {
    let key = if more.contains("\nkey = ") {
        ""
    } else {
        "key = \"client-ip\"\n"
    };
    format!("[[rule]]\nname = \"{name}\"\n{key}{more}\n")
}

fn changes(new: &str, old: &str) -> Changes {
    load(new).diff(&load(old))
}

/// What becomes of one rule, in words.
fn said(new: &str, old: &str) -> String {
    changes(&rule("r", new), &rule("r", old)).to_string()
}

#[test]
fn the_same_policy_changes_nothing() {
    let text = rule("a", GCRA) + &rule("b", LOG);
    let changes = changes(&text, &text);
    assert!(changes.is_empty());
    assert_eq!(changes.to_string(), "rule a: kept\nrule b: kept\n");
}

#[test]
fn another_quota_keeps_the_counters() {
    for (new, old, told) in [
        (
            "rate = \"5/s\"\nburst = 30",
            "rate = \"5/s\"\nburst = 20",
            "burst 20 -> 30",
        ),
        (
            "rate = \"6/s\"\nburst = 20",
            "rate = \"5/s\"\nburst = 20",
            "rate 5/s -> 6/s",
        ),
    ] {
        let algorithm = "algorithm = \"gcra\"\n";
        let said = said(&format!("{algorithm}{new}"), &format!("{algorithm}{old}"));
        assert_eq!(said, format!("rule r: changed, counters kept: {told}\n"));
    }
    let longer = LOG.replace("1m", "90s").replace("= 5", "= 9");
    assert_eq!(
        said(&longer, LOG),
        "rule r: changed, counters kept: limit 5 -> 9, window 1min -> 90s\n"
    );
    let twin = GCRA.replace("gcra", "token-bucket");
    assert_eq!(
        said(&twin, GCRA),
        "rule r: changed, counters kept: algorithm gcra -> token-bucket\n"
    );
}

#[test]
fn settings_beside_the_quota_keep_the_counters() {
    for (more, told) in [
        ("mode = \"shadow\"", "mode enforce -> shadow"),
        ("missing = \"deny\"", "missing share -> deny"),
        ("secret_key = true", "secret_key false -> true"),
        (
            "plan = \"header:x-plan\"\nplans = { pro = { rate = \"50/s\", burst = 200 }, staff = \"unlimited\" }",
            "plan none -> header:x-plan, plans.pro none -> rate 50/s, burst 200, plans.staff none \
             -> limit unlimited",
        ),
        ("trial = { burst = 10 }", "trial none -> rate 5/s, burst 10"),
        (
            "count = { status = [401, \"5xx\"] }",
            "count none -> 401, 500-599",
        ),
        ("cost = 3", "cost 1 -> 3"),
        ("cost = \"header:x-cost\"", "cost 1 -> header:x-cost"),
        (
            "cost = { response = \"trailer:x-units\", estimate = 5 }",
            "cost 1 -> trailer:x-units of the answer, estimate 5",
        ),
        ("on_deny = \"charge\"", "on_deny keep -> charge"),
        ("on_failure = \"deny\"", "on_failure none -> deny"),
        (
            "on_failure = { local = 0.50 }",
            "on_failure none -> { local = 0.5 }",
        ),
        (
            "match = { path = [\"/a\", \"/b/{x}\"] }",
            "match.path none -> /a, /b/{x}",
        ),
        (
            "match = { method = \"POST\", host = \"api.example\" }",
            "match.method none -> POST, match.host none -> api.example",
        ),
        (
            "match = { with = \"cookie:sid\", without = \"header:x-a\" }",
            "match.with none -> cookie:sid, match.without none -> header:x-a",
        ),
    ] {
        let new = said(&format!("{GCRA}{more}"), GCRA);
        assert_eq!(new, format!("rule r: changed, counters kept: {told}\n"));
        let old = said(GCRA, &format!("{GCRA}{more}"));
        assert!(old.starts_with("rule r: changed, counters kept: "), "{old}");
    }
}

#[test]
fn another_algorithm_anchor_or_key_starts_new_counters() {
    for (new, old, why) in [
        (
            LOG.to_owned(),
            FIXED.to_owned(),
            "algorithm fixed-window -> sliding-log",
        ),
        (
            format!("{FIXED}anchor = \"first-request\""),
            FIXED.to_owned(),
            "anchor epoch -> first-request",
        ),
        (
            format!("{GCRA}key = \"header:x-user\""),
            GCRA.to_owned(),
            "key client-ip -> header:x-user",
        ),
        (
            format!("{GCRA}key = [\"client-ip\", \"path\"]"),
            format!("{GCRA}key = [\"path\", \"client-ip\"]"),
            "key path, client-ip -> client-ip, path",
        ),
        (
            format!("{GCRA}key = \"path\"\nmatch = {{ match_case = true }}"),
            format!("{GCRA}key = \"path\""),
            "match.match_case false -> true",
        ),
    ] {
        let said = said(&new, &old);
        let told = format!("rule r: new counters, because of {why}");
        assert!(said.starts_with(&told), "{said}");
    }
}

#[test]
fn what_else_differs_is_told_beside() {
    let new = format!("{GCRA}mode = \"shadow\"\nkey = \"global\"");
    assert_eq!(
        said(&new, GCRA),
        "rule r: new counters, because of key client-ip -> global, [client_ip] ipv6_prefix 64 -> \
         none; also mode enforce -> shadow\n"
    );
}

#[test]
fn another_prefix_of_addresses_starts_new_counters_where_it_counts() {
    let prefix = "client_ip = { ipv6_prefix = 56 }\n";
    let rules = rule("by-address", GCRA)
        + &rule("own-prefix", &format!("{GCRA}key = \"client-ip/60\""))
        + &rule("by-user", &format!("{GCRA}key = \"header:x-user\""));
    let changes = changes(&format!("{prefix}{rules}"), &rules);
    assert_eq!(
        changes.to_string(),
        "rule by-address: new counters, because of [client_ip] ipv6_prefix 64 -> 56\n\
         rule own-prefix: kept\nrule by-user: kept\n[client_ip]: changed\n"
    );
    assert!(changes.refused().is_empty());
    // The prefix that is in force anyway may as well be written.
    let written = said(&format!("{GCRA}key = \"client-ip/64\""), GCRA);
    assert!(
        written.starts_with("rule r: changed, counters kept: key"),
        "{written}"
    );
}

#[test]
fn words_and_quotas_take_turns() {
    let word = "limit = \"unlimited\"";
    let back = said(GCRA, word);
    assert!(
        back.starts_with("rule r: changed, counters kept: "),
        "{back}"
    );
    assert!(back.contains("limit unlimited -> none"), "{back}");
    assert!(said("limit = \"deny\"", word).ends_with("limit unlimited -> deny\n"));
}

#[test]
fn rules_are_told_apart_by_name_whatever_their_order() {
    let old = rule("a", GCRA) + &rule("b", LOG) + &rule("c", LOG);
    let new = rule("c", LOG) + &rule("new", GCRA) + &rule("a", GCRA);
    let changes = changes(&new, &old);
    let all = changes.rules.iter();
    let all: Vec<_> = all
        .map(|rule| (&rule.rule[..], rule.change.word()))
        .collect();
    let told = [
        ("c", "kept"),
        ("new", "added"),
        ("a", "kept"),
        ("b", "removed"),
    ];
    assert_eq!(all, told);
    assert!(!changes.is_empty());
}

#[test]
fn no_secret_is_told() {
    let with = |value: &str| {
        rule(
            "r",
            &format!("{GCRA}match = {{ header = {{ x-key = {value} }} }}"),
        )
    };
    let env = "{ env = \"SECRET\" }";
    for (new, old) in [
        (env, "\"open\""),
        ("\"open\"", env),
        ("\"one\"", "\"open\""),
    ] {
        let changes = changes(&with(new), &with(old));
        assert_eq!(
            changes.to_string(),
            "rule r: changed, counters kept: match.header.x-key (another value)\n"
        );
        let debug = format!("{changes:?}");
        assert!(
            !debug.contains(SECRET) && !debug.contains("open"),
            "{debug}"
        );
    }
    let host = |value: &str| rule("r", &format!("{GCRA}match = {{ host = {value} }}"));
    let said = changes(&host(env), &host("\"api.example\"")).to_string();
    assert!(
        said.contains("match.host api.example -> (from env SECRET)"),
        "{said}"
    );
}

/// A file with all that needs a restart.
const SERVER: &str = r#"
[proxy]
listen = "127.0.0.1:8080"
upstream = "http://127.0.0.1:3000"
header_timeout = "10s"
idle_timeout = "60s"
connect_timeout = "5s"
response_timeout = "60s"
max_connections = 100
max_in_flight = 200
[api]
listen = "127.0.0.1:7070"
max_connections = 300
max_in_flight = 400
token = "token-of-sixteen-bytes"
admin_token = "admin-of-sixteen-bytes"
gateways = ["10.0.0.0/8"]
[store]
max_keys = 1000
max_memory = "64MiB"
overflow = "share"
timeout = "30ms"
on_failure = "allow"
"#;

#[test]
fn what_needs_a_restart_is_refused_by_name() {
    for (from, to, names) in [
        ("127.0.0.1:8080", "127.0.0.1:8081", &["[proxy] listen"][..]),
        ("127.0.0.1:3000", "127.0.0.1:3001", &["[proxy] upstream"]),
        ("\"10s\"", "\"11s\"", &["[proxy] header_timeout"]),
        (
            "idle_timeout = \"60s\"",
            "idle_timeout = \"61s\"",
            &["[proxy] idle_timeout"],
        ),
        ("\"5s\"", "\"6s\"", &["[proxy] connect_timeout"]),
        (
            "response_timeout = \"60s\"",
            "response_timeout = \"61s\"",
            &["[proxy] response_timeout"],
        ),
        (
            "max_connections = 100",
            "max_connections = 101",
            &["[proxy] max_connections"],
        ),
        ("= 200", "= 201", &["[proxy] max_in_flight"]),
        ("= 300", "= 301", &["[api] max_connections"]),
        ("= 400", "= 401", &["[api] max_in_flight"]),
        ("127.0.0.1:7070", "127.0.0.1:7071", &["[api] listen"]),
        ("1000", "1001", &["[store] max_keys"]),
        ("64MiB", "65MiB", &["[store] max_memory"]),
        ("\"share\"", "\"deny\"", &["[store] overflow"]),
        ("30ms", "31ms", &["[store] timeout"]),
        ("\"allow\"", "\"deny\"", &["[store] on_failure"]),
        ("\"allow\"", "{ local = 0.5 }", &["[store] on_failure"]),
        // The defaults written out are the defaults.
        ("header_timeout = \"10s\"\n", "", &[]),
    ] {
        let new = SERVER.replacen(from, to, 1);
        assert_ne!(new, SERVER, "{from}");
        let changes = changes(&new, SERVER);
        assert_eq!(changes.refused(), names, "{from} -> {to}");
        let line = names
            .iter()
            .map(|name| format!("{name}: changed, which needs a restart\n"));
        assert_eq!(changes.to_string(), line.collect::<String>());
        assert_eq!(changes.is_empty(), names.is_empty());
        assert!(!format!("{changes:?}").contains("of-sixteen-bytes"));
    }
}

/// A store on servers, with all its settings.
const REDIS: &str = r#"
[store]
kind = "redis"
url = "rediss-cluster://a,b"
tls_root = "root.pem"
prefix = "blue:"
key_secret = "key-of-sixteen-bytes"
deny_cache = "1s"
lease = 20
lease_for = "2s"
"#;

#[test]
fn every_setting_of_a_server_needs_a_restart_and_is_named() {
    for (from, to, names) in [
        ("//a,b", "//a,c", &["[store] url"][..]),
        ("root.pem", "other.pem", &["[store] tls_root"]),
        ("blue:", "green:", &["[store] prefix"]),
        ("key-of", "cat-of", &["[store] key_secret"]),
        (
            "key_secret = \"key-of-sixteen-bytes\"\n",
            "",
            &["[store] key_secret"],
        ),
        ("\"1s\"", "\"2s\"", &["[store] deny_cache"]),
        ("deny_cache = \"1s\"\n", "", &["[store] deny_cache"]),
        ("lease = 20", "lease = 21", &["[store] lease"]),
        ("\"2s\"", "\"3s\"", &["[store] lease_for"]),
        (
            "lease = 20\nlease_for = \"2s\"\n",
            "",
            &["[store] lease", "[store] lease_for"],
        ),
        // The default written out is the default.
        ("kind = ", "timeout = \"20ms\"\nkind = ", &[]),
    ] {
        let new = REDIS.replacen(from, to, 1);
        assert_ne!(new, REDIS, "{from}");
        let changes = changes(&new, REDIS);
        assert_eq!(changes.refused(), names, "{from} -> {to}");
        assert!(!format!("{changes:?} {changes}").contains("of-sixteen-bytes"));
    }
}

/// A store in a folder.
const DISK: &str = "[store]\nkind = \"disk\"\npath = \"a\"\nsync = \"1s\"\n";

#[test]
fn every_setting_of_a_disk_needs_a_restart_and_is_named() {
    for (from, to, names) in [
        ("\"a\"", "\"b\"", &["[store] path"][..]),
        ("path = \"a\"\n", "", &["[store] path"]),
        ("\"1s\"", "\"always\"", &["[store] sync"]),
        ("\"1s\"", "\"1001ms\"", &["[store] sync"]),
        ("sync = \"1s\"\n", "", &[]),
        (DISK, "", &["[store] kind"]),
    ] {
        let new = DISK.replacen(from, to, 1);
        assert_ne!(new, DISK, "{from}");
        assert_eq!(changes(&new, DISK).refused(), names, "{from} -> {to}");
    }
}

#[test]
fn another_kind_of_store_needs_a_restart() {
    for memory in ["", "[store]\nmax_keys = 1000000\n"] {
        assert_eq!(changes(memory, REDIS).refused(), ["[store] kind"]);
        assert_eq!(changes(REDIS, memory).refused(), ["[store] kind"]);
    }
}

#[test]
fn a_url_that_moves_elsewhere_as_it_is_changes_nothing() {
    let (here, there) = ("url = \"redis://h\"", "url = { env = \"PLAIN_URL\" }");
    let with = |url: &str| format!("[store]\nkind = \"redis\"\n{url}\n");
    assert!(changes(&with(there), &with(here)).is_empty());
}

#[test]
fn listeners_that_come_or_go_need_a_restart() {
    let (proxy, rest) = SERVER.split_once("[api]").unwrap();
    let (api, store) = rest.split_once("[store]").unwrap();
    let (api, store) = (format!("[api]{api}"), format!("[store]{store}"));
    for (new, name) in [
        (format!("{api}{store}"), "[proxy]"),
        (format!("{proxy}{store}"), "[api]"),
    ] {
        assert_eq!(changes(&new, SERVER).refused(), [name]);
        assert_eq!(changes(SERVER, &new).refused(), [name]);
    }
    assert!(
        changes(&SERVER.replace("10.0.0.0/8", "10.0.0.0/9"), SERVER)
            .refused()
            .is_empty()
    );
}

#[test]
fn tokens_that_are_rotated_hold_at_once_and_are_shown_nowhere() {
    for (from, to, name) in [
        ("token-of", "other-of", "[api] token"),
        ("admin-of", "other-of", "[api] admin_token"),
        ("token = \"token-of-sixteen-bytes\"\n", "", "[api] token"),
    ] {
        let changes = changes(&SERVER.replacen(from, to, 1), SERVER);
        assert!(changes.refused().is_empty(), "{from}");
        assert_eq!(changes.adopted, [name]);
        assert!(!format!("{changes:?}{changes}").contains("of-sixteen-bytes"));
    }
}

#[test]
fn a_value_that_moves_into_the_environment_is_the_same_value() {
    let proxy = |listen: &str| format!("[proxy]\nlisten = {listen}\nupstream = \"http://a:1\"\n");
    let env = proxy("{ env = \"LISTEN\" }");
    assert!(changes(&env, &proxy("\"127.0.0.1:8080\"")).is_empty());
    assert_eq!(
        changes(&env, &proxy("\"127.0.0.1:9\"")).refused(),
        ["[proxy] listen"]
    );
}

#[test]
fn lists_and_answers_are_taken_up_at_once() {
    for (section, name) in [
        (
            "api = { listen = \"127.0.0.1:1\", gateways = [\"10.0.0.0/8\"] }",
            "[api] gateways",
        ),
        ("lists = { block = [\"192.0.2.0/24\"] }", "[lists] block"),
        ("lists = { exempt = [\"192.0.2.0/24\"] }", "[lists] exempt"),
        ("answer = { headers = \"none\" }", "[answer] headers"),
        (
            "answer = { cors = { origins = [\"https://app.example\"] } }",
            "[answer] cors",
        ),
        (
            "client_ip = { header = \"x-real-ip\", hops = 1 }",
            "[client_ip]",
        ),
    ] {
        let before = if section.starts_with("api") {
            "api = { listen = \"127.0.0.1:1\" }"
        } else {
            ""
        };
        let changes = changes(section, before);
        assert_eq!(
            (&changes.adopted[..], changes.refused()),
            (&[name][..], &[][..])
        );
    }
}

fn any_rule() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(vec![
        GCRA.to_owned(),
        GCRA.replace("gcra", "token-bucket"),
        GCRA.replace("20", "21"),
        LOG.to_owned(),
        LOG.replace("log", "counter"),
        FIXED.to_owned(),
        format!("{FIXED}anchor = \"first-request\"\n"),
        "limit = \"unlimited\"\n".to_owned(),
        "limit = \"deny\"\n".to_owned(),
    ]);
    let keys = [
        "client-ip",
        "client-ip/64",
        "client-ip/56",
        "path",
        "header:x-user",
        "global",
    ];
    let key = prop::sample::subsequence(keys.to_vec(), 1..=2).prop_filter("global alone", |key| {
        key.len() == 1
            || !(key.contains(&"global")
                || key[0].starts_with("client") && key[1].starts_with("client"))
    });
    let more = prop::sample::select(vec![
        "",
        "mode = \"shadow\"",
        "match = { path = \"/a\", match_case = true }",
        "match = { path = \"/a\" }",
    ]);
    (algorithm, key, more)
        .prop_map(|(algorithm, key, more)| rule("r", &format!("{algorithm}key = {key:?}\n{more}")))
}

/// The counter of a rule on every store.
fn counter(policy: &Policy) -> (u64, Option<u8>) {
    let rule = &policy.rules()[0];
    (
        rule.id().get(),
        rule.quota().map(|quota| quota.kind() as u8),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn new_counters_are_told_exactly_where_counters_are_new(
        (new, old) in (any_rule(), any_rule()),
        (new_prefix, old_prefix) in (prop::sample::select(vec![56, 64]), prop::sample::select(vec![56, 64])),
    ) {
        let policy = |prefix: i32, rule: &str| load(&format!("client_ip = {{ ipv6_prefix = {prefix} }}\n{rule}"));
        let (new, old) = (policy(new_prefix, &new), policy(old_prefix, &old));
        let changes = new.diff(&old);
        let (new, old) = (counter(&new), counter(&old));
        let is_new = new.0 != old.0 || matches!((new.1, old.1), (Some(new), Some(old)) if new != old);
        match &changes.rules[0].change {
            Change::Anew { why, .. } => prop_assert!(is_new && !why.is_empty(), "{}", changes),
            _ => prop_assert!(!is_new, "{}", changes),
        }
    }
}
