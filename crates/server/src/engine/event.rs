//! One event: a line of a trace, or the body of a call to the API.

use jeton::{Cost, Verb};
use smallvec::SmallVec;

use super::fields::{Text, Texts};
use super::input::{InputError, read};
use super::raw::{Body, TraceLine};
use super::request::Request;

/// What is asked for.
#[derive(Debug)]
pub struct Event<'a> {
    /// The instant it happens at, in microseconds since the Unix epoch; 0 outside of traces.
    pub at_us: u64,
    pub(super) verb: Verb,
    pub(super) subject: Subject<'a>,
}

/// What it is asked for.
#[derive(Debug)]
pub(super) enum Subject<'a> {
    /// `rule`, `key` and `cost` beside each other.
    One(Charge<'a>),
    /// `charges`.
    Several(Vec<Charge<'a>>),
    /// `request`: whatever it would be charged.
    Request(Box<Request<'a>>, Cost),
}

/// A charge that the event names.
#[derive(Debug)]
pub(super) struct Charge<'a> {
    pub(super) rule: Text<'a>,
    pub(super) key: Texts<'a>,
    pub(super) cost: Cost,
}

impl<'a> Event<'a> {
    /// Reads a line of a trace.
    ///
    /// ```
    /// use jeton_server::engine::Event;
    /// let event = Event::from_trace(br#"{"at_us":1500000,"rule":"api","key":"alice"}"#).unwrap();
    /// assert_eq!(event.at_us, 1_500_000);
    /// let wrong = Event::from_trace(br#"{"at_us":0,"rule":"api","key":"alice","cost":-1}"#);
    /// assert_eq!(wrong.unwrap_err().field, "cost");
    /// ```
    ///
    /// # Errors
    /// [`InputError`] for anything but exactly one event, naming the member.
    pub fn from_trace(json: &'a [u8]) -> Result<Self, InputError> {
        let TraceLine {
            at_us,
            op,
            rule,
            key,
            cost,
            charges,
            request,
        } = read(json)?;
        let Some(at_us) = at_us else {
            let what = "is missing; write the instant in microseconds since the Unix epoch";
            return Err(InputError::new("at_us", what));
        };
        let verb = op.map_or(Verb::Take, |op| op.0);
        let body = Body {
            rule,
            key,
            cost,
            charges,
            request,
        };
        Ok(Self {
            at_us: at_us.0,
            verb,
            subject: body.subject(verb, "event")?,
        })
    }

    /// Reads the body of a call to the API that does `verb`.
    ///
    /// # Errors
    /// [`InputError`] for anything but exactly one event, naming the member.
    pub fn from_body(json: &'a [u8], verb: Verb) -> Result<Self, InputError> {
        let body: Body<'a> = read(json)?;
        Ok(Self {
            at_us: 0,
            verb,
            subject: body.subject(verb, "body")?,
        })
    }
}

impl Charge<'_> {
    pub(super) fn parts(&self) -> SmallVec<[&str; 2]> {
        self.key.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                 `client_ip`, `headers`",
            ),
            ("[]", "the JSON must be an object, not an array"),
            (
                "{}",
                "the body says nothing to charge; write `rule` and `key`, `charges`, or `request`",
            ),
            ("{", "not JSON: it ends too early, at column 1"),
            ("nonsense", "not JSON: this is no word of JSON, at column 2"),
            (
                r#"{"rule":"a"} x"#,
                "not JSON: more follows its end, at column 14",
            ),
        ] {
            let error = Event::from_body(json.as_bytes(), Verb::Take).unwrap_err();
            assert_eq!(error.to_string(), said, "{json}");
        }
        let error = refusal(r#"{"at_us":0,"op":"drop","rule":"a","key":"k"}"#);
        assert_eq!(
            error.to_string(),
            "`op`: \"drop\" is none of `take`, `check`, `refund`, `reset`"
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
        assert!(matches!(
            event.subject,
            Subject::One(Charge {
                cost: Cost::MAX,
                ..
            })
        ));
    }

    #[test]
    fn the_body_of_a_call_has_no_time_and_no_verb() {
        for field in ["at_us", "op", "plan"] {
            let json = format!(r#"{{"rule":"a","key":"k","{field}":"take"}}"#);
            let error = Event::from_body(json.as_bytes(), Verb::Take).unwrap_err();
            assert!(error.to_string().contains(field), "{error}");
        }
    }

    #[test]
    fn escapes_and_parts_of_keys_are_read() {
        let event = Event::from_trace(br#"{"at_us":0,"rule":"\u0061","key":["x\n","y"]}"#).unwrap();
        let Subject::One(charge) = event.subject else {
            panic!("one charge")
        };
        assert_eq!(
            (charge.rule.as_str(), charge.parts().as_slice()),
            ("a", &["x\n", "y"][..])
        );
    }
}
