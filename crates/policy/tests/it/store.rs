//! `[store]`: what is read of each kind, and what is shown of it.

use std::path::Path;
use std::time::Duration;

use jeton_policy::{
    Deployment, Disk, DiskSync, Lease, OnFailure, Origin, Overflow, Policy, Redis, StoreKind,
};

use crate::common::{SECRET, load, refused, try_load};
use crate::schema::mistakes;

const RULE: &str = "
[[rule]]
name      = \"api\"
key       = [\"client-ip\"]
algorithm = \"token-bucket\"
rate      = \"20/s\"
burst     = 100
";

fn policy(store: &str) -> Policy {
    let text = format!("[store]\nkind = \"redis\"\n{store}\n{RULE}");
    let mistakes = mistakes(&text);
    assert!(mistakes.is_empty(), "{mistakes:#?}");
    load(&text)
}

fn redis(store: &str) -> Redis {
    match &policy(store).settings().store.kind {
        StoreKind::Redis(redis) => redis.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_url_is_all_that_a_server_needs() {
    let all = policy("url = \"redis://10.0.0.5\"");
    let store = &all.settings().store;
    assert_eq!(store.timeout, Duration::from_millis(20));
    assert_eq!(store.on_failure, OnFailure::Allow);
    let redis = redis("url = \"redis://10.0.0.5\"");
    assert_eq!(redis.url.expose(), "redis://10.0.0.5");
    assert_eq!(redis.place(), "10.0.0.5");
    let Redis {
        tls_root,
        prefix,
        key_secret,
        deny_cache,
        lease,
        ..
    } = redis;
    assert_eq!((tls_root, prefix.as_str(), key_secret), (None, "", None));
    assert_eq!((deny_cache, lease), (None, None));
}

#[test]
fn every_setting_of_a_server_is_read() {
    let redis = redis(
        "url = \"rediss-sentinel://a,b:7/mine/3\"\ntls_root = \"certs/root.pem\"\n\
         prefix = \"shop:\"\nkey_secret = { env = \"JETON_TOKEN\" }\ndeny_cache = \"1ms\"\n\
         lease = 1_000_000\nlease_for = \"1min\"\nmax_keys = 1000\nmax_memory = \"1MiB\"\n\
         overflow = \"deny\"\ntimeout = \"1min\"\non_failure = { local = 0.5 }",
    );
    assert_eq!(redis.deployment(), Deployment::Sentinel);
    assert_eq!(redis.tls_root.as_deref(), Some(Path::new("certs/root.pem")));
    assert_eq!(redis.prefix, "shop:");
    assert_eq!(
        redis.key_secret.unwrap().expose(),
        "hunter2-hunter2-hunter2"
    );
    assert_eq!(redis.deny_cache, Some(Duration::from_millis(1)));
    let (units, keep_for) = (1_000_000, Duration::from_secs(60));
    assert_eq!(redis.lease, Some(Lease { units, keep_for }));
}

fn disk(settings: &str) -> Disk {
    let text = format!("[store]\nkind = \"disk\"\n{settings}\n{RULE}");
    let mistakes = mistakes(&text);
    assert!(mistakes.is_empty(), "{mistakes:#?}");
    match &load(&text).settings().store.kind {
        StoreKind::Disk(disk) => disk.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_disk_needs_nothing_and_is_written_to_within_a_second() {
    let disk = disk("");
    assert_eq!(disk.path.get(), Path::new("jeton-data"));
    assert_eq!(disk.sync, DiskSync::Every(Duration::from_secs(1)));
    assert_eq!(disk, Disk::new("jeton-data".into()));
}

#[test]
fn every_setting_of_a_disk_is_read() {
    let all = "path = \"/var/lib/jeton\"\nmax_keys = 1000\nmax_memory = \"1MiB\"\n\
               overflow = \"deny\"\ntimeout = \"1min\"\non_failure = \"deny\"";
    assert_eq!(disk(all).path.get(), Path::new("/var/lib/jeton"));
    for (written, sync) in [
        ("always", DiskSync::Always),
        ("10ms", DiskSync::Every(Duration::from_millis(10))),
        ("1h", DiskSync::Every(Duration::from_secs(3_600))),
    ] {
        assert_eq!(disk(&format!("sync = \"{written}\"")).sync, sync);
    }
}

#[test]
fn a_folder_that_stands_elsewhere_is_used_and_not_shown() {
    let disk = disk("path = { env = \"SECRET\" }");
    assert_eq!(disk.path.get(), Path::new(SECRET));
    assert_eq!(disk.place(), "what env SECRET says");
    assert!(!format!("{disk:?}").contains(SECRET));
}

#[test]
fn a_lease_is_kept_for_a_second_unless_it_says_otherwise() {
    let lease = redis("url = \"redis://h\"\nlease = 20").lease.unwrap();
    assert_eq!((lease.units, lease.keep_for), (20, Duration::from_secs(1)));
}

#[test]
fn what_bounds_the_process_bounds_its_local_limits() {
    let all = policy(
        "url = \"redis://h\"\nmax_keys = 1000\noverflow = \"deny\"\non_failure = { local = 0.5 }",
    );
    let store = &all.settings().store;
    assert_eq!((store.max_keys, store.overflow), (1000, Overflow::Deny));
}

#[test]
fn a_url_that_stands_elsewhere_is_used_and_not_even_its_hosts_are_shown() {
    let url = "url = { env = \"REDIS_URL\" }";
    let redis = redis(url);
    assert_eq!(redis.origin, Origin::Env("REDIS_URL".to_owned()));
    assert_eq!(redis.deployment(), Deployment::Cluster);
    assert!(redis.url.expose().contains("hunter2.internal"));
    assert_eq!(redis.place(), "what env REDIS_URL says");
    let policy = policy(url);
    assert!(!format!("{redis:?} {policy:?}").contains(SECRET));
}

#[test]
fn a_url_in_the_file_shows_its_hosts_and_neither_user_nor_password() {
    let redis = redis("url = \"redis-cluster://me:hunter2@a,b:7000\"");
    assert_eq!(redis.place(), "a, b:7000");
    assert!(!format!("{redis:?}").contains(SECRET));
    assert_eq!(
        self::redis("url = \"unix:///run/r.sock?user=me&pass=hunter2\"").place(),
        "/run/r.sock"
    );
}

#[test]
fn a_prefix_of_every_character_that_may_stand_there_is_read() {
    let mut all: String = ('!'..='~').collect();
    all.retain(|letter| !"{}*?[]\\".contains(letter));
    let (first, second) = all.split_at(44);
    for prefix in [first, second] {
        let redis = redis(&format!("url = \"redis://h\"\nprefix = '''{prefix}'''"));
        assert_eq!(redis.prefix, prefix);
    }
    for letter in ["{", "}", "*", "?", "[", "]", "\\", " ", "é", "\t"] {
        let text = format!("[store]\nkind = \"redis\"\nurl = \"redis://h\"\nprefix = 'a{letter}'");
        assert_eq!(
            refused(&text).iter().next().unwrap().code.id(),
            "E016",
            "{letter:?}"
        );
        assert!(!mistakes(&text).is_empty(), "{letter:?} fits the schema");
    }
}

#[test]
fn editors_know_which_settings_belong_to_which_kind() {
    let fits = |store: &str| mistakes(&format!("[store]\n{store}\n")).is_empty();
    assert!(fits("kind = \"redis\"\nurl = \"redis://h\""));
    assert!(fits("kind = { env = \"KIND\" }\nurl = { env = \"URL\" }"));
    assert!(fits("kind = { env = \"KIND\" }"));
    assert!(!fits("kind = \"redis\""));
    assert!(!fits("kind = \"redis\"\nurl = \"http://h\""));
    assert!(!fits(
        "kind = \"redis\"\nurl = \"redis://h\"\nlease_for = \"1s\""
    ));
    assert!(fits("kind = \"disk\"\npath = \"d\"\nsync = \"always\""));
    assert!(fits("kind = \"disk\""));
    for word in ["path = \"d\"", "sync = \"1s\""] {
        let redis = format!("kind = \"redis\"\nurl = \"redis://h\"\n{word}");
        assert!(!fits(word) && !fits(&redis), "{word}");
        assert!(!fits(&format!("kind = \"memory\"\n{word}")), "{word}");
    }
    for word in [
        "url = \"redis://h\"",
        "tls_root = \"r.pem\"",
        "prefix = \"p\"",
        "key_secret = \"s\"",
        "deny_cache = \"1s\"",
        "lease = 1",
    ] {
        assert!(
            !fits(word) && !fits(&format!("kind = \"memory\"\n{word}")),
            "{word}"
        );
        assert!(!fits(&format!("kind = \"disk\"\n{word}")), "{word}");
    }
}

#[test]
fn however_a_url_is_mistyped_its_password_is_not_shown() {
    let line = "url = \"redis://me:hunter2@10.0.0.5\"";
    let told = |line: &str| {
        let text = format!("[store]\nkind = \"redis\"\n{line}\n{RULE}");
        match try_load(&text) {
            Ok(loaded) => format!("{} {:?}", loaded.report, loaded.policy),
            Err(report) => format!("{report} {report:?}"),
        }
    };
    for at in 0..line.len() {
        let (before, after) = line.split_at(at);
        let without = format!("{before}{}", &after[1..]);
        for mistyped in [
            without,
            format!("{before}\"{after}"),
            format!("{before} {after}"),
        ] {
            let told = told(&mistyped);
            assert!(
                !told.contains("hunter") && !told.contains("nter2"),
                "{mistyped}: {told}"
            );
        }
    }
}

#[test]
fn no_bad_policy_shows_a_secret() {
    let told = crate::bad::policies().into_iter().map(|(name, text)| {
        let told = match try_load(&text) {
            Ok(loaded) => format!("{} {:?}", loaded.report, loaded.policy),
            Err(report) => format!("{report} {report:?}"),
        };
        (name, text.contains(SECRET), told)
    });
    let told: Vec<_> = told.collect();
    assert!(told.iter().filter(|(_, has, _)| *has).count() >= 8);
    for (name, _, told) in told {
        assert!(!told.contains(SECRET), "{name}: {told}");
    }
}
