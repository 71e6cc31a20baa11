//! What the readers beside this accept, as JSON Schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use jeton::policy::Mode;

use super::{Address, Given, Lasting, Limit, ModeWord, Object, Pairs, Text, Texts, Whole};

/// The most that a policy takes.
const MAX_LIMIT: u64 = 1_000_000_000;

/// A schema that stands where it is used.
macro_rules! inline {
    ($type:ty, $generator:ident => $schema:expr) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

inline!(Text<'_>, _generator => json_schema!({ "type": "string" }));
inline!(Whole, _generator => json_schema!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }));
inline!(Texts<'_>, generator => either_or_several::<Text<'_>>(generator));
inline!(Address, _generator => json_schema!({
    "type": "string",
    "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }],
}));
inline!(Lasting, _generator => json_schema!({
    "type": "string",
    "pattern": "^0*[1-9][0-9]*(us|ms|s|m|min|h|d|w)$",
    "examples": ["10m", "1h"],
}));

impl<V: JsonSchema> JsonSchema for Pairs<'_, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}ByName", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": V::json_schema(generator) })
    }
}
inline!(Limit<'_>, _generator => json_schema!({
    "anyOf": [
        { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT },
        { "enum": ["unlimited", "deny"] },
    ],
}));
inline!(ModeWord, _generator => json_schema!({ "enum": Mode::ALL.map(Mode::word) }));

fn either_or_several<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let one = T::json_schema(generator);
    json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// Whatever stands around a value does not change what is written.
macro_rules! transparent {
    ($type:ident) => {
        impl<T: JsonSchema> JsonSchema for $type<T> {
            fn inline_schema() -> bool {
                T::inline_schema()
            }

            fn schema_name() -> Cow<'static, str> {
                T::schema_name()
            }

            fn schema_id() -> Cow<'static, str> {
                T::schema_id()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                T::json_schema(generator)
            }
        }
    };
}

transparent!(Given);
transparent!(Object);
