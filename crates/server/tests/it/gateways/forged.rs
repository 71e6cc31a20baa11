//! What a client writes into the fields that Jeton believes from gateways.

use super::remaining;
use super::setup::{ALL, Gateway, Setup};

/// A request that pretends to be another one, from `address`.
fn pretending(setup: &Setup, address: &str, arguments: &[&str]) -> u16 {
    let fields = [
        format!("X-Forwarded-For: {address}"),
        format!("X-Real-IP: {address}"),
        format!("Forwarded: for={address}"),
        "X-Forwarded-Method: GET".to_owned(),
        "X-Forwarded-Uri: /free".to_owned(),
        "X-Forwarded-Host: elsewhere.example".to_owned(),
        "X-Original-Method: GET".to_owned(),
        "X-Original-URI: /free".to_owned(),
        "X-Original-URL: http://elsewhere.example/free".to_owned(),
        "X-Http-Method-Override: GET".to_owned(),
    ];
    let mut all: Vec<&str> = Vec::new();
    for field in &fields {
        all.extend(["-H", field]);
    }
    all.extend(arguments);
    setup.ask(&all).status
}

#[test]
fn forged_addresses_methods_and_paths_change_nothing() {
    for gateway in ALL {
        let setup = Setup::start(gateway);
        let login = ["--interface", "127.0.0.4", "-d", "user=alice", "/login"];
        for number in 1..=5 {
            let address = format!("198.51.100.{number}");
            assert_eq!(pretending(&setup, &address, &login), 200, "{gateway:?}");
        }
        assert_eq!(
            pretending(&setup, "198.51.100.6", &login),
            429,
            "{gateway:?}"
        );
        assert_eq!(remaining(&setup, "login", "127.0.0.4"), 0, "{gateway:?}");
        for number in 1..=6 {
            let key = format!("198.51.100.{number}");
            assert_eq!(remaining(&setup, "login", &key), 5, "{gateway:?}");
        }
    }
}

#[test]
fn a_plan_is_the_gateways_word() {
    for gateway in ALL {
        let setup = Setup::start(gateway);
        let alice = ["-H", "X-Api-Key: alice"];
        let ask = |fields: &[&str]| setup.ask(&[&alice[..], fields, &["/"]].concat()).status;
        for plan in [
            "X-Plan: pro",
            "x-plan: pro",
            "X_Plan: pro",
            "X-Plan: banned",
        ] {
            assert_eq!(ask(&["-H", plan]), 200, "{gateway:?} {plan}");
            assert!(
                !setup.last_head().contains("\r\nx-plan:"),
                "{gateway:?} {plan}"
            );
        }
        for _ in 0..6 {
            assert_eq!(
                ask(&["-H", "X-Plan: pro", "-H", "X-Plan: pro"]),
                200,
                "{gateway:?}"
            );
        }
        assert_eq!(ask(&["-H", "X-Plan: pro"]), 429, "{gateway:?}");

        let pro = ["-H", "X-Api-Key: key-of-a-pro", "-H", "X-Plan: banned", "/"];
        for _ in 0..11 {
            assert_eq!(setup.ask(&pro).status, 200, "{gateway:?}");
        }
        let seen = setup.ask(&pro);
        if gateway.shows_what_is_left() {
            let policy = seen.field("ratelimit-policy").expect("a policy");
            assert!(
                policy.contains("\"api-key\";q=1000;w=3600"),
                "{gateway:?}: {policy}"
            );
        }
        let thief = setup.ask(&["-H", "X-Api-Key: key-of-a-thief", "-H", "X-Plan: pro", "/"]);
        assert_eq!(
            (thief.status, thief.field("retry-after")),
            (403, None),
            "{gateway:?}: {thief:?}"
        );
        let kind = thief.field("content-type").expect("a type");
        assert!(!kind.contains(','), "{gateway:?}: one field: {kind}");
        let limits = (thief.field("ratelimit-policy"), thief.field("ratelimit"));
        assert_eq!(limits, (None, None), "{gateway:?}");
    }
}

#[test]
fn clients_of_nginx_cannot_ask_by_themselves() {
    let setup = Setup::start(Gateway::Nginx);
    assert_eq!(setup.ask(&["/jeton-auth"]).status, 404);
    assert_eq!(setup.ask(&["/jeton-auth?deny=429"]).status, 404);
}
