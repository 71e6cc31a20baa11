//! `docs/policy.md` holds a table of every setting, made from the same schema that editors get.
//! `JETON_BLESS=1` writes the tables anew.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use jeton_policy::{Policy, Resolve, Source, Unresolved};
use serde_json::Value;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
const BEGIN: &str = "<!-- made from the schema: begin -->\n";
const END: &str = "<!-- made from the schema: end -->\n";

/// What a setting takes, in a few words.
fn takes(shape: &Value) -> String {
    if let Some(shapes) = shape["anyOf"].as_array() {
        let shapes = shapes.iter().filter(|shape| shape.get("$ref").is_none());
        let mut words: Vec<String> = shapes.map(takes).filter(|word| !word.is_empty()).collect();
        if let [one, list] = words.as_slice()
            && *list == format!("a list of {one}")
        {
            return format!("{one}; one or a list");
        }
        words.dedup();
        return words.join(", or ");
    }
    if let Some(words) = shape["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(" ");
    }
    match shape["type"].as_str() {
        Some("integer") => {
            format!("{} to {}", shape["minimum"], shape["maximum"])
        }
        Some("number") => "a number".to_owned(),
        Some("boolean") => "`true` `false`".to_owned(),
        Some("array") => format!("a list of {}", takes(&shape["items"])),
        Some("object") => "a table".to_owned(),
        Some("string") => {
            let examples = shape["examples"].as_array();
            let examples = examples.into_iter().flatten().take(3);
            let examples: Vec<String> = examples.map(|text| format!("`{text}`")).collect();
            if examples.is_empty() {
                "a text".to_owned()
            } else {
                format!("such as {}", examples.join(" "))
            }
        }
        _ => String::new(),
    }
}

fn section(title: &str, schema: &Value, out: &mut String) {
    let about = schema["description"].as_str().unwrap_or_default();
    let _ = write!(
        out,
        "\n## {title}\n\n{about}\n\n| setting | takes | says |\n|---|---|---|\n"
    );
    // By name: another crate of the workspace may have asked for maps that keep their order.
    let settings: BTreeMap<_, _> = schema["properties"].as_object().unwrap().iter().collect();
    for (name, setting) in settings {
        let says = setting["description"]
            .as_str()
            .unwrap_or_default()
            .replace('|', "\\|");
        let _ = writeln!(
            out,
            "| `{name}` | {} | {says} |",
            takes(setting).replace('|', "\\|")
        );
    }
}

fn tables() -> String {
    let schema = jeton_policy::schema();
    let mut out = String::new();
    for name in [
        "proxy",
        "api",
        "rls",
        "resp",
        "store",
        "client_ip",
        "answer",
        "lists",
    ] {
        section(
            &format!("`[{name}]`"),
            &schema["properties"][name],
            &mut out,
        );
    }
    let tls = &schema["properties"]["rls"]["properties"]["tls"];
    section("`[rls]` tls", tls, &mut out);
    let cors = &schema["properties"]["answer"]["properties"]["cors"];
    section("`[answer]` cors", cors, &mut out);
    let rule = &schema["properties"]["rule"]["items"];
    section("`[[rule]]`", rule, &mut out);
    let words = &rule["properties"];
    section("`[[rule]]` match", &words["match"], &mut out);
    let plan = &words["plans"]["additionalProperties"]["anyOf"];
    let plan = plan.as_array().unwrap().last().unwrap();
    section("`[[rule]]` plans, each", plan, &mut out);
    section("`[[rule]]` trial", &words["trial"], &mut out);
    section("`[[rule]]` count", &words["count"], &mut out);
    let cost = words["cost"]["anyOf"].as_array().unwrap().last().unwrap();
    section("`[[rule]]` cost", cost, &mut out);
    let local = words["on_failure"]["anyOf"].as_array().unwrap();
    section("`on_failure`", local.last().unwrap(), &mut out);
    out.push('\n');
    out
}

/// Every setting that is a table or has some in it, with a path to it.
fn settings<'s>(path: &str, schema: &'s Value, out: &mut Vec<(String, &'s Value)>) {
    for (name, setting) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        settings(&path, setting, out);
        out.push((path, setting));
    }
    settings_within(path, schema, out);
}

fn settings_within<'s>(path: &str, schema: &'s Value, out: &mut Vec<(String, &'s Value)>) {
    let several = schema["anyOf"].as_array().into_iter().flatten();
    let others = [&schema["items"], &schema["additionalProperties"]];
    for schema in several.chain(others).filter(|schema| schema.is_object()) {
        settings(path, schema, out);
    }
}

#[test]
fn nothing_in_the_schema_is_missing_on_the_page() {
    let page = fs::read_to_string(PAGE).unwrap();
    let schema = jeton_policy::schema();
    let mut all = Vec::new();
    settings("", &schema, &mut all);
    assert!(all.len() > 80, "{}", all.len());
    for (path, setting) in all {
        let name = path.rsplit('.').next().unwrap_or_default();
        let is_section = path.matches('.').count() == 1;
        let is_told = if is_section {
            page.contains(&format!("\n## `[{name}]`"))
                || page.contains(&format!("\n## `[[{name}]]`"))
        } else {
            let says = setting["description"].as_str().unwrap_or_default();
            let mut rows = page
                .lines()
                .filter(|line| line.starts_with(&format!("| `{name}` |")));
            rows.any(|row| row.contains(&says.replace('|', "\\|")))
        };
        assert!(is_told, "docs/policy.md says nothing of {path}");
    }
}

/// Answers every reference, as a machine does that was set up.
struct SetUp;

impl Resolve for SetUp {
    fn env(&self, name: &str) -> Result<String, Unresolved> {
        if name.ends_with("_URL") {
            return Ok("redis://10.0.0.5".to_owned());
        }
        Ok(format!("what the variable {name} holds").replace(' ', "-"))
    }

    fn file(&self, path: &str) -> Result<String, Unresolved> {
        Ok(format!("what the file {path} holds").replace(' ', "-"))
    }
}

#[test]
fn every_policy_on_the_page_loads_without_a_warning() {
    let page = fs::read_to_string(PAGE).unwrap();
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(blocks.len() >= 3);
    for block in blocks {
        let (policy, _) = block.split_once("\n```").unwrap();
        let source = Source::new(
            "docs/policy.md",
            format!("{policy}\n[[rule]]\nname = \"any\"\nlimit = \"unlimited\"\n"),
        );
        let loaded = Policy::load(&source, &SetUp).unwrap_or_else(|report| panic!("{report}"));
        assert!(loaded.report.is_empty(), "{}", loaded.report);
    }
}

#[test]
fn the_reference_shows_every_setting() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    if std::env::var_os("JETON_BLESS").is_some() {
        fs::write(PAGE, format!("{before}{BEGIN}{}{END}{after}", tables())).unwrap();
        return;
    }
    assert!(
        shown == tables(),
        "run this test with JETON_BLESS=1 and read what has changed"
    );
}
