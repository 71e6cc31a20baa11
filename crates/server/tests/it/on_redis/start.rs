//! F35: a server that will never decide is told at the start, by name and with the fix.

use std::time::Duration;

use jeton_testkit::redis_server::{Server, Version, free_port};

use super::{HUNDRED, is_allowed, policy, take};
use crate::support::Folder;
use crate::support::binary::{Running, jeton, refused, stderr};
use crate::support::eventually;

#[test]
fn f35_a_user_without_time_is_refused_by_name() {
    for version in Version::ALL {
        let redis = Server::start(version, &[]);
        let user = "ACL SETUSER limiter on >hunter2 ~jeton1:* +@all -time";
        let user: Vec<&str> = user.split(' ').collect();
        let _: String = redis.ask(&user);
        let url = format!("{}?user=limiter&pass=hunter2", redis.url());
        let said = refused(&policy(&url, "", HUNDRED));
        for words in ["error: [store] at ", "+time", "nothing is started"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn f35_a_password_that_is_wrong_or_missing_is_told() {
    let redis = Server::start(Version::V7_0, &["--requirepass", "right"]);
    for url in [redis.url(), format!("{}?pass=hunter2", redis.url())] {
        let said = refused(&policy(&url, "", HUNDRED));
        assert!(said.contains("wants another user or password"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn what_is_no_cluster_and_what_is_no_file_is_told() {
    let port = free_port().to_string();
    let settings = ["--port", &port, "--bind", "127.0.0.1"];
    let _redis = Server::start(Version::V7_0, &settings);
    let url = format!("redis-cluster://127.0.0.1:{port}");
    let said = refused(&policy(&url, "", HUNDRED));
    assert!(said.contains("cluster support disabled"), "{said}");

    let root = "tls_root = \"/nowhere/root.pem\"";
    let said = refused(&policy("rediss://127.0.0.1", root, HUNDRED));
    assert!(
        said.contains("tls_root: /nowhere/root.pem cannot be read"),
        "{said}"
    );
    // As with other files that a policy names, a relative path begins beside it.
    let (folder, root) = (Folder::new(), "tls_root = \"root.pem\"");
    let policy = policy("rediss://127.0.0.1", root, HUNDRED);
    let path = folder.file("jeton.toml", policy.as_bytes());
    let output = jeton(&["serve", "--config", path.to_str().unwrap()]);
    let beside = folder.path().join("root.pem");
    let said = format!("tls_root: {} cannot be read", beside.display());
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));
}

/// What only a charge brings to light: keys that the user may not touch, commands that it may not run.
#[test]
fn f35_a_user_who_may_not_write_is_refused() {
    for (version, rights) in [
        (Version::V7_0, "~other:* +@all"),
        (Version::V8_2, "~other:* +@all"),
        (Version::V8_2, "~jeton1:* +@all -set"),
        (Version::V7_0, "~jeton1:* +@all -set"),
    ] {
        let redis = Server::start(version, &[]);
        let user = format!("ACL SETUSER limiter on >hunter2 {rights}");
        let user: Vec<&str> = user.split(' ').collect();
        let _: String = redis.ask(&user);
        let url = format!("{}?user=limiter&pass=hunter2", redis.url());
        let said = refused(&policy(&url, "timeout = \"2s\"", HUNDRED));
        let told = said.contains("does not let this user do what is needed");
        assert!(told, "{version:?} {rights}: {said}");
    }
}

/// A replica may be a primary tomorrow: it is told, and served without.
#[test]
fn a_replica_is_told_at_the_start_and_found_when_it_is_a_primary() {
    let redis = Server::start(Version::V7_0, &[]);
    let _: String = redis.ask(&["REPLICAOF", "127.0.0.1", "1"]);
    let node = Running::serve(&policy(&redis.url(), "timeout = \"2s\"", HUNDRED));
    node.logs("started without its store");
    node.logs("does not take writes");
    std::thread::sleep(Duration::from_millis(600));
    assert!(!node.log().contains("answers again"), "{}", node.log());
    assert!(is_allowed(&take(&node, "user", "k")));
    let _: String = redis.ask(&["REPLICAOF", "NO", "ONE"]);
    eventually("it decides", || {
        take(&node, "user", "k")["reason"].is_null()
    });
    node.logs("the store answers again");
    assert_eq!(node.log().matches("ERROR").count(), 1, "{}", node.log());
}
