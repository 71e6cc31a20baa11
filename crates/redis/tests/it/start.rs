//! What is found out at the start, and said with the fix.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use jeton_core::StoreErrorKind;
use jeton_redis::{Health, RedisStore, Settings, Trouble, TroubleKind};
use jeton_testkit::redis_server::{Server, Version, free_port};

use crate::server::{RUNTIME, open, settings};
use crate::user::{page, set_user, words};

/// Why a store at this URL is not ready. A busy machine may need more than one try to hear of it.
fn trouble(url: &str, is_heard: impl Fn(&Trouble) -> bool) -> Trouble {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let store = open(&settings(url.to_owned()));
        let trouble = RUNTIME.block_on(store.ready()).unwrap_err();
        if is_heard(&trouble) || Instant::now() > deadline {
            return trouble;
        }
    }
}

/// Why a store at this URL will not be ready.
fn lasting_trouble(url: &str) -> Trouble {
    trouble(url, Trouble::lasts)
}

/// Nothing can be expected to become of it, and it is said what there is and what to write.
fn is_misnamed(url: &str, words: &str) {
    let trouble = lasting_trouble(url);
    assert_eq!(trouble.kind, TroubleKind::Misnamed, "{url}: {trouble}");
    assert!(trouble.lasts(), "{url}");
    let said = trouble.to_string();
    assert!(said.contains(words), "{url}: {said}");
    assert!(!said.contains(['\r', '\n']), "{url}: {said}");
}

fn at_port(version: Version, more: &[&str]) -> (Server, u16) {
    let port = free_port();
    let server = Server::start(version, &[&["--port", &port.to_string()], more].concat());
    (server, port)
}

#[test]
fn each_command_that_a_user_lacks_is_named() {
    let page = page();
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let all = words(&page, None);
        let refused = |words: &[String]| {
            let () = server.ask(&["ACL", "DELUSER", "limiter"]);
            set_user(&server, words);
            let url = format!("{}?user=limiter&pass=PASSWORD", server.url());
            let trouble = lasting_trouble(&url);
            assert_eq!(trouble.kind, TroubleKind::Forbidden, "{trouble}");
            assert!(trouble.lasts());
            trouble.text
        };
        let commands: Vec<String> = all.iter().filter(|w| w.starts_with('+')).cloned().collect();
        for lacks in &commands {
            let others: Vec<String> = all.iter().filter(|word| *word != lacks).cloned().collect();
            assert_eq!(refused(&others), format!("it lacks {lacks}"), "{version:?}");
        }
        let none: Vec<String> = all
            .iter()
            .filter(|w| !w.starts_with('+'))
            .cloned()
            .collect();
        let lacked = refused(&none);
        let lacked: Vec<&str> = lacked
            .strip_prefix("it lacks ")
            .unwrap()
            .split(' ')
            .collect();
        assert_eq!(lacked.len(), commands.len());
        assert!(
            commands
                .iter()
                .all(|command| lacked.contains(&command.as_str()))
        );
        let other: Vec<String> = all
            .iter()
            .map(|w| w.replace("~jeton1:", "~other:"))
            .collect();
        assert!(refused(&other).starts_with("it lacks ~jeton1:"));
        let left: usize = server.ask(&["DBSIZE"]);
        assert_eq!(left, 0, "trials leave nothing");
    }
}

#[test]
fn what_removing_a_prefix_lacks_is_named_at_once() {
    let server = Version::V7_0.shared();
    let mut words = words(&page(), None);
    words[2] = "keeper".to_owned();
    set_user(server, &words);
    let store = open(&settings(format!(
        "{}?user=keeper&pass=PASSWORD",
        server.url()
    )));
    assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
    let error = RUNTIME.block_on(store.clear()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Forbidden);
    let said = store.latest_trouble().unwrap().text;
    assert_eq!(said, "it lacks +scan +unlink");
}

#[test]
fn a_database_takes_one_command_more() {
    let page = page();
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let url = format!("{}?db=2&user=limiter&pass=PASSWORD", server.url());
        set_user(&server, &words(&page, None));
        let refused = lasting_trouble(&url);
        assert_eq!(refused.kind, TroubleKind::Forbidden, "{refused}");
        assert!(refused.text.contains("'select'"), "{refused}");
        set_user(&server, &words(&page, Some("with a `/db` in the url")));
        let store = open(&settings(url));
        assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
    }
}

#[test]
fn what_is_not_what_the_url_names_is_refused_with_the_right_url() {
    for version in Version::ALL {
        let (_server, port) = at_port(version, &[]);
        let sentinel_port = free_port();
        let _sentinel = Server::sentinel(version, sentinel_port, port);
        let is = |url: String, words: &str| is_misnamed(&url, words);
        let at = format!("127.0.0.1:{port}");
        let sentinel = format!("127.0.0.1:{sentinel_port}");
        is(
            format!("redis-cluster://{at}"),
            &format!("it is no Cluster, write redis://{at}"),
        );
        is(
            format!("redis-sentinel://{at}/mine"),
            &format!("{at} is no Sentinel, whose port is 26379"),
        );
        for scheme in ["redis", "redis-cluster"] {
            let words = "it is a Sentinel, write redis-sentinel://";
            is(format!("{scheme}://{sentinel}"), words);
        }
        let words = format!("{sentinel} watches no primary of the name \"other\"");
        is(format!("redis-sentinel://{sentinel}/other"), &words);
        // One that is away does not make an answer less of one.
        let dead = free_port();
        is(
            format!("redis-sentinel://{sentinel},127.0.0.1:{dead}/other"),
            &words,
        );
        is(format!("redis://{at}/99"), "no database of that number");

        let port = free_port().to_string();
        let _node = Server::start(version, &["--port", &port, "--cluster-enabled", "yes"]);
        let url = format!("redis://127.0.0.1:{port}/2");
        is(url, "a cluster has no databases");
    }
}

#[test]
fn a_node_of_a_cluster_is_told_from_a_server() {
    use jeton_testkit::redis_server::Cluster;
    let cluster = Cluster::start(Version::V7_0, 30_000);
    for node in 0..Cluster::PRIMARIES {
        let url = format!("redis://127.0.0.1:{}", cluster.port(node));
        is_misnamed(&url, "it is a node of a Cluster, write redis-cluster://");
    }
}

#[test]
fn what_is_no_redis_is_refused_in_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nserver: web\r\n\r\n<html>\r\n");
        }
    });
    is_misnamed(
        &format!("redis://127.0.0.1:{port}"),
        "what answers there is no Redis server",
    );
}

/// What sentinels name is told by its own address.
#[test]
fn trouble_with_a_primary_names_it() {
    let (primary, port) = at_port(Version::V7_0, &["--requirepass", "secret"]);
    let sentinel_port = free_port();
    let _sentinel = Server::sentinel(Version::V7_0, sentinel_port, port);
    let url = format!("redis-sentinel://127.0.0.1:{sentinel_port}/mine");
    let named = format!("primary 127.0.0.1:{port}: ");
    let refused = lasting_trouble(&url);
    assert_eq!(refused.kind, TroubleKind::Unauthenticated, "{refused}");
    assert!(refused.text.starts_with(&named), "{refused}");
    primary.kill();
    let away = trouble(&url, |away| away.text.starts_with(&named));
    assert_eq!(away.kind, TroubleKind::Unreachable, "{away}");
    assert!(away.text.starts_with(&named), "{away}");
}

#[cfg(feature = "tls")]
#[test]
fn a_server_without_tls_is_told_from_one_that_hangs() {
    let (_server, port) = at_port(Version::V7_0, &[]);
    let settings = Settings::new(format!("rediss://127.0.0.1:{port}"));
    let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
    let start = Instant::now();
    loop {
        if let Health::Down(trouble) = store.health()
            && trouble.kind == TroubleKind::Unreachable
        {
            assert!(trouble.text.contains("no TLS answer"), "{trouble}");
            assert!(!trouble.lasts(), "it may have been slow");
            return;
        }
        let waited = start.elapsed();
        assert!(waited < Duration::from_secs(10), "{:?}", store.health());
        std::thread::sleep(Duration::from_millis(20));
    }
}
