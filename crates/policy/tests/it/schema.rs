//! The schema for editors, held to the checker by a validator that knows neither.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jeton_policy::{Policy, Source, schema};
use jsonschema::Validator;

use crate::bad;
use crate::common::References;

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema()).unwrap());

/// Where a policy differs from the schema; nothing for a text that is not TOML.
pub(crate) fn mistakes(text: &str) -> Vec<String> {
    let text = text.trim_start_matches('\u{feff}');
    let Ok(policy) = toml::from_str::<serde_json::Value>(text) else {
        return Vec::new();
    };
    let errors = VALIDATOR.iter_errors(&policy);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn it_is_a_schema() {
    let schema = schema();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    let text = serde_json::to_string_pretty(&schema).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap(),
        schema
    );
}

#[test]
fn every_setting_is_described() {
    fn described(value: &serde_json::Value, path: &str) {
        if let Some(properties) = value["properties"].as_object() {
            for (name, property) in properties {
                let path = format!("{path}.{name}");
                let about = property["description"].as_str().unwrap_or("");
                assert!(
                    about.len() > 15 && about.ends_with('.'),
                    "{path}: {about:?}"
                );
                described(property, &path);
                described(&property["items"], &path);
            }
        }
    }
    described(&schema(), "");
}

#[test]
fn the_policy_of_the_manual_fits() {
    let mistakes = mistakes(include_str!("reduced.toml"));
    assert!(mistakes.is_empty(), "{mistakes:#?}");
}

#[test]
fn every_word_of_the_design_fits() {
    let whole: serde_json::Value = toml::from_str(include_str!("design-section-7.toml")).unwrap();
    let named: BTreeSet<String> = VALIDATOR
        .iter_errors(&whole)
        .flat_map(|error| match error.kind() {
            jsonschema::error::ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.clone()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let words: [&str; 0] = [];
    assert_eq!(named, words.map(str::to_owned).into());
}

#[test]
fn what_loads_with_a_warning_fits_and_what_editors_can_tell_does_not() {
    /// Mistakes of one value or of one name are in the reach of a schema.
    const TOLD: [&str; 8] = [
        "unknown-",
        "later-",
        "type-",
        "word-",
        "rate-",
        "duration-",
        "missing-",
        "size-",
    ];
    /// What takes arithmetic, or a guess.
    const BEYOND: [&str; 16] = [
        "duration-deny-cache-long",
        "duration-deny-cache-short",
        "duration-lease-for-long",
        "duration-lease-for-short",
        "duration-store-sync-long",
        "duration-store-sync-short",
        "duration-store-sync-zero",
        "duration-store-timeout-disk",
        "duration-store-timeout-redis",
        "duration-store-timeout-short",
        "duration-store-timeout-zero",
        "duration-hold-wait",
        "duration-timeout",
        "duration-too-long",
        "size-tiny",
        "word-client-ip-slip",
    ];
    let mut wrong = Vec::new();
    for (name, text) in bad::policies() {
        let loads = Policy::load(&Source::new("t", text.as_str()), &References::sample()).is_ok();
        let fits = mistakes(&text).is_empty();
        let told = TOLD.iter().any(|kind| name.starts_with(kind));
        if (loads && !fits) || (told && fits != BEYOND.contains(&name.as_str())) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_reference_fits_where_a_text_does() {
    let fits = |text: &str| mistakes(text).is_empty();
    let proxy = "[proxy]\nlisten = { env = \"LISTEN\" }\nupstream = ";
    assert!(fits(&format!("{proxy}{{ file = \"x\" }}")));
    assert!(!fits(&format!("{proxy}{{ file = \"x\", env = \"X\" }}")));
    assert!(!fits(&format!("{proxy}{{ fiel = \"x\" }}")));
    assert!(!fits(
        "[[rule]]\nname = { env = \"NAME\" }\nlimit = \"deny\"\n"
    ));
}
