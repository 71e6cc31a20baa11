//! Problem documents and the choice of their form: field case F52, tables, laws.

use jeton_wire::problem::{Format, Problem};
use proptest::prelude::*;
use serde_json::{Value, json};

fn format(accept: &str) -> Format {
    Format::from_accept([accept.as_bytes()])
}

fn parsed(problem: &Problem<'_>) -> Value {
    serde_json::from_str(&problem.body(Format::Json)).expect("JSON")
}

#[test]
fn f52_over_the_limit_is_429_with_a_body_by_accept() {
    let problem = Problem::quota_exceeded(&["login", "everyone"], Some(2_000_001));
    assert_eq!(problem.status(), 429);
    assert_eq!(problem.retry_after_s(), Some(3));
    assert_eq!(
        format("application/json").content_type(),
        "application/problem+json"
    );
    assert_eq!(
        parsed(&problem),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429,
            "detail": "More was asked for than the limit allows. Try again in 3 seconds.",
            "violated-policies": ["login", "everyone"],
            "retry-after": 3,
        })
    );
    for accept in ["text/html", "text/plain"] {
        assert_eq!(format(accept).content_type(), "text/plain; charset=utf-8");
        assert_eq!(
            problem.body(format(accept)),
            "429 Too Many Requests. More was asked for than the limit allows. \
             Try again in 3 seconds.\n"
        );
    }
}

#[test]
fn where_waiting_does_not_help_no_wait_is_told() {
    for problem in [
        Problem::cost_impossible(&["api"]),
        Problem::quota_exceeded(&["api"], None),
        Problem::forbidden(),
        Problem::bad_gateway(),
        Problem::gateway_timeout(),
    ] {
        assert_eq!(problem.retry_after_s(), None);
        assert_eq!(parsed(&problem).get("retry-after"), None);
        assert!(!problem.body(Format::Text).contains("Try again"));
    }
}

#[test]
fn each_problem_has_its_status_and_title() {
    let none = [];
    for (problem, status, title) in [
        (Problem::forbidden(), 403, "Forbidden"),
        (Problem::bad_request("what is this"), 400, "Bad Request"),
        (
            Problem::invalid_field("rule", "no such rule"),
            400,
            "Bad Request",
        ),
        (Problem::conflicting_length(), 400, "Bad Request"),
        (Problem::length_required(), 411, "Length Required"),
        (Problem::content_too_large(1024), 413, "Content Too Large"),
        (Problem::unknown_transfer_coding(), 501, "Not Implemented"),
        (Problem::request_timeout(), 408, "Request Timeout"),
        (
            Problem::header_too_large(),
            431,
            "Request Header Fields Too Large",
        ),
        (Problem::bad_gateway(), 502, "Bad Gateway"),
        (Problem::gateway_timeout(), 504, "Gateway Timeout"),
        (Problem::new(404, "no such page"), 404, "Not Found"),
        (Problem::new(418, "short and stout"), 418, "Client Error"),
        (Problem::new(599, "what"), 599, "Server Error"),
        (
            Problem::reduced_capacity(&none, Some(0)),
            503,
            "Request cannot be satisfied due to temporary server capacity constraints",
        ),
    ] {
        let document = parsed(&problem);
        assert_eq!(problem.status(), status);
        assert_eq!(document["status"], status);
        assert_eq!(document["title"], title);
        assert!(
            problem
                .body(Format::Text)
                .starts_with(&format!("{status} "))
        );
    }
}

#[test]
fn a_wrong_member_is_named() {
    let problem = Problem::invalid_field("charges[2].cost", "A cost is a whole number.");
    assert_eq!(
        parsed(&problem),
        json!({
            "type": "about:blank",
            "title": "Bad Request",
            "status": 400,
            "detail": "A cost is a whole number.",
            "field": "charges[2].cost",
        })
    );
    assert_eq!(parsed(&problem.with_detail("No."))["detail"], "No.");
}

#[test]
fn every_control_character_is_escaped() {
    let detail: String = ('\0'..='\u{20}')
        .chain(['"', '\\', '\u{7f}', '\u{2028}'])
        .collect();
    let problem = Problem::bad_request(detail.as_str());
    assert_eq!(parsed(&problem)["detail"], json!(detail));
}

#[test]
fn one_second_is_singular() {
    let problem = Problem::reduced_capacity(&[], Some(1));
    assert!(
        problem
            .body(Format::Text)
            .ends_with("Try again in 1 second.\n")
    );
}

#[test]
fn json_is_the_default() {
    assert_eq!(Format::from_accept([]), Format::Json);
    for accept in [
        "",
        "*/*",
        "application/*",
        "application/json",
        "application/problem+json",
        "APPLICATION/JSON",
        "application/vnd.api+json",
        "application/json, text/plain, */*",
        "text/plain, application/json",
        "image/png",
        "text/css,*/*;q=0.1",
        "text/xml",
        "garbage",
        "text/html;q=0",
        "text/*;q=0, application/json;q=0",
        "text/html;q=0.4, application/json;q=0.5",
        "*/*, application/json",
        "text/html;q=0.5, */*",
        "text/plain;Q=0.1, application/json;q=0.2",
        "application/vnd.api+json, text/plain;q=0.9",
    ] {
        assert_eq!(format(accept), Format::Json, "{accept:?}");
    }
}

#[test]
fn text_is_for_those_who_ask_for_it() {
    for accept in [
        "text/html",
        "text/plain",
        "text/*",
        "Text/HTML",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
        "text/html, */*",
        "text/html, */*; q=0.01",
        "text/plain;charset=utf-8",
        "text/html;q=0.6, application/json;q=0.5",
        "application/json;q=0, */*",
        "application/problem+json;q=0.2, text/plain;Q=0.3",
        "application/json;profile=\"a,text/html\";q=0.1, text/plain;q=0.2",
        "text/html;level=1;q=0.7 ; ext=\"x\\\";q=0\", application/json;q=0.6",
        "text/html , ,",
        "text/html;ext=\"a\\\",application/json,b\";q=0.5, application/json;q=0.2",
        "application/json;q=x, text/html;q=0.001",
    ] {
        assert_eq!(format(accept), Format::Text, "{accept:?}");
    }
}

#[test]
fn lines_of_accept_are_one_list() {
    let lines = [b"application/json;q=0.5".as_slice(), b"text/html;q=0.9"];
    assert_eq!(Format::from_accept(lines), Format::Text);
}

#[test]
fn malformed_weights_drop_their_range_only() {
    for weight in [
        "2", "1.001", "0.1234", "", "-1", ".5", "0,5", "1.", "0.", "0.:", "0./", "1.000",
    ] {
        let accept = format!("text/html;q={weight}, application/json;q=0.1");
        let well_formed = ["1.", "1.000"].contains(&weight);
        let expected = if well_formed {
            Format::Text
        } else {
            Format::Json
        };
        assert_eq!(format(&accept), expected, "{weight:?}");
    }
}

fn accept() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "text", "html", "plain", "application", "json", "+json", "*", "/", ",", ";", "q=", "0.",
            "5", "1", "\"", "\\", " ",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn any_bytes_choose_a_format(line in accept()) {
        let chosen = Format::from_accept([line.as_slice()]);
        // Nothing that ends in a list of its own can undo what a plain list asks for.
        prop_assert_eq!(Format::from_accept([line.as_slice(), b""]), chosen);
    }

    #[test]
    fn weights_decide(text in 0_u16..=1000, json in 0_u16..=1000) {
        let q = |value: u16| format!("{}.{:03}", value / 1000, value % 1000);
        let accept = format!("application/json;q={}, text/plain;q={}", q(json), q(text));
        let expected = if text > json { Format::Text } else { Format::Json };
        prop_assert_eq!(format(&accept), expected);
    }

    #[test]
    fn any_text_is_told_unchanged(detail: String, field: String, name: String) {
        let names = [name.as_str()];
        let problem = Problem::quota_exceeded(&names, None).with_detail(detail.as_str());
        prop_assert_eq!(&parsed(&problem)["detail"], &json!(detail));
        prop_assert_eq!(&parsed(&problem)["violated-policies"], &json!([name]));
        let problem = Problem::invalid_field(field.as_str(), "");
        prop_assert_eq!(&parsed(&problem)["field"], &json!(field));
    }
}
