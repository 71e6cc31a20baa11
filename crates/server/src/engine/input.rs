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
        return InputError::new(
            "",
            format!("not JSON: {text}, at column {}", error.column()),
        );
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, Object<T>>(&mut deserializer) {
        Err(found) => {
            let field = found.path().to_string();
            InputError::new(if field == "." { String::new() } else { field }, text)
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
