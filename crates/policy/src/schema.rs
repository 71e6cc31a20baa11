//! The policy language for editors: a JSON Schema (2020-12), made from the tables that the checker
//! reads. It refuses less than the checker does, and nothing that the checker takes.

mod conditions;

use serde_json::{Map, Value, json};

use crate::checked::FILE;
use crate::language::{Form, Shape, Vocabulary, Word};

/// The schema of policy files that `jeton check --schema` prints.
///
/// Words of later versions are not in it, so an editor marks them as this version refuses them.
///
/// ```
/// let schema = jeton_policy::schema();
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// assert_eq!(schema["properties"]["rule"]["type"], "array");
/// ```
pub fn schema() -> Value {
    let mut schema = object(&FILE);
    merge(
        &mut schema,
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Jeton policy",
            "$defs": { "reference": reference() },
        }),
    );
    schema
}

/// `{ env = "NAME" }` or `{ file = "PATH" }`, where a text may stand.
fn reference() -> Value {
    json!({
        "description": "A text that stands in an environment variable or a file.",
        "type": "object",
        "properties": {
            "env": { "type": "string", "minLength": 1 },
            "file": { "type": "string", "minLength": 1 },
        },
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
    })
}

fn object(vocabulary: &Vocabulary) -> Value {
    let properties = vocabulary.known.iter().map(property);
    let mut object = json!({
        "description": vocabulary.about,
        "type": "object",
        "properties": properties.collect::<Map<_, _>>(),
        "additionalProperties": false,
    });
    if !vocabulary.required.is_empty() {
        merge(&mut object, json!({ "required": vocabulary.required }));
    }
    merge(&mut object, conditions::of(vocabulary.section));
    object
}

fn property(word: &Word) -> (String, Value) {
    let mut value = shape(word.shape);
    merge(&mut value, json!({ "description": word.about }));
    (word.name.to_owned(), value)
}

fn shape(shape: Shape) -> Value {
    match shape {
        Shape::Table(vocabulary) => object(vocabulary),
        Shape::Tables(vocabulary) => json!({ "type": "array", "items": object(vocabulary) }),
        Shape::Text(form) => either([text(form), elsewhere()]),
        Shape::Texts(form) => {
            let item = either([text(form), elsewhere()]);
            either([
                text(form),
                elsewhere(),
                json!({ "type": "array", "items": item }),
            ])
        }
        Shape::Shown(form) => text(form),
        Shape::ManyShown(form) => {
            let list = json!({ "type": "array", "items": text(form), "minItems": 1 });
            either([text(form), list])
        }
        Shape::Words(words) => either([json!({ "enum": words }), elsewhere()]),
        Shape::ManyWords(words) => {
            let item = either([json!({ "enum": words }), elsewhere()]);
            let list = json!({ "type": "array", "items": item, "minItems": 1 });
            either([json!({ "enum": words }), elsewhere(), list])
        }
        Shape::Count(low, high) => count(low, high),
        Shape::CountOrWord(low, high, words) => {
            either([count(low, high), json!({ "enum": words }), elsewhere()])
        }
        Shape::Share => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Fields => json!({
            "type": "object",
            "propertyNames": { "pattern": Form::HeaderName.pattern() },
            "additionalProperties": either([json!({ "type": "string" }), elsewhere()]),
            "minProperties": 1,
        }),
        Shape::OneOf(shapes) => {
            let shapes: Vec<Value> = shapes.iter().map(|one| self::shape(*one)).collect();
            json!({ "anyOf": shapes })
        }
        Shape::Many(one) => {
            let one = self::shape(*one);
            let list = json!({ "type": "array", "items": one, "minItems": 1 });
            either([one, list])
        }
        Shape::Named(form, one) => json!({
            "type": "object",
            "propertyNames": { "pattern": form.pattern() },
            "additionalProperties": self::shape(*one),
            "minProperties": 1,
        }),
    }
}

fn text(form: Form) -> Value {
    let mut text = json!({ "type": "string", "pattern": form.pattern() });
    if !form.examples().is_empty() {
        merge(&mut text, json!({ "examples": form.examples() }));
    }
    text
}

fn count(low: u64, high: u64) -> Value {
    json!({ "type": "integer", "minimum": low, "maximum": high })
}

fn elsewhere() -> Value {
    json!({ "$ref": "#/$defs/reference" })
}

fn either<const N: usize>(shapes: [Value; N]) -> Value {
    json!({ "anyOf": Vec::from(shapes) })
}

/// Adds the members of one object to another.
fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}
