mod bodies;

use super::*;

fn subject(event: Event<'_>) -> Subject<'_> {
    match event.ask {
        Ask::Decide { subject, .. } | Ask::Reserve { subject, .. } => subject,
        other => panic!("no subject: {other:?}"),
    }
}

fn refusal(json: &str) -> InputError {
    Event::from_trace(json.as_bytes())
        .err()
        .unwrap_or_else(|| panic!("accepted: {json}"))
}

#[test]
fn what_is_wrong_is_named() {
    for (json, field) in [
        (r#"{"at_us":0,"rule":"a","key":"k","cost":-1}"#, "cost"),
        (r#"{"at_us":0,"rule":"a","key":"k","cost":1.5}"#, "cost"),
        (r#"{"at_us":0,"rule":"a","key":"k","cost":1.0}"#, "cost"),
        (r#"{"at_us":0,"rule":"a","key":"k","cost":1e3}"#, "cost"),
        (
            r#"{"at_us":0,"rule":"a","key":"k","cost":18446744073709551616}"#,
            "cost",
        ),
        (r#"{"at_us":0,"rule":"a","key":"k","cost":"1"}"#, "cost"),
        (r#"{"at_us":0,"rule":"a","key":"k","cost":null}"#, "cost"),
        (r#"{"at_us":0,"rule":"a","key":"k","cost":true}"#, "cost"),
        (r#"{"at_us":0,"rule":"a","key":["k",1]}"#, "key[1]"),
        (r#"{"at_us":0,"rule":"a","key":7}"#, "key"),
        (r#"{"at_us":0,"rule":7,"key":"k"}"#, "rule"),
        (r#"{"at_us":-1,"rule":"a","key":"k"}"#, "at_us"),
        (r#"{"rule":"a","key":"k"}"#, "at_us"),
        (r#"{"at_us":0,"op":"drop","rule":"a","key":"k"}"#, "op"),
        (r#"{"at_us":0,"rule":"a","key":"k","colour":1}"#, "colour"),
        (
            r#"{"at_us":0,"charges":[{"rule":"a","key":"k"},{"rule":"a","cost":-2}]}"#,
            "charges[1].cost",
        ),
        (
            r#"{"at_us":0,"charges":[{"rule":"a","colour":1}]}"#,
            "charges[0].colour",
        ),
        (r#"{"at_us":0,"charges":[{"key":"a"}]}"#, "charges[0]"),
        (r#"{"at_us":0,"charges":[]}"#, "charges"),
        (r#"{"at_us":0,"charges":[{"rule":"a"}],"cost":1}"#, "cost"),
        (r#"{"at_us":0,"charges":[{"rule":"a"}],"key":"k"}"#, "key"),
        (
            r#"{"at_us":0,"charges":[{"rule":"a"}],"rule":"a"}"#,
            "charges",
        ),
        (r#"{"at_us":0,"request":{},"rule":"a"}"#, "request"),
        (
            r#"{"at_us":0,"request":{},"charges":[{"rule":"a"}]}"#,
            "request",
        ),
        (r#"{"at_us":0,"request":{},"key":"k"}"#, "key"),
        (
            r#"{"at_us":0,"request":{"client_ip":"1.2.3"}}"#,
            "request.client_ip",
        ),
        (r#"{"at_us":0,"request":{"agent":"x"}}"#, "request.agent"),
        (
            r#"{"at_us":0,"request":{"headers":{"x":1}}}"#,
            "request.headers.x",
        ),
        (
            r#"{"at_us":0,"op":"reset","rule":"a","key":"k","cost":1}"#,
            "cost",
        ),
        (r#"{"at_us":0,"rule":"a","rule":"b","key":"k"}"#, "rule"),
        (r#"{"at_us":0,"charges":[["a","k"]]}"#, "charges[0]"),
        (r#"{"at_us":0,"request":["GET"]}"#, "request"),
    ] {
        let error = refusal(json);
        let whole = error.to_string();
        assert!(
            error.field == field || whole.contains(&format!("`{field}`")),
            "{json}: {whole}"
        );
    }
}

#[test]
fn a_number_is_never_quoted_as_another_one() {
    for written in ["1e3", "1.0", "1.5", "18446744073709551616", "-0", "-1e2"] {
        for json in [
            format!(r#"{{"at_us":0,"rule":"a","key":"k","cost":{written}}}"#),
            format!(r#"{{"at_us":{written},"rule":"a","key":"k"}}"#),
            format!(r#"{{"at_us":0,"rule":"a","key":{written}}}"#),
            format!(r#"{{"at_us":0,"rule":{written},"key":"k"}}"#),
            format!(r#"{{"at_us":0,"rule":"a","key":["k",{written}]}}"#),
            format!(r#"{{"at_us":0,"op":{written},"rule":"a","key":"k"}}"#),
            format!(r#"{{"at_us":0,"charges":{written}}}"#),
            format!(r#"{{"at_us":0,"request":{written}}}"#),
            format!(r#"{{"at_us":0,"request":{{"headers":{{"x":{written}}}}}}}"#),
            format!(r#"{{"at_us":0,"request":{{"client_ip":{written}}}}}"#),
            written.to_owned(),
        ] {
            let error = refusal(&json);
            let said = error.what.replace("from 0 to 18446744073709551615", "");
            let is_quoted = said.contains(&format!("`{written}`"));
            let has_digit = said.contains(|c: char| c.is_ascii_digit());
            assert!(is_quoted || !has_digit, "{json}: {error}");
        }
    }
    let error = refusal(r#"{"at_us":0,"rule":"a","key":"k","cost":1e3}"#);
    assert!(
        error.what.contains("without sign, point or exponent"),
        "{error}"
    );
    let error = refusal(r#"{"at_us":0,"rule":"a","key":"k","cost":-9007199254740993}"#);
    assert!(
        error.what.contains("-9007199254740993 is negative"),
        "{error}"
    );
}

#[test]
fn a_verb_is_a_text() {
    for op in [
        r#"{"take":null}"#,
        r#"["take"]"#,
        "null",
        "0",
        "true",
        r#""Take""#,
    ] {
        let error = refusal(&format!(r#"{{"at_us":0,"op":{op},"rule":"a","key":"k"}}"#));
        assert_eq!(error.field, "op", "{op}: {error}");
    }
    let error = refusal(r#"{"at_us":0,"op":"drop","rule":"a","key":"k"}"#);
    assert!(
        error.what.contains("`take`, `check`, `refund`, `reset`"),
        "{error}"
    );
}

#[test]
fn refusals_are_in_words_of_json_and_not_of_a_library() {
    for (json, said) in [
        (r#"{"rule":7,"key":"k"}"#, "`rule`: must be a text, not 7"),
        (
            r#"{"rule":"a","key":{}}"#,
            "`key`: must be a text or an array of texts, not an object",
        ),
        (
            r#"{"charges":[{"key":"a"}]}"#,
            "`charges[0]`: `rule` is missing",
        ),
        (r#"{"rule":"a","rule":"b"}"#, "`rule` stands twice"),
        (
            r#"{"request":{"agent":"x"}}"#,
            "`request.agent`: there is no `agent`; there are `method`, `path`, `host`, \
             `client_ip`, `headers`, `domain`, `descriptors`",
        ),
        ("[]", "the JSON must be an object, not an array"),
        (
            "{}",
            "nothing to charge is named; write `rule` and `key`, `charges`, or `request`",
        ),
        ("{", "not JSON: it ends too early, at column 1"),
        ("nonsense", "not JSON: this is no word of JSON, at column 2"),
        (
            r#"{"rule":"a"} x"#,
            "not JSON: more follows its end, at column 14",
        ),
    ] {
        let error = Event::from_body(json.as_bytes(), Op::Take).unwrap_err();
        assert_eq!(error.to_string(), said, "{json}");
    }
    let error = refusal(r#"{"at_us":0,"op":"drop","rule":"a","key":"k"}"#);
    assert_eq!(
        error.to_string(),
        "`op`: \"drop\" is none of `take`, `check`, `refund`, `reset`, `reserve`, `extend`, \
         `commit`, `cancel`, `block`, `unblock`"
    );
}

#[test]
fn what_is_no_event_is_refused_as_a_whole() {
    for json in [
        r#"{"at_us":0}"#,
        "{",
        "",
        "[]",
        r#"[0,"take","a","k"]"#,
        r#"{"at_us":0,"rule":"a","key":"k"} x"#,
    ] {
        assert_eq!(refusal(json).field, "", "{json}");
    }
}

#[test]
fn numbers_are_read_exactly_and_absurd_costs_stay_absurd() {
    let event =
        r#"{"at_us":18446744073709551615,"rule":"a","key":"k","cost":18446744073709551615}"#;
    let event = Event::from_trace(event.as_bytes()).unwrap();
    assert_eq!(event.at_us, u64::MAX);
    let Subject::One(charge) = subject(event) else {
        panic!("one charge")
    };
    assert_eq!(charge.cost, Some(Cost::MAX));
}

#[test]
fn the_body_of_a_call_has_no_time_and_no_verb() {
    for field in ["at_us", "op", "for_us", "handle"] {
        let json = format!(r#"{{"rule":"a","key":"k","{field}":"take"}}"#);
        let error = Event::from_body(json.as_bytes(), Op::Take).unwrap_err();
        assert!(error.to_string().contains(field), "{error}");
    }
}

#[test]
fn escapes_and_parts_of_keys_are_read() {
    let event = Event::from_trace(br#"{"at_us":0,"rule":"\u0061","key":["x\n","y"]}"#).unwrap();
    let Subject::One(charge) = subject(event) else {
        panic!("one charge")
    };
    assert_eq!(
        (charge.rule.as_str(), charge.parts().as_slice()),
        ("a", &["x\n", "y"][..])
    );
}
