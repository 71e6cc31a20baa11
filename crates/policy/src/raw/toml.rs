//! TOML text to a tree of marked values. The only file that knows the TOML library.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Entry, Item, Table, Value};
use crate::diagnostic::{Fault, Findings, code};
use crate::source::Mark;

/// Reads a whole file. Each syntax error becomes a finding; what could be read is returned.
pub(crate) fn parse(text: &str, findings: &mut Findings<'_>) -> Table {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let mark = error.span().map_or_else(Mark::default, Mark::from);
        let curls = text
            .get(mark.start..mark.end)
            .is_some_and(|text| text.contains(['“', '”', '„', '‘', '’']));
        let _: Option<()> = findings.error(mark, syntax(error.message(), curls));
    }
    convert_table(table.into_inner())
}

fn syntax(message: &str, quoted_by_curls: bool) -> Fault {
    if quoted_by_curls {
        return Fault::new(code::SYNTAX, "this is not TOML: these quotes are curly")
            .fix("straight quotes: \"…\"");
    }
    let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    let fault = Fault::new(code::SYNTAX, format!("this is not TOML: {what}"));
    match expected {
        _ if what.contains("duplicate key") => {
            fault.fix("write each setting once; several rules are several [[rule]]")
        }
        _ if what.contains("must be quoted") => fault.fix("put the text in \"quotes\""),
        "" | "nothing" => fault.fix("take it out; see https://toml.io"),
        expected => fault.label("here").fix(format!("{expected} here")),
    }
}

fn convert_table(table: DeTable<'_>) -> Table {
    let entries = table.into_iter().map(|(key, value)| Entry {
        key_mark: key.span().into(),
        key: key.into_inner().into_owned(),
        item: convert(value),
    });
    Table {
        entries: entries.collect(),
    }
}

fn convert(value: Spanned<DeValue<'_>>) -> Item {
    let mark = value.span().into();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => Value::Integer(integer(number.as_str(), number.radix())),
        DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Bool(flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(items.into_iter().map(convert).collect()),
        DeValue::Table(table) => Value::Table(convert_table(table)),
    };
    Item { value, mark }
}

fn integer(digits: &str, radix: u32) -> i128 {
    let negative = digits.starts_with('-');
    let saturated = if negative { i128::MIN } else { i128::MAX };
    i128::from_str_radix(digits, radix).unwrap_or(saturated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn read(text: &str) -> Table {
        let source = Source::new("t", text);
        let mut findings = Findings::new(&source);
        let table = parse(text, &mut findings);
        assert!(!findings.has_errors(), "{}", findings.into_report());
        table
    }

    fn marked<'t>(text: &'t str, item: &Item) -> &'t str {
        &text[item.mark.start..item.mark.end]
    }

    #[test]
    fn values_keep_their_places_and_keys_their_order() {
        let text = "zed = 1_000\n[[rule]]\nb = \"x\"\na = { c = [1, 0x1F] }\n";
        let table = read(text);
        assert_eq!(marked(text, table.get("zed").unwrap()), "1_000");
        assert!(matches!(
            table.get("zed").unwrap().value,
            Value::Integer(1_000)
        ));
        let Value::List(rules) = &table.get("rule").unwrap().value else {
            panic!()
        };
        let Value::Table(rule) = &rules[0].value else {
            panic!()
        };
        assert_eq!(
            rule.entries.iter().map(|e| &e.key[..]).collect::<Vec<_>>(),
            ["b", "a"]
        );
        assert_eq!(marked(text, rule.get("b").unwrap()), "\"x\"");
        let Value::Table(inner) = &rule.get("a").unwrap().value else {
            panic!()
        };
        let Value::List(list) = &inner.get("c").unwrap().value else {
            panic!()
        };
        assert!(matches!(list[1].value, Value::Integer(31)));
        assert_eq!(marked(text, &list[1]), "0x1F");
    }

    #[test]
    fn a_number_too_large_for_anything_saturates() {
        let table = read(
            "a = 99999999999999999999999999999999999999999999\nb = -99999999999999999999999999999999999999999999",
        );
        assert!(matches!(
            table.get("a").unwrap().value,
            Value::Integer(i128::MAX)
        ));
        assert!(matches!(
            table.get("b").unwrap().value,
            Value::Integer(i128::MIN)
        ));
    }

    #[test]
    fn every_syntax_error_is_reported() {
        let source = Source::new("t", "a = \nb = 1\nc = [1\nd == 2\n");
        let mut findings = Findings::new(&source);
        parse(source.text(), &mut findings);
        let report = findings.into_report();
        let lines: Vec<usize> = report.iter().map(|found| found.line).collect();
        assert!(lines.len() >= 2 && lines.contains(&1), "{report}");
    }

    #[test]
    fn deep_nesting_is_refused_before_the_stack_ends() {
        let text = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
        let source = Source::new("t", text.as_str());
        let mut findings = Findings::new(&source);
        parse(source.text(), &mut findings);
        assert!(findings.has_errors());
    }
}
