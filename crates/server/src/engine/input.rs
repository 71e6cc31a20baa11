//! What is wrong with an event, and where.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
};

use super::fields::Text;

/// Why an event cannot be carried out; nothing was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The member that is wrong, such as `charges[1].cost`; empty if it is the whole.
    pub field: String,
    /// What is wrong with it and what to write.
    pub what: String,
}

impl InputError {
    /// What is wrong with `field`.
    pub fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
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
    read_without(json, &[])
}

/// The same, as if the members in `beside` did not stand there: somebody else reads them.
pub(super) fn read_without<'a, T: Deserialize<'a>>(
    json: &'a [u8],
    beside: &'static [&'static str],
) -> Result<T, InputError> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let read = Whole::new(beside).deserialize(&mut deserializer);
    let ended = |value| deserializer.end().map(|()| value);
    read.and_then(ended)
        .map_err(|error| locate::<T>(json, beside, &error))
}

/// An object with members of `T`, and not the array of their values that would be read as well.
struct Whole<T>(&'static [&'static str], PhantomData<T>);

impl<T> Whole<T> {
    const fn new(beside: &'static [&'static str]) -> Self {
        Self(beside, PhantomData)
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Whole<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Whole<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(Without(map, self.0)))
    }
}

/// A map without some of its members.
struct Without<A>(A, &'static [&'static str]);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Without<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        if self.1.is_empty() {
            return self.0.next_key_seed(seed);
        }
        let mut seed = seed;
        loop {
            let beside = self.1;
            match self.0.next_key_seed(Unless { beside, seed })? {
                None => return Ok(None),
                Some(Ok(key)) => return Ok(Some(key)),
                Some(Err(unused)) => seed = unused,
            }
            self.0.next_value::<IgnoredAny>()?;
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

/// A name, unless it is one of these: then the seed is given back.
struct Unless<K> {
    beside: &'static [&'static str],
    seed: K,
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Unless<K> {
    type Value = Result<K::Value, K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let name = Text::deserialize(deserializer)?;
        if self.beside.contains(&name.as_str()) {
            return Ok(Err(self.seed));
        }
        self.seed.deserialize(name.into_deserializer()).map(Ok)
    }
}

#[cold]
fn locate<'a, T: Deserialize<'a>>(
    json: &'a [u8],
    beside: &'static [&'static str],
    error: &serde_json::Error,
) -> InputError {
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
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    if Whole::<T>::new(beside).deserialize(tracked).is_ok() {
        return InputError::new("", text);
    }
    let field = track.path().to_string();
    match field.as_str() {
        "." if text.starts_with("must be ") => InputError::new("", format!("the JSON {text}")),
        "." => InputError::new("", text),
        _ => InputError::new(field, text),
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
