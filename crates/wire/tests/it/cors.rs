//! CORS on denials: a script that may read the answer sees the limit fields; others see nothing.

use jeton_wire::{
    cors::{Cors, CorsError},
    ratelimit::{Dialect, Dialects},
};

fn fields(cors: &Cors, origin: &[&str], dialects: Dialects) -> Vec<String> {
    let mut fields = Vec::new();
    let lines = origin.iter().map(|line| line.as_bytes());
    cors.write_fields(
        lines,
        dialects,
        &mut String::from("stale"),
        |name, value| {
            fields.push(format!("{name}: {value}"));
        },
    );
    fields
}

#[test]
fn a_listed_origin_is_answered_and_named() {
    let cors = Cors::new(&["https://app.example", "http://localhost:5173"], true).unwrap();
    let dialects = Dialects::new(&[Dialect::Draft7, Dialect::Envoy]).unwrap();
    for origin in ["https://app.example", "http://localhost:5173"] {
        assert_eq!(
            fields(&cors, &[origin], dialects),
            [
                &format!("access-control-allow-origin: {origin}"),
                "access-control-allow-credentials: true",
                "access-control-expose-headers: retry-after, ratelimit-policy, ratelimit, \
                 x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset",
                "vary: Origin",
            ]
        );
    }
}

#[test]
fn other_origins_are_not_but_caches_are_told() {
    let cors = Cors::new(&["https://app.example"], false).unwrap();
    for origin in [
        [].as_slice(),
        &["https://evil.example"],
        &["https://app.example.evil.example"],
        &["https://app.exampl"],
        &["http://app.example"],
        &["https://app.example:8443"],
        &["HTTPS://APP.EXAMPLE"],
        &["null"],
        &["*"],
        &[""],
        &["https://app.example", "https://app.example"],
        &["https://app.example, https://evil.example"],
    ] {
        assert_eq!(
            fields(&cors, origin, Dialects::default()),
            ["vary: Origin"],
            "{origin:?}"
        );
    }
}

#[test]
fn any_origin_needs_no_name() {
    let cors = Cors::new(&["*"], false).unwrap();
    for origin in [[].as_slice(), &["https://evil.example"], &["null"]] {
        assert_eq!(
            fields(&cors, origin, Dialect::None.into()),
            [
                "access-control-allow-origin: *",
                "access-control-expose-headers: retry-after",
            ]
        );
    }
}

#[test]
fn settings_that_cannot_be_are_refused_with_their_fix() {
    let refused = |origins: &[&str], credentials| Cors::new(origins, credentials).unwrap_err();
    assert_eq!(refused(&[], false), CorsError::Empty);
    assert_eq!(refused(&["*"], true), CorsError::AnyWithCredentials);
    assert_eq!(
        refused(&["*", "https://app.example"], false),
        CorsError::AnyAmongOthers
    );
    for (origin, instead) in [
        ("https://app.example/", Some("https://app.example")),
        ("https://App.Example", Some("https://app.example")),
        ("https://app.example:443", Some("https://app.example")),
        ("http://app.example:80/x?y#z", Some("http://app.example")),
        ("app.example", None),
        ("https://", None),
        ("https://:80", None),
        ("://app.example", None),
        ("https://*.example", None),
        ("https://user@app.example", None),
        ("https://app example", None),
        ("https://\u{e9}.example", None),
        ("null", None),
        ("", None),
    ] {
        let expected = CorsError::NotAnOrigin(origin.to_owned(), instead.map(str::to_owned));
        assert_eq!(refused(&[origin], false), expected);
    }
    for good in [
        "capacitor://localhost",
        "chrome-extension://abcdef",
        "https://[2001:db8::1]:8443",
        "http://app.example:443",
    ] {
        assert!(Cors::new(&[good], true).is_ok(), "{good}");
    }
    let messages = [
        refused(&[], false),
        refused(&["*"], true),
        refused(&["*", "*"], false),
        refused(&["https://a/"], false),
        refused(&["a"], false),
    ]
    .map(|error| error.to_string());
    assert_eq!(
        messages,
        [
            "no origin may read the answers; list some, or use \"*\"",
            "\"*\" cannot be combined with credentials; list the origins that may send them",
            "\"*\" includes all other origins; keep only it, or leave it out",
            "no browser sends the origin \"https://a/\"; use \"https://a\"",
            "\"a\" is not an origin; use one such as \"https://app.example\"",
        ]
    );
}
