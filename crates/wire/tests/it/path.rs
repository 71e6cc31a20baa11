//! The normal form of a path: a table, field case F41, and laws over arbitrary bytes.

use std::borrow::Cow;

use jeton_wire::path::{fold_case, normal_form, other_readings};
use proptest::prelude::*;

#[track_caller]
fn check(path: &str, expected: &str) {
    assert_eq!(normal_form(path.as_bytes()), expected, "{path:?}");
}

#[test]
fn f41_eight_spellings_of_login_are_one_path() {
    for spelling in [
        "/login",
        "/LOGIN",
        "/login/",
        "//login",
        "/%6Cogin",
        "/%6cogin",
        "/x/../login",
        "/%2e/Login//",
        "/./login",
        "/login?x=1",
        "/login;jsessionid=1",
        "/x/..;/login",
    ] {
        let normal = normal_form(spelling.as_bytes());
        assert_eq!(fold_case(&normal), "/login", "{spelling}");
    }
}

#[test]
fn f41_what_others_take_for_slashes_has_readings_of_its_own() {
    for spelling in [
        "/%2flogin",
        "/%2Flogin",
        "/x/..%2flogin",
        "/x%2f..%2flogin",
        "/.%2flogin",
        "/login%2f..%2flogin",
        "/login/..%2flogin",
        "/a%2f../login",
        "/x/%2e%2e%2flogin",
        "/login%2f",
        "/x;a%2f..%2f../login",
        "/x%5c..%5Clogin",
        "/x\\..\\login",
        "\\login",
        "/%2flogin?next=%2f",
    ] {
        assert_eq!(
            other_readings(spelling.as_bytes()),
            ["/login"],
            "{spelling}"
        );
    }
    for only in [
        "/login",
        "/a%20b",
        "/a%252fb",
        "/a%2",
        "/%",
        "/a?b=%2f\\",
        "*",
    ] {
        assert!(other_readings(only.as_bytes()).is_empty(), "{only}");
    }
    assert_eq!(other_readings(b"/%%2fa"), ["/%25/a"]);
    // To nginx this is /login, to a server that takes every kind it is /a/login.
    assert_eq!(
        other_readings(b"/a%5Cb%2f..%2flogin"),
        ["/login", "/a/login"]
    );
}

#[test]
fn dot_segments_are_resolved_and_never_leave_the_root() {
    check("/a/b/../c", "/a/c");
    check("/a/./b/.", "/a/b");
    check("/a/b/..", "/a");
    check("/..", "/");
    check("/../../a", "/a");
    check("/a/../../../b", "/b");
    check("/a/%2e%2E/b", "/b");
    check("/a/.%2e/b", "/b");
    check("/a/%2e/b", "/a/b");
    check("/a//../b", "/b");
    check("/...", "/...");
    check("/.a/..b/c.", "/.a/..b/c.");
}

#[test]
fn slashes_are_folded_and_the_last_one_dropped() {
    check("/", "/");
    check("", "/");
    check("//", "/");
    check("///a///b///", "/a/b");
    check("a/b", "/a/b");
    check("/?/a/", "/");
    check("?", "/");
}

#[test]
fn an_encoded_slash_is_not_a_slash() {
    check("/a%2fb", "/a%2Fb");
    check("/a%2Fb", "/a%2Fb");
    check("/a/..%2Fb", "/a/..%2Fb");
    check("/a%252Fb", "/a%252Fb");
    check("/a%5cb", "/a%5Cb");
}

#[test]
fn what_a_segment_may_hold_is_decoded_and_the_rest_encoded() {
    check("/%7Euser/%41%2d%5F", "/~user/A-_");
    check("/a%40b%3A%2B%2c%21", "/a@b:+,!");
    check("/a b\"<>\\^`{|}", "/a%20b%22%3C%3E%5C%5E%60%7B%7C%7D");
    check("/caf\u{e9}", "/caf%C3%A9");
    check("/caf%c3%a9", "/caf%C3%A9");
    check("/a%00b\u{1}%1f\u{7f}", "/a%00b%01%1F%7F");
    check("/a%3fb%23c", "/a%3Fb%23c");
    check("/a+b", "/a+b");
}

#[test]
fn a_lone_percent_sign_stands_for_itself() {
    check("/%", "/%25");
    check("/%zz", "/%25zz");
    check("/%4", "/%254");
    check("/%%36c", "/%256c");
    check("/%25zz", "/%25zz");
    check("/100%/x", "/100%25/x");
}

#[test]
fn parameters_are_cut_from_every_segment() {
    check("/a;v=1/b;w=2", "/a/b");
    check("/;/a", "/a");
    check("/a/..;x/b", "/b");
    check("/a%3Bb", "/a%3Bb");
    check("/a%3bb", "/a%3Bb");
}

#[test]
fn the_query_ends_the_path() {
    check("/a?b=/../c", "/a");
    check("/a#b", "/a");
    check("/a/?b", "/a");
    check("/a%3F?b", "/a%3F");
}

#[test]
fn the_server_wide_target_stays() {
    check("*", "*");
    check("*?x", "*");
    check("/*", "/*");
}

#[test]
fn a_normal_path_is_borrowed() {
    for path in ["/", "/a", "/a/", "/a/b?c=d", "/a%2Fb/@x:y", "/a/b/#", "*"] {
        assert!(
            matches!(normal_form(path.as_bytes()), Cow::Borrowed(_)),
            "{path}"
        );
    }
    assert!(matches!(fold_case("/a%2Fb"), Cow::Borrowed(_)));
}

#[test]
fn folding_leaves_percent_digits_alone() {
    assert_eq!(fold_case("/A%2FB%C3%89C"), "/a%2Fb%C3%89c");
    assert_eq!(fold_case("/%2F"), "/%2F");
    assert_eq!(fold_case("%"), "%");
    assert_eq!(fold_case("/\u{c9}%A"), "/\u{c9}%A");
}

/// Bytes that make trouble, drawn often.
fn troubled() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec![
            "/", "//", ".", "..", "%2e", "%2E", "%2f", "%2F", "%", "%%", "%3", "%zz", "%25", "%36",
            "%6c", ";", "%3b", "?", "#", "a", "B", "c", "\\", "%5c", "%00", "\u{e9}", "%C3%a9", " ",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_form_of_a_form_is_itself(path in troubled()) {
        let once = normal_form(&path).into_owned();
        prop_assert_eq!(normal_form(once.as_bytes()), once.as_str());
        prop_assert!(matches!(normal_form(once.as_bytes()), Cow::Borrowed(_)));
    }

    #[test]
    fn other_readings_are_forms_and_the_last_has_no_slash_left(path in troubled()) {
        let all = other_readings(&path);
        prop_assert!(all.len() <= 3);
        for reading in &all {
            prop_assert_eq!(normal_form(reading.as_bytes()), reading.as_str());
        }
        let last = all.last().cloned().unwrap_or_else(|| normal_form(&path).into_owned());
        prop_assert!(!last.contains("%2F") && !last.contains("%5C"), "{last}");
        prop_assert!(other_readings(last.as_bytes()).is_empty());
    }

    #[test]
    fn folding_commutes_with_the_form(path in troubled()) {
        let once = fold_case(&normal_form(&path)).into_owned();
        prop_assert_eq!(normal_form(once.as_bytes()), once.as_str());
        prop_assert_eq!(fold_case(&once), once.as_str());
    }

    #[test]
    fn the_form_is_a_clean_absolute_path(path in prop::collection::vec(any::<u8>(), 0..200)) {
        let form = normal_form(&path);
        prop_assert!(form == "*" || form.starts_with('/'));
        prop_assert!(form.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert!(form == "/" || !form.ends_with('/'));
        prop_assert!(!form.contains(['?', '#', ';', '\\']));
        prop_assert!(form.split('/').all(|segment| segment != "." && segment != ".."));
        prop_assert!(!form.contains("//"));
    }

    #[test]
    fn encoding_a_plain_segment_changes_nothing(name in "[a-zA-Z0-9._~@:-]{3,12}", lower: bool) {
        let plain = format!("/x/{name}/y");
        let encoded: String = name
            .bytes()
            .map(|byte| if lower { format!("%{byte:02x}") } else { format!("%{byte:02X}") })
            .collect();
        let spelled = format!("/x/{encoded}/y");
        prop_assert_eq!(normal_form(spelled.as_bytes()), normal_form(plain.as_bytes()));
    }

    #[test]
    fn a_detour_changes_nothing(base in troubled(), aside in "[a-z]{1,8}") {
        let base: Vec<u8> = base.into_iter().filter(|byte| !b"?#*".contains(byte)).collect();
        let detour = [base.as_slice(), b"/", aside.as_bytes(), b"/.//%2e%2E/"].concat();
        prop_assert_eq!(normal_form(&detour), normal_form(&base));
    }
}
