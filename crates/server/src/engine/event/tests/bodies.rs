//! Bodies of every op, read as calls, lines and entries, and held to their schemas.

use super::refusal;
use crate::engine::bodies;
use crate::engine::event::{Ask, Event};
use crate::engine::op::Op;
use jeton::Span;

/// Bodies of every op, with whether they can be carried out.
const BODIES: [(Op, &str, bool); 62] = [
    (Op::Take, r#"{"rule":"a","key":"k"}"#, true),
    (
        Op::Take,
        r#"{"rule":"a","key":["k","l"],"cost":0,"plan":"pro","receipt":true}"#,
        true,
    ),
    (Op::Take, r#"{"rule":"a"}"#, true),
    (
        Op::Take,
        r#"{"charges":[{"rule":"a","key":"k","cost":2,"plan":"pro"}],"receipt":false}"#,
        true,
    ),
    (
        Op::Take,
        r#"{"request":{"method":"GET","path":"/","headers":{"x":["a","b"]}},"cost":3}"#,
        true,
    ),
    (
        Op::Take,
        r#"{"request":{"client_ip":"::1","host":"h","descriptors":{"d":"v"}}}"#,
        true,
    ),
    (Op::Take, "{}", false),
    (Op::Take, r#"{"key":"k"}"#, false),
    (Op::Take, r#"{"rule":"a","receipt":"r"}"#, false),
    (Op::Take, r#"{"rule":"a","receipt":null}"#, false),
    (Op::Take, r#"{"rule":"a","cost":1.5}"#, false),
    (Op::Take, r#"{"rule":"a","cost":-1}"#, false),
    (Op::Take, r#"{"rule":"a","plan":7}"#, false),
    (Op::Take, r#"{"rule":"a","charges":[{"rule":"a"}]}"#, false),
    (Op::Take, r#"{"rule":"a","request":{}}"#, false),
    (Op::Take, r#"{"charges":[]}"#, false),
    (Op::Take, r#"{"charges":[{"rule":"a"}],"cost":1}"#, false),
    (Op::Take, r#"{"charges":[{"rule":"a"}],"plan":"p"}"#, false),
    (
        Op::Take,
        r#"{"charges":[{"rule":"a","receipt":"r"}]}"#,
        false,
    ),
    (Op::Take, r#"{"charges":[{"key":"a"}]}"#, false),
    (Op::Take, r#"{"request":{},"plan":"p"}"#, false),
    (
        Op::Take,
        r#"{"request":{"descriptors":{"d":["v"]}}}"#,
        false,
    ),
    (Op::Take, r#"{"request":{"headers":{"x":null}}}"#, false),
    (Op::Take, r#"{"rule":"a","ttl":"1m"}"#, false),
    (
        Op::Check,
        r#"{"rule":"a","key":"k","cost":7,"plan":"p"}"#,
        true,
    ),
    (Op::Check, r#"{"rule":"a","receipt":true}"#, false),
    (
        Op::Refund,
        r#"{"rule":"a","key":"k","receipt":"r","cost":2}"#,
        true,
    ),
    (
        Op::Refund,
        r#"{"charges":[{"rule":"a","receipt":"r"},{"rule":"b","cost":1}]}"#,
        true,
    ),
    (Op::Refund, r#"{"request":{}}"#, true),
    (Op::Refund, r#"{"receipt":"r"}"#, false),
    (Op::Refund, r#"{"request":{},"receipt":"r"}"#, false),
    (Op::Refund, r#"{"rule":"a","receipt":true}"#, false),
    (Op::Reset, r#"{"rule":"a","key":"k"}"#, true),
    (Op::Reset, r#"{"key":"k"}"#, true),
    (Op::Reset, r#"{"key":["k","l"]}"#, true),
    (Op::Reset, r#"{"charges":[{"rule":"a","key":"k"}]}"#, true),
    (Op::Reset, r#"{"rule":"a","cost":1}"#, false),
    (Op::Reset, r#"{"charges":[{"rule":"a"}],"key":"k"}"#, false),
    (Op::Reset, "{}", false),
    (Op::Reserve, r#"{"rule":"a","key":"k","ttl":"10m"}"#, true),
    (Op::Reserve, r#"{"request":{},"ttl":"007s"}"#, true),
    (Op::Reserve, r#"{"rule":"a","ttl":600000}"#, false),
    (Op::Reserve, r#"{"rule":"a","ttl":"10"}"#, false),
    (Op::Reserve, r#"{"rule":"a","ttl":"0s"}"#, false),
    (Op::Reserve, r#"{"rule":"a","handle":"h"}"#, false),
    (Op::Extend, r#"{"handle":"h"}"#, true),
    (Op::Extend, r#"{"handle":"h","ttl":"1h"}"#, true),
    (Op::Extend, r#"{"ttl":"1h"}"#, false),
    (Op::Commit, r#"{"handle":"h"}"#, false),
    (Op::Commit, r#"{"handle":"h","actual":3}"#, true),
    (Op::Commit, r#"{"handle":"h","actual":0}"#, true),
    (Op::Commit, r#"{"handle":"h","actual":[3]}"#, false),
    (Op::Commit, r#"{"handle":"h","actual":1.5}"#, false),
    (Op::Commit, r#"{"handle":"h","actual":"3"}"#, false),
    (Op::Cancel, r#"{"handle":"h"}"#, true),
    (Op::Cancel, r#"{"handle":7}"#, false),
    (Op::Block, r#"{"rule":"a","key":"k","for":"10m"}"#, true),
    (Op::Block, r#"{"key":["k","l"]}"#, true),
    (Op::Block, r#"{"rule":"a"}"#, false),
    (Op::Block, r#"{"key":"k","for":60}"#, false),
    (Op::Unblock, r#"{"key":"k"}"#, true),
    (Op::Unblock, r#"{"key":"k","for":"1m"}"#, false),
];

fn schema_of(op: Op) -> serde_json::Value {
    let schema = match op {
        Op::Take => schemars::schema_for!(bodies::Take<'_>),
        Op::Check => schemars::schema_for!(bodies::Check<'_>),
        Op::Refund => schemars::schema_for!(bodies::Refund<'_>),
        Op::Reset => schemars::schema_for!(bodies::Reset<'_>),
        Op::Reserve => schemars::schema_for!(bodies::Reserve<'_>),
        Op::Extend => schemars::schema_for!(bodies::Extend<'_>),
        Op::Commit => schemars::schema_for!(bodies::Commit<'_>),
        Op::Cancel => schemars::schema_for!(bodies::Cancel<'_>),
        Op::Block => schemars::schema_for!(bodies::Block<'_>),
        Op::Unblock => schemars::schema_for!(bodies::Unblock<'_>),
    };
    schema.to_value()
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    for (op, name) in Op::ALL {
        let schema = schema_of(op);
        assert!(
            jsonschema::draft202012::meta::is_valid(&schema),
            "{name}: {schema}"
        );
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let of_op = BODIES.iter().filter(|(of, _, _)| *of == op);
        for (_, body, is_good) in of_op {
            let read = Event::from_body(body.as_bytes(), op);
            let value = serde_json::from_str(body).unwrap();
            let said = (read.is_ok(), validator.is_valid(&value));
            assert_eq!(said, (*is_good, *is_good), "{name} {body}: {read:?}");
        }
        assert!(schema["description"].is_string(), "{name}");
    }
}

#[test]
fn a_trace_says_its_times_in_microseconds_and_names_its_reservations() {
    let line =
        br#"{"at_us":1,"op":"reserve","rule":"a","key":"k","ttl_us":5000000,"handle":"mine"}"#;
    let Ask::Reserve { ttl, handle, .. } = Event::from_trace(line).unwrap().ask else {
        panic!("a reservation")
    };
    assert_eq!(ttl.map(Span::as_micros), Some(5_000_000));
    assert_eq!(handle.unwrap().as_str(), "mine");
    let line = br#"{"at_us":1,"op":"block","key":"k","for_us":7}"#;
    let Ask::Block { lasting, of } = Event::from_trace(line).unwrap().ask else {
        panic!("a block")
    };
    assert_eq!(
        (lasting.map(Span::as_micros), of.rule.is_none()),
        (Some(7), true)
    );
    for (json, field) in [
        (r#"{"at_us":0,"op":"block","key":"k","for_us":0}"#, "for_us"),
        (
            r#"{"at_us":0,"op":"block","key":"k","for_us":7,"for":"1s"}"#,
            "for_us",
        ),
        (r#"{"at_us":0,"rule":"a","for_us":7}"#, "for_us"),
        (r#"{"at_us":0,"rule":"a","ttl_us":7000}"#, "ttl_us"),
        (
            r#"{"at_us":0,"op":"reserve","rule":"a","ttl_us":7}"#,
            "ttl_us",
        ),
        (r#"{"at_us":0,"op":"reserve","rule":"a","ttl":"8d"}"#, "ttl"),
        (
            r#"{"at_us":0,"op":"extend","handle":"h","ttl":"8d"}"#,
            "ttl",
        ),
        (r#"{"at_us":0,"rule":"a","handle":"mine"}"#, "handle"),
        (r#"{"at_us":0,"op":"cancel"}"#, "handle"),
    ] {
        let error = refusal(json);
        let names = error.field == field || error.what.contains(&format!("`{field}`"));
        assert!(names, "{json}: {error}");
    }
}

#[test]
fn an_entry_of_a_batch_says_its_op_and_no_time() {
    for (op, name) in Op::ALL {
        let of_op = BODIES.iter().filter(|(of, _, _)| *of == op);
        for (_, body, is_good) in of_op {
            let rest = body.strip_prefix('{').unwrap();
            let comma = if rest == "}" { "" } else { "," };
            let entry = format!("{{\"op\":\"{name}\"{comma}{rest}");
            let read = Event::from_entry(entry.as_bytes());
            assert_eq!(read.is_ok(), *is_good, "{entry}: {read:?}");
            assert!(read.is_err() || read.unwrap().op() == op);
        }
    }
    let error = Event::from_entry(br#"{"at_us":0,"rule":"a"}"#).unwrap_err();
    assert_eq!(error.field, "at_us");
}
