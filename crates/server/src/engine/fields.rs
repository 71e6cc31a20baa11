//! Values of events, read strictly: nothing is guessed, and every refusal says what to write.

mod schema;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use jeton::Span;
use jeton::policy::{Mode, parse_duration};
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

/// A member that may be left out; `null` is not the same as that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<T>(pub(super) Option<T>);

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

/// An object with these members, and not the array of their values that would be read as well.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// A whole number from 0 up, exactly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole(pub(super) u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeReader)
    }
}

struct WholeReader;

impl Visitor<'_> for WholeReader {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 up")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
        Ok(Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
        Err(E::custom(format_args!(
            "{value} is negative; write a whole number from 0 up"
        )))
    }

    /// The value may differ from what was written, so it is not quoted.
    fn visit_f64<E: Error>(self, _: f64) -> Result<Whole, E> {
        let most = u64::MAX;
        Err(E::custom(format_args!(
            "write a whole number from 0 to {most} in digits only, without sign, point or exponent"
        )))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Whole, E> {
        Err(E::custom("a text is no number; write it without quotes"))
    }
}

/// A text, borrowed from the input where it stands there as it is.
#[derive(Clone, Debug)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de, E: Error> IntoDeserializer<'de, E> for Text<'de> {
    type Deserializer = CowStrDeserializer<'de, E>;

    fn into_deserializer(self) -> Self::Deserializer {
        self.0.into_deserializer()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

/// One text, or an array of them: a key of several parts, a header field of several lines.
#[derive(Clone, Debug)]
pub(super) enum Texts<'a> {
    One(Text<'a>),
    Several(Vec<Text<'a>>),
}

impl Texts<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        };
        texts.iter().map(Text::as_str)
    }
}

/// No part at all.
impl Default for Texts<'_> {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Texts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or an array of texts")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Texts<'de>, E> {
                Ok(Texts::One(Text(Cow::Borrowed(text))))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Texts<'de>, E> {
                Ok(Texts::One(Text(Cow::Owned(text.to_owned()))))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts<'de>, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = seq.next_element()? {
                    texts.push(text);
                }
                Ok(Texts::Several(texts))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Units, or a word for none and for all.
#[derive(Clone, Debug)]
pub(super) enum Limit<'a> {
    Units(Whole),
    Word(Text<'a>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Limit<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Limit<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, \"unlimited\" or \"deny\"")
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Limit<'de>, E> {
                WholeReader.visit_u64(value).map(Limit::Units)
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Limit<'de>, E> {
                WholeReader.visit_i64(value).map(Limit::Units)
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Limit<'de>, E> {
                WholeReader.visit_f64(value).map(Limit::Units)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Limit<'de>, E> {
                match text {
                    "unlimited" | "deny" => Ok(Limit::Word(Text(Cow::Owned(text.to_owned())))),
                    _ => Err(E::custom(format_args!(
                        "{text:?} is neither \"unlimited\" nor \"deny\", nor a number without quotes"
                    ))),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A mode by its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeWord(pub(super) Mode);

impl<'de> Deserialize<'de> for ModeWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const WORDS: &[&str] = &["enforce", "shadow", "mark"];
        let word = Text::deserialize(deserializer)?;
        let mode = Mode::of_word(word.as_str()).map(Self);
        mode.ok_or_else(|| D::Error::unknown_variant(word.as_str(), WORDS))
    }
}

/// A span of time as policies write it: `"10m"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lasting(pub(super) Span);

impl<'de> Deserialize<'de> for Lasting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Lasting;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text such as \"10m\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Lasting, E> {
                parse_duration(text).map(Lasting).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

/// Names and values in the order given; a name may come again.
#[derive(Clone, Debug)]
pub(super) struct Pairs<'a, V>(pub(super) Vec<(Text<'a>, V)>);

/// Fields of a head.
pub(super) type Headers<'a> = Pairs<'a, Texts<'a>>;

/// Texts that have a name.
pub(super) type Named<'a> = Pairs<'a, Text<'a>>;

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Pairs<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a, V>(PhantomData<(&'a (), V)>);
        impl<'de: 'a, 'a, V: Deserialize<'de>> Visitor<'de> for Reader<'a, V> {
            type Value = Pairs<'a, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// An IP address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address(pub(super) IpAddr);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        let wrong = |_| D::Error::custom(format_args!("{:?} is no IP address", text.as_str()));
        text.as_str().parse().map(Self).map_err(wrong)
    }
}
