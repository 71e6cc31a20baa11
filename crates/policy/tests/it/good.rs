//! Policies that load, and what they mean.

use std::time::Duration;

use jeton_core::OnDeny;
use jeton_policy::{
    Allowance, CompiledRule, CostSpec, Flags, KeyPart, Listen, Missing, Mode, OnFailure, Overflow,
    Policy, PolicyTable, ResponseCost, Rule, Terms,
};
use jeton_wire::client_ip::Source as Header;
use jeton_wire::ratelimit::Dialect;

use crate::common::{SECRET, load, refused, try_load};

/// Section 7 of the design: the whole policy language.
const WHOLE: &str = include_str!("design-section-7.toml");

/// The same, without what later versions bring.
const REDUCED: &str = include_str!("reduced.toml");

#[test]
fn the_whole_language_loads() {
    let loaded = try_load(WHOLE).unwrap_or_else(|report| panic!("{report}"));
    let settings = loaded.policy.settings();
    assert!(settings.proxy.is_some() && settings.api.is_some());
    assert!(settings.rls.is_some() && settings.resp.is_some());
}

#[test]
fn what_this_version_has_of_it_loads() {
    let loaded = try_load(REDUCED).unwrap();
    let settings = loaded.policy.settings();
    let proxy = settings.proxy.as_ref().unwrap();
    assert_eq!(proxy.listen.to_string(), "0.0.0.0:8080");
    assert_eq!(proxy.upstream.get().authority(), "127.0.0.1:3000");
    assert_eq!(proxy.header_timeout, Duration::from_secs(10));
    assert_eq!(
        settings.api.as_ref().unwrap().listen.to_string(),
        "127.0.0.1:7070"
    );
    assert_eq!(
        (settings.store.max_keys, settings.store.max_memory),
        (1_000_000, 256 << 20)
    );
    assert_eq!(settings.store.overflow, Overflow::Share);
    assert_eq!(settings.client_ip.finder.source, Header::XForwardedFor);
    assert!(
        settings
            .client_ip
            .finder
            .trust
            .believes("10.1.2.3".parse().ok())
    );
    assert!(
        !settings
            .client_ip
            .finder
            .trust
            .believes("11.1.2.3".parse().ok())
    );
    assert_eq!(settings.client_ip.ipv6_prefix.bits(), 64);
    assert_eq!(settings.answer.headers, Dialect::Ietf11.into());
    assert!(settings.lists.exempt.contains("10.1.2.3".parse().unwrap()));
    assert!(settings.lists.block.contains("192.0.2.7".parse().unwrap()));

    let names: Vec<&str> = loaded
        .policy
        .rules()
        .iter()
        .map(CompiledRule::name)
        .collect();
    let own = "rls:limits of requests";
    assert_eq!(names, ["everyone", "user", "login", "export", own]);
    let rule = |name: &str| loaded.policy.rule(name).unwrap().1.rule();
    assert!(rule("user").secret_key && !rule("everyone").secret_key);
    assert_eq!(
        rule("user").key,
        [KeyPart::Header("authorization".to_owned())]
    );
    assert_eq!(rule("export").mode, Mode::Shadow);
    assert_eq!(rule("export").missing, Missing::Share);
    every_word_is_read(&rule);
    let codes: Vec<&str> = loaded.report.iter().map(|found| found.code.id()).collect();
    assert_eq!(codes, ["W104"], "{}", loaded.report);
}

fn every_word_is_read<'p>(rule: &dyn Fn(&str) -> &'p Rule) {
    let plans = rule("user").plan.as_ref().unwrap();
    assert_eq!(plans.source, KeyPart::Header("x-plan".to_owned()));
    let names: Vec<&str> = plans.named.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["pro", "staff", "banned"]);
    let Allowance::Quota(Terms::Bucket { pace, burst: 200 }) = plans.named[0].1 else {
        panic!("{plans:?}")
    };
    assert_eq!(pace.to_string(), "50/s");
    assert_eq!(plans.named[1].1, Allowance::Unlimited);
    assert_eq!(plans.named[2].1, Allowance::Deny);
    let count = rule("login").count.unwrap();
    assert_eq!(count.iter().collect::<Vec<_>>(), [401, 403]);
    let export = rule("export");
    assert_eq!(export.on_failure, Some(OnFailure::Deny));
    let source = ResponseCost::Header("x-units".to_owned());
    let estimate = 5;
    assert_eq!(export.cost, CostSpec::Response { source, estimate });
    assert!(matches!(
        export.trial,
        Some(Terms::FixedWindow { limit: 80, .. })
    ));
    assert_eq!(export.hold_wait, Duration::from_millis(50));
    assert_eq!((export.max_debt, export.on_deny), (None, OnDeny::Keep));
    assert_eq!(rule("everyone").cost, CostSpec::Fixed(1));
}

#[test]
fn the_table_reads_like_the_manual() {
    let policy = load(REDUCED);
    let said = PolicyTable::new("jeton.toml", &policy).to_string();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/reduced.expected");
    if std::env::var_os("JETON_BLESS").is_some() {
        std::fs::write(golden, &said).unwrap();
    }
    assert_eq!(said, std::fs::read_to_string(golden).unwrap());
}

/// The client that a policy with this `[client_ip]` finds behind a proxy at 10.0.0.1.
fn client(settings: &str, lines: &[&str]) -> Option<String> {
    let policy = load(&format!("[client_ip]\n{settings}\n"));
    let finder = &policy.settings().client_ip.finder;
    let client = finder.find(
        "10.0.0.1".parse().ok(),
        lines.iter().map(|line| line.as_bytes()),
    );
    client.address.map(|address| address.to_string())
}

#[test]
fn f45_the_dialects_of_an_answer_are_set_by_name() {
    let dialects = |words: &str| -> Vec<Dialect> {
        let policy = load(&format!("[answer]\nheaders = {words}\n"));
        policy.settings().answer.headers.iter().collect()
    };
    for word in Dialect::words().filter(|word| *word != "none") {
        assert_eq!(dialects(&format!("{word:?}")), [word.parse().unwrap()]);
    }
    assert_eq!(dialects("\"none\""), []);
    assert_eq!(dialects("[\"none\"]"), []);
    assert_eq!(
        dialects("[\"legacy-epoch\", \"ietf\"]"),
        [Dialect::LegacyEpoch, Dialect::Ietf11]
    );
    assert_eq!(load("").settings().answer.headers.iter().count(), 1);
}

#[test]
fn f37_f38_a_client_is_found_in_the_header_that_is_named() {
    let settings = "header = \"Forwarded\"\ntrusted = [\"10.0.0.0/8\"]";
    let lines = ["for=6.6.6.6, for=\"203.0.113.9:5123\";proto=https"];
    assert_eq!(client(settings, &lines).as_deref(), Some("203.0.113.9"));
    let settings = "header = \"CF-Connecting-IP\"\nhops = 1";
    assert_eq!(
        client(settings, &["2001:db8::1"]).as_deref(),
        Some("2001:db8::1")
    );
    let policy = load(&format!("[client_ip]\n{settings}\n"));
    let finder = &policy.settings().client_ip.finder;
    assert_eq!(finder.source.header(), "cf-connecting-ip");
    let untrusted = "header = \"cf-connecting-ip\"\ntrusted = [\"192.168.0.0/16\"]";
    assert_eq!(
        client(untrusted, &["203.0.113.9"]).as_deref(),
        Some("10.0.0.1")
    );
}

#[test]
fn f37_f38_the_client_is_the_one_that_trusted_proxies_saw() {
    for settings in [
        "hops = 1",
        "trusted = [\"10.0.0.0/8\"]",
        "trusted = \"10.0.0.1\"",
    ] {
        let settings = format!("header = \"X-Forwarded-For\"\n{settings}");
        for i in 1..=10 {
            let line = format!("6.6.6.{i}, 203.0.113.9:5123");
            assert_eq!(client(&settings, &[&line]).as_deref(), Some("203.0.113.9"));
        }
        assert_eq!(client(&settings, &["unknown"]), None);
    }
    for settings in ["", "header = \"none\"", "ipv6_prefix = 56"] {
        assert_eq!(
            client(settings, &["203.0.113.9"]).as_deref(),
            Some("10.0.0.1")
        );
    }
}

#[test]
fn f50_without_burst_a_bucket_holds_the_units_of_one_period() {
    for (rate, burst) in [
        ("6000/min", 6_000),
        ("1/1500ms", 1),
        ("3/2s", 3),
        ("200/day", 200),
    ] {
        let policy = load(&format!(
            "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"{rate}\"\n"
        ));
        assert_eq!(policy.rules()[0].quota().unwrap().limit(), burst, "{rate}");
    }
}

#[test]
fn f20_words_need_neither_key_nor_algorithm() {
    for (word, allowance) in [
        ("unlimited", Allowance::Unlimited),
        ("deny", Allowance::Deny),
    ] {
        let policy = load(&format!("[[rule]]\nname = \"a\"\nlimit = \"{word}\"\n"));
        assert_eq!(policy.rules()[0].rule().allowance, allowance);
        assert!(policy.rules()[0].quota().is_none());
        // A limit can be lifted or shut without taking the rule apart.
        let settings = "key = \"client-ip\"\nalgorithm = \"sliding-log\"\nwindow = \"1m\"";
        let policy = load(&format!(
            "[[rule]]\nname = \"a\"\n{settings}\nlimit = \"{word}\"\n"
        ));
        assert_eq!(policy.rules()[0].rule().allowance, allowance);
    }
}

#[test]
fn the_domain_that_must_load_does() {
    let windows = [
        ("fixed-window", 1_u64, "1ms"),
        ("fixed-window", 1_000_000_000, "3650d"),
        ("sliding-log", 1_000_000_000, "3650d"),
        ("sliding-counter", 30_000_000, "3650d"),
        ("sliding-counter", 1, "1ms"),
    ];
    for (algorithm, limit, window) in windows {
        load(&format!(
            "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"{algorithm}\"\n\
             limit = {limit}\nwindow = \"{window}\"\n"
        ));
    }
    let buckets = [
        ("1/3650d", "1"),
        ("1000000/s", "1_000_000_000"),
        ("999983/day", "999_983"),
        ("1000000/day", "1_000_000"),
        ("7/11us", "7"),
    ];
    for (rate, burst) in buckets {
        load(&format!(
            "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"token-bucket\"\n\
             rate = \"{rate}\"\nburst = {burst}\n"
        ));
    }
}

#[test]
fn what_is_read_elsewhere_never_appears() {
    let text = "[proxy]\nlisten = { env = \"LISTEN\" }\nupstream = { env = \"UPSTREAM\" }\n\
        [[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/s\"\nburst = 5\n\
        match = { header = { x-tier = { file = \"/run/secrets/tier\" } }, path = \"/x\" }\n";
    let policy = load(text);
    let proxy = policy.settings().proxy.as_ref().unwrap();
    assert_eq!(proxy.upstream.get().host, "hunter2.internal");
    assert!(matches!(proxy.listen.get(), Listen::Tcp(_)));
    let (_, value) = &policy.rules()[0].rule().matches.headers[0];
    assert_eq!(value.get(), SECRET);
    let table = PolicyTable::new("jeton.toml", &policy);
    let shown = format!("{policy:?} {table} {} {}", proxy.upstream, proxy.listen);
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(shown.contains("(from env UPSTREAM) (from env LISTEN)"));

    let text = "[answer]\ncors = { origins = [\"https://app.example\", { env = \"ORIGIN\" }] }\n";
    let policy = load(text);
    let cors = policy.settings().answer.cors.as_ref().unwrap();
    assert!(format!("{:?}", cors.get()).contains(SECRET));
    assert!(!format!("{policy:?}").contains(SECRET), "{policy:?}");

    for key in [
        "rate",
        "algorithm",
        "mode",
        "limit",
        "missing",
        "key",
        "replaces",
        "name",
    ] {
        let report = refused(&format!("[[rule]]\n{key} = {{ env = \"SECRET\" }}\n"));
        assert!(!report.to_string().contains(SECRET), "{report}");
    }
    let rule = "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nlimit = \"deny\"\n";
    for more in [
        "replaces = { env = \"SECRET\" }",
        "match = { with = { env = \"SECRET\" } }",
    ] {
        let report = refused(&format!("{rule}{more}\n"));
        assert!(!report.to_string().contains(SECRET), "{report}");
    }
    for key in ["method", "path", "host", "with"] {
        let report = refused(&format!(
            "[[rule]]\nmatch = {{ {key} = {{ env = \"SECRET\" }} }}\n"
        ));
        assert!(!report.to_string().contains(SECRET), "{report}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let report = refused(include_str!("many.toml"));
    let found: Vec<(usize, &str)> = report
        .iter()
        .map(|found| (found.line, found.code.id()))
        .collect();
    let expected = [
        (2, "E013"),
        (3, "E014"),
        (10, "E026"),
        (14, "E023"),
        (14, "E021"),
        (15, "E020"),
        (16, "E009"),
        (17, "E006"),
        (18, "E010"),
        (21, "E017"),
        (24, "E012"),
        (25, "E002"),
    ];
    assert_eq!(found, expected, "{report}");
    assert!(report.to_string().ends_with("\n12 errors, 0 warnings"));
}

#[test]
fn a_rule_with_a_mistake_is_still_a_rule_to_others() {
    let report = refused(
        "[[rule]]\nname = \"a\"\nkey = \"ip\"\nlimit = \"unlimited\"\n\
         [[rule]]\nname = \"b\"\nlimit = \"unlimited\"\nreplaces = \"a\"\n",
    );
    assert_eq!(report.errors(), 1, "{report}");
}

#[test]
fn a_file_of_any_editor_is_read() {
    let text = "\u{feff}[[rule]]\r\nname = \"a\"\r\nlimit = \"dney\"\r\n";
    let report = refused(text);
    let found = report.iter().next().unwrap();
    assert_eq!(
        (found.code.id(), found.line, found.column),
        ("E009", 3, 9),
        "{report}"
    );
    assert_eq!(found.excerpt, "limit = \"dney\"");
}

#[test]
fn findings_are_json() {
    let report = refused("[[rule]]\nname = \"a\"\nkey = \"ip\"\nlimit = \"deny\"\n");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json,
        serde_json::json!([{
            "code": "E020",
            "severity": "error",
            "file": "jeton.toml",
            "line": 3,
            "column": 7,
            "length": 4,
            "what": "\"ip\" is not a key part",
            "label": "",
            "fix": "key = \"client-ip\"",
            "excerpt": "key = \"ip\"",
        }])
    );
}

#[test]
fn a_broken_line_is_reported_once_and_hides_nothing_else() {
    let report = refused("[[rule]]\nname = \"a\"\nkey = \"ip\"\nalgorithm = gcra\nrate = \"20\"\n");
    let found: Vec<(&str, usize)> = report
        .iter()
        .map(|found| (found.code.id(), found.line))
        .collect();
    assert_eq!(found, [("E020", 3), ("E001", 4), ("E012", 5)], "{report}");
}

fn flags<'a>() -> Flags<'a> {
    Flags {
        listen: "127.0.0.1:8080",
        upstream: "http://127.0.0.1:3000",
        limit: "100/min",
        burst: None,
        strict: false,
        key: &[],
    }
}

#[test]
fn flags_make_a_policy() {
    let terms = |flags: &Flags<'_>| {
        let policy = Policy::from_flags(flags).unwrap().policy;
        let rule = policy.rules()[0].rule();
        (rule.key.clone(), rule.allowance)
    };
    let (key, allowance) = terms(&flags());
    assert_eq!(key, [KeyPart::ClientIp(None)]);
    assert!(matches!(
        allowance,
        Allowance::Quota(Terms::Bucket { burst: 100, .. })
    ));
    let (_, allowance) = terms(&Flags {
        burst: Some(7),
        ..flags()
    });
    assert!(matches!(
        allowance,
        Allowance::Quota(Terms::Bucket { burst: 7, .. })
    ));
    let (key, allowance) = terms(&Flags {
        strict: true,
        key: &["host", "header:x-a"],
        ..flags()
    });
    assert_eq!(key.len(), 2);
    assert!(matches!(
        allowance,
        Allowance::Quota(Terms::SlidingLog { limit: 100, .. })
    ));
}

#[test]
fn f4_f50_flags_are_checked_like_files() {
    let report = Policy::from_flags(&Flags {
        listen: ":80",
        upstream: "https://a",
        limit: "0/min",
        burst: Some(0),
        strict: false,
        key: &["ip"],
    })
    .unwrap_err();
    let found: Vec<(&str, &str)> = report
        .iter()
        .map(|found| (found.file.as_str(), found.code.id()))
        .collect();
    let expected = [
        ("--listen", "E013"),
        ("--upstream", "E014"),
        ("--key", "E020"),
        ("--burst", "E006"),
        ("--limit", "E006"),
    ];
    assert_eq!(found, expected, "{report}");
    let report = Policy::from_flags(&Flags {
        strict: true,
        burst: Some(1),
        ..flags()
    })
    .unwrap_err();
    assert_eq!(report.iter().next().unwrap().code.id(), "E018");
    let loaded = Policy::from_flags(&Flags {
        burst: Some(1),
        ..flags()
    })
    .unwrap();
    assert_eq!(loaded.report.iter().next().unwrap().code.id(), "W102");
}
