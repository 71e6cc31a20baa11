//! What is wrong with an event, and where.

use std::fmt;

use serde::Deserialize;

use super::fields::Object;

/// Why an event cannot be carried out; nothing was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The member that is wrong, such as `charges[1].cost`; empty if it is the whole.
    pub field: String,
    /// What is wrong with it and what to write.
    pub what: String,
}

impl InputError {
    pub(super) fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            what: what.into(),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "`{}`: {}", self.field, self.what)
        }
    }
}

impl std::error::Error for InputError {}

/// Reads one JSON document, and only when that fails finds out where.
pub(super) fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, InputError> {
    let object = serde_json::from_slice::<Object<T>>(json);
    object
        .map(|object| object.0)
        .map_err(|error| locate::<T>(json, &error))
}

#[cold]
fn locate<'a, T: Deserialize<'a>>(json: &'a [u8], error: &serde_json::Error) -> InputError {
    let text = without_place(error);
    if !error.is_data() {
        let what = syntax(&text);
        return InputError::new(
            "",
            format!("not JSON: {what}, at column {}", error.column()),
        );
    }
    let text = in_words(text);
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, Object<T>>(&mut deserializer) {
        Err(found) => {
            let field = found.path().to_string();
            match field.as_str() {
                "." if text.starts_with("must be ") => {
                    InputError::new("", format!("the JSON {text}"))
                }
                "." => InputError::new("", text),
                _ => InputError::new(field, text),
            }
        }
        Ok(_) => InputError::new("", text),
    }
}

/// The message alone: an event is one line, and its number is told beside it.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    without_float(text).unwrap_or_else(|| text.to_owned())
}

/// A number that was read as a float is not what was written any more: 1e3 would be quoted as 1000.
fn without_float(text: &str) -> Option<String> {
    let kind = "invalid type: ";
    let rest = text.strip_prefix(kind)?.strip_prefix("floating point `")?;
    let (_, rest) = rest.split_once('`')?;
    Some(format!("{kind}a number{rest}"))
}

/// What a reader of JSON says, in the words of whoever wrote the JSON.
fn syntax(text: &str) -> &str {
    match text {
        "expected ident" => "this is no word of JSON",
        "expected value" => "a value is missing here",
        "trailing characters" => "more follows its end",
        "trailing comma" => "a comma too many",
        _ if text.starts_with("EOF while parsing") => "it ends too early",
        _ if text.starts_with("control character") => "a control character in a text",
        other => other,
    }
}

/// What a reader of types says, in the words of JSON.
fn in_words(text: String) -> String {
    let after = |prefix| text.strip_prefix(prefix);
    let two = |rest: &str| {
        let (found, wanted) = rest.split_once(", expected ")?;
        let wanted = wanted.trim_start_matches("one of ").replace(" or `", ", `");
        Some((found.to_owned(), wanted))
    };
    if let Some((found, wanted)) = after("invalid type: ").and_then(two) {
        let wanted = wanted.replace(", `", " or `");
        return format!("must be {wanted}, not {}", json_kind(&found));
    }
    if let Some((found, known)) = after("unknown field ").and_then(two) {
        return format!("there is no {found}; there are {known}");
    }
    if let Some((found, known)) = after("unknown variant ").and_then(two) {
        return format!("{:?} is none of {known}", found.trim_matches('`'));
    }
    if let Some(field) = after("missing field ") {
        return format!("{field} is missing");
    }
    if let Some(field) = after("duplicate field ") {
        return format!("{field} stands twice");
    }
    text
}

/// A value of the wrong type: by its kind, or itself where that is short.
fn json_kind(found: &str) -> &str {
    match found {
        "map" => "an object",
        "sequence" => "an array",
        _ if found.starts_with("string ") => "a text",
        _ => found.split_once(' ').map_or(found, |(_, value)| {
            value.trim_start_matches("point ").trim_matches('`')
        }),
    }
}
