//! Whom the API answers is a matter of the policy in force, too.

use super::{Changing, five_per_hour};
use crate::support::Folder;
use crate::support::raw::exchange;

/// `[api]` is the last of the sections that every file begins with.
fn api(settings: &str) -> String {
    format!("{settings}\n{}", five_per_hour(1))
}

fn status(file: &Changing, method: &str, path: &str, fields: &str, body: &str) -> u16 {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{fields}\
         Content-Length: {length}\r\n\r\n{body}"
    );
    exchange(file.jeton.api_address(), &head).status()
}

#[test]
fn a_token_that_is_rotated_is_the_one_that_counts() {
    let rules = api("token = { file = \"secrets/token\" }");
    let file = Changing::within(Folder::new(), "jeton.toml", |folder, text| {
        std::fs::create_dir(folder.path().join("secrets")).expect("a folder");
        folder.file("secrets/token", b"old-token-of-some-length\n");
        folder.file("jeton.toml", format!("{text}{rules}").as_bytes());
    });
    let take = |token: &str| {
        let fields = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
        let body = r#"{"rule":"five","key":"a"}"#;
        status(&file, "POST", "/v1/check", &fields, body)
    };
    let (old, new) = ("old-token-of-some-length", "new-token-of-some-length");
    assert_eq!((take(old), take(new)), (200, 401));
    file.after(|| {
        // As secrets are mounted: another file in its place.
        let fresh = file.jeton.folder().file("fresh", new.as_bytes());
        let token = file.jeton.folder().path().join("secrets/token");
        std::fs::rename(fresh, token).expect("renamed");
    });
    assert_eq!((take(old), take(new)), (401, 200));
    file.jeton.logs("[api] token: changed");
    let log = file.jeton.log();
    assert!(!log.contains(old) && !log.contains(new), "{log}");
}

#[test]
fn gateways_are_those_of_the_policy_in_force() {
    let file = Changing::by(&api(""));
    let asked = |file: &Changing| {
        let fields = "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\nX-User: a\r\n";
        status(file, "GET", "/v1/auth", fields, "")
    };
    assert_eq!(asked(&file), 400);
    file.after(|| file.write(&api("gateways = [\"127.0.0.0/8\"]")));
    assert_eq!((asked(&file), asked(&file)), (204, 429));
    file.after(|| file.write(&api("")));
    assert_eq!(asked(&file), 400);
}
