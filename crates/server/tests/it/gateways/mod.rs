//! Real gateways before a real service, asking the real `jeton` at `/v1/auth`: what clients see.

mod forged;
mod outage;
mod setup;

use setup::{ALL, Gateway, Seen, Setup};

use crate::api::{json, post};
use crate::support::curl;

/// Whole seconds of a `Retry-After`.
fn seconds(seen: &Seen) -> u64 {
    let value = seen.field("retry-after").expect("a wait");
    value.parse().unwrap_or_else(|_| panic!("{value:?}"))
}

/// What Jeton itself has to say of a counter.
fn remaining(setup: &Setup, rule: &str, key: &str) -> u64 {
    let jeton = setup.jeton.as_ref().expect("jeton runs");
    let body = format!("{{\"rule\":\"{rule}\",\"key\":\"{key}\"}}");
    let told = json(&post(jeton.api_address(), "/v1/check", &body));
    let remaining = &told["decisions"][0]["remaining"];
    remaining.as_u64().unwrap_or_else(|| panic!("{told}"))
}

#[test]
fn limits_are_what_the_client_sees() {
    for gateway in ALL {
        let setup = Setup::start(gateway);
        let login = ["--interface", "127.0.0.2", "-d", "user=alice", "/login"];
        for tried in 1..=5 {
            let seen = setup.ask(&login);
            assert_eq!(
                (seen.status, seen.body.as_str()),
                (200, "service\n"),
                "{gateway:?} {tried}: {seen:?}"
            );
            assert!(setup.last_head().starts_with("post /login "));
            let (policy, left) = (seen.field("ratelimit-policy"), seen.field("ratelimit"));
            if gateway.shows_what_is_left() {
                let (policy, left) = (policy.expect("a policy"), left.expect("what is left"));
                assert!(
                    policy.contains("\"login\";q=5;w=60"),
                    "{gateway:?}: {policy}"
                );
                let told = format!("\"login\";r={};t=", 5 - tried);
                assert!(left.contains(&told), "{gateway:?}: {left}");
            } else {
                assert_eq!((policy, left), (None, None), "{gateway:?}");
            }
        }
        let reached = setup.service.heads().len();
        let refused = setup.ask(&login);
        assert_eq!(refused.status, 429, "{gateway:?}: {refused:?}");
        let wait = seconds(&refused);
        assert!((30..=60).contains(&wait), "{gateway:?}: {wait}");
        let left = refused.field("ratelimit").expect("what is left");
        assert!(
            left.contains(&format!("\"login\";r=0;t={wait}")),
            "{gateway:?}: {left}"
        );
        let policy = refused.field("ratelimit-policy").expect("a policy");
        assert!(
            policy.contains("\"login\";q=5;w=60"),
            "{gateway:?}: {policy}"
        );
        assert_eq!(refused.field("cache-control").as_deref(), Some("no-store"));
        assert_eq!(
            setup.service.heads().len(),
            reached,
            "{gateway:?}: it was passed on"
        );

        // The counter is that of the address that the gateway saw.
        assert_eq!(remaining(&setup, "login", "127.0.0.2"), 0, "{gateway:?}");
        // Another address, and another method, are not meant.
        let other = ["--interface", "127.0.0.3", "-d", "user=alice", "/login"];
        assert_eq!(setup.ask(&other).status, 200, "{gateway:?}");
        assert_eq!(
            setup.ask(&["--interface", "127.0.0.2", "/login"]).status,
            200
        );
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
            let seen = setup.ask(&["--interface", "127.0.0.2", "-X", method, "/login"]);
            assert_eq!(seen.status, 200, "{gateway:?} {method}");
            let line = format!("{} /login ", method.to_lowercase());
            assert!(setup.last_head().starts_with(&line), "{gateway:?} {method}");
        }
    }
}

#[test]
fn paths_and_queries_are_seen_as_they_were_sent() {
    for gateway in ALL {
        let setup = Setup::start(gateway);
        for path in [
            "/reports/1/export?account=acme",
            "/reports/2/export?x=%20y&account=acme&deny=429",
            "/Reports/./3/a/../export?account=acme",
        ] {
            assert_eq!(setup.ask(&[path]).status, 200, "{gateway:?} {path}");
            // Traefik resolves dots before it does anything else; the others pass on what was sent.
            let dots = gateway == Gateway::Traefik && path.contains("/../");
            let heads = setup.service.heads();
            let head = heads.last().expect("a request");
            assert!(dots || head.contains(path), "{gateway:?} {path}: {head}");
        }
        for path in [
            "/reports/4/export?account=acme",
            "/reports/5/%65xport?account=acme",
            "//reports/5%2Fexport?account=acme",
            "/reports/6/export?account=acme&deny=200&x",
        ] {
            let refused = setup.ask(&[path]);
            assert_eq!(refused.status, 429, "{gateway:?} {path}");
            assert!((3590..=3600).contains(&seconds(&refused)), "{gateway:?}");
            assert!(!refused.body.is_empty());
            let head = setup.ask(&["-I", path]);
            assert_eq!(
                (head.status, head.body.as_str()),
                (429, ""),
                "{gateway:?} {path}"
            );
            assert!(seconds(&head) <= seconds(&refused), "{gateway:?}");
        }
        for path in ["/reports/1/export?account=other", "/reports/1?account=acme"] {
            assert_eq!(setup.ask(&["-I", path]).status, 200, "{gateway:?} {path}");
        }
    }
}

#[test]
fn programs_get_json_and_people_get_text() {
    for gateway in ALL {
        let setup = Setup::start(gateway);
        let path = "/reports/1/export?account=acme";
        for _ in 0..3 {
            assert_eq!(setup.ask(&[path]).status, 200, "{gateway:?}");
        }
        let json = setup.ask(&["-H", "Accept: application/json", path]);
        let kind = json.field("content-type").expect("a type");
        assert_eq!(kind, "application/problem+json", "{gateway:?}");
        let problem: serde_json::Value = serde_json::from_str(&json.body).expect("JSON");
        assert_eq!(problem["status"], 429, "{gateway:?}");
        let kind = "https://iana.org/assignments/http-problem-types#quota-exceeded";
        assert_eq!(problem["type"], kind, "{gateway:?}");
        if gateway != Gateway::Nginx {
            assert_eq!(problem["violated-policies"][0], "export", "{gateway:?}");
        }
        let text = setup.ask(&["-H", "Accept: text/html", path]);
        let kind = text.field("content-type").expect("a type");
        assert_eq!(kind, "text/plain; charset=utf-8", "{gateway:?}");
    }
}

#[test]
fn the_service_is_told_of_rules_that_mark() {
    for gateway in ALL {
        let setup = Setup::start(gateway);
        let jeton = setup.jeton.as_ref().expect("jeton runs");
        let switch = format!("http://{}/v1/modes/login", jeton.api_address());
        let json = "content-type: application/json";
        curl(&[
            "-X",
            "PUT",
            "-H",
            json,
            "-d",
            "{\"mode\":\"mark\"}",
            &switch,
        ]);
        let login = [
            "-H",
            "X-Jeton-Limited: forged",
            "-d",
            "user=alice",
            "/login",
        ];
        for tried in 1..=7 {
            let seen = setup.ask(&login);
            assert_eq!(seen.status, 200, "{gateway:?} {tried}");
            let head = setup.last_head();
            assert!(!head.contains("forged"), "{gateway:?} {tried}: {head}");
            assert!(
                !head.contains("x-jeton-ratelimit"),
                "{gateway:?} {tried}: {head}"
            );
            let told = head.contains("\r\nx-jeton-limited: login\r\n");
            assert_eq!(told, tried > 5, "{gateway:?} {tried}: {head}");
            assert_eq!(
                head.contains("x-jeton"),
                tried > 5,
                "{gateway:?} {tried}: {head}"
            );
        }
    }
}
