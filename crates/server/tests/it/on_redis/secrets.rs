//! Neither a password nor a URL that holds one shows up anywhere.

use jeton_testkit::redis_server::{Server, Version};

use super::{HUNDRED, PATIENT, get, policy, remaining, take};
use crate::support::Folder;
use crate::support::binary::{Running, jeton, jeton_in, stderr, stdout};
use crate::support::eventually;

#[test]
fn secrets_are_absent_from_whatever_is_told() {
    let redis = Server::start(Version::V7_0, &[]);
    let user = "ACL SETUSER limiter on >hunter2 ~jeton1:* +@all";
    let user: Vec<&str> = user.split(' ').collect();
    let _: String = redis.ask(&user);
    let url = format!("{}?user=limiter&pass=hunter2", redis.url());
    let folder = Folder::new();
    let text = policy(
        "URL",
        &format!("{PATIENT}\nkey_secret = {{ file = \"pepper\" }}"),
        HUNDRED,
    );
    let text = text.replace("\"URL\"", "{ file = \"url\" }");
    let url_file = folder.file("url", url.as_bytes());
    let pepper = folder.file("pepper", b"salted-away");
    let text = text
        .replace(
            "\"url\"",
            &format!("{:?}", url_file.to_str().expect("a path")),
        )
        .replace(
            "\"pepper\"",
            &format!("{:?}", pepper.to_str().expect("a path")),
        );
    let path = folder.file("jeton.toml", text.as_bytes());
    let config = path.to_str().expect("a path").to_owned();
    let node = Running::serve_from(folder, "jeton.toml");
    assert_eq!(remaining(&take(&node, "user", "alice")), 99);
    let keys: Vec<String> = redis.ask(&["KEYS", "*"]);
    assert_eq!(keys.len(), 1);
    assert!(!keys[0].contains("alice"), "{keys:?}");

    let api = node.api_address();
    let mut told = vec![];
    for path in [
        "/metrics",
        "/readyz",
        "/v1/rules",
        "/openapi.json",
        "/v1/explain?request=GET%20/",
    ] {
        told.push(get(api, path, "").text);
    }
    for words in [
        &["check", "--config", &config][..],
        &["check", "--json", "--config", &config],
        &["explain", "--config", &config, "--request", "GET /"],
    ] {
        let output = jeton(words);
        assert!(output.status.success(), "{}", stderr(&output));
        told.extend([stdout(&output), stderr(&output)]);
    }
    redis.kill();
    eventually("it is told", || {
        take(&node, "user", "alice");
        node.log().contains("it is not asked for now")
    });
    told.extend([
        get(api, "/readyz", "").text,
        get(api, "/metrics", "").text,
        node.log(),
    ]);
    let again = jeton_in(node.folder().path(), &["simulate", "--store", &url], "");
    assert!(!again.status.success());
    told.extend([stdout(&again), stderr(&again), node.banner()]);
    for text in told {
        for secret in ["hunter2", "salted-away", "pass="] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}
