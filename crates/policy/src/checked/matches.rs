//! The `match` of a rule.

use super::rule::key_parts_of;
use crate::diagnostic::{Fault, code};
use crate::key::{KeyPart, is_token};
use crate::language::{Form, Shape, Vocabulary, word};
use crate::matching::Match;
use crate::pattern::Pattern;
use crate::raw::{self, Context, Section, Value};
use crate::request::normal_host;
use crate::setting::Setting;

pub(super) const MATCH: Vocabulary = Vocabulary {
    section: "match",
    example: "match = { path = \"/login\" }",
    about: "Which requests the rule speaks of; all of these conditions must hold. Without it: of \
            every request.",
    known: &[
        word(
            "domain",
            Shape::Texts(Form::Domain),
            "One of these domains of the Envoy rate limit service; other doors have none.",
        ),
        word(
            "method",
            Shape::Texts(Form::Method),
            "One of these methods, in upper case; GET also stands for HEAD.",
        ),
        word(
            "path",
            Shape::Texts(Form::Path),
            "One of these paths: {x} stands for one segment, {x..} for the rest. A path with an \
             encoded slash (%2F) or a backslash is also matched as if slashes stood there; one \
             match limits, but only all of them let the rule replace others.",
        ),
        word(
            "match_case",
            Shape::Flag,
            "Whether letters of the path must have the same case. Default false.",
        ),
        word(
            "host",
            Shape::Texts(Form::Host),
            "One of these hosts, without port.",
        ),
        word(
            "with",
            Shape::ManyShown(Form::Presence),
            "Parts that the request must have.",
        ),
        word(
            "without",
            Shape::ManyShown(Form::Presence),
            "Parts that the request must not have.",
        ),
        word(
            "header",
            Shape::Fields,
            "Header fields, one line of which must be just this.",
        ),
    ],
    required: &[],
    later: &[],
};

/// The conditions of a rule; none of them if it has no `match`.
pub(super) fn matches(cx: &mut Context<'_>, rule: &Section<'_>) -> Option<Match> {
    let Some(item) = rule.item("match") else {
        return Some(Match::default());
    };
    let section = Section::open(cx, &MATCH, item)?;
    if section.is_empty() {
        let fault = Fault::new(code::EMPTY, "an empty `match` says nothing");
        return cx.error(
            item.mark,
            fault.fix("leave `match` out to speak of every request"),
        );
    }
    let domains = strings(section.each(cx, "domain", domain));
    let methods = strings(section.each(cx, "method", method));
    let paths = section.each(cx, "path", Pattern::parse);
    let hosts = strings(section.each(cx, "host", host));
    let match_case = section.flag(cx, "match_case");
    let with = presence(cx, &section, "with");
    let without = presence(cx, &section, "without");
    let headers = headers(cx, &section);
    if let Some(part) = with.iter().find(|part| without.contains(part)) {
        let what = format!("no request is both with and without \"{part}\"");
        let _: Option<()> = cx.error(
            section.mark_of("without"),
            Fault::new(code::CONTRADICTION, what).fix("keep one of them"),
        );
    }
    if !section.has("path") && !keyed_by_path(rule) {
        let why = "has no effect: neither `match` nor `key` has a path";
        section.refuse(cx, "match_case", why, "leave it out");
    }
    Some(Match {
        domains,
        methods,
        paths: paths.into_iter().flatten().map(|path| path.value).collect(),
        match_case: match_case.unwrap_or(false),
        hosts,
        with,
        without,
        headers,
    })
}

fn strings(list: Option<Vec<raw::Spotted<Setting<String>>>>) -> Vec<Setting<String>> {
    list.into_iter()
        .flatten()
        .map(|spotted| spotted.value)
        .collect()
}

/// Whether the key of the rule has the part `path`.
fn keyed_by_path(rule: &Section<'_>) -> bool {
    let is_path = |value: &Value| matches!(value, Value::Text(text) if text == "path");
    rule.item("key").is_some_and(|item| match &item.value {
        Value::List(items) => items.iter().any(|item| is_path(&item.value)),
        value => is_path(value),
    })
}

fn domain(text: &str) -> Result<String, Fault> {
    if text.is_empty() {
        let fault = Fault::new(code::EMPTY, "no request has an empty `domain`");
        return Err(fault.fix("the one that Envoy's filter names"));
    }
    Ok(text.to_owned())
}

fn method(text: &str) -> Result<String, Fault> {
    let fault = |why: &str| Fault::new(code::METHOD, format!("the method {text:?} {why}"));
    if !is_token(text) {
        return Err(fault("is not a word").fix("such as \"GET\""));
    }
    if text == "*" {
        return Err(fault("is not a wildcard").fix("leave `method` out"));
    }
    if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Err(fault("is not in upper case").fix(format!("{:?}", text.to_ascii_uppercase())));
    }
    Ok(text.to_owned())
}

fn host(text: &str) -> Result<String, Fault> {
    let fault = |why: &str| Fault::new(code::HOST, format!("the host {text:?} {why}"));
    if text.contains('*') {
        return Err(fault("has a wildcard; hosts are named one by one")
            .fix("host = [\"a.example\", \"b.example\"]"));
    }
    if text.contains('/') {
        return Err(fault("is a URL or a path").fix("host = \"api.example\""));
    }
    let normal = normal_host(text);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
    if normal.is_empty() || !normal.bytes().all(plain) {
        return Err(fault("is not the name of a host")
            .label("letters, digits, dots and hyphens")
            .fix("host = \"api.example\"; other letters in their xn-- form"));
    }
    if normal.len() != text.trim_end_matches('.').len() {
        return Err(fault("has a port, and hosts match without").fix(format!("{normal:?}")));
    }
    Ok(normal.into_owned())
}

/// Parts whose presence can differ.
fn presence(cx: &mut Context<'_>, section: &Section<'_>, key: &str) -> Vec<KeyPart> {
    let parts = key_parts_of(cx, section, key).unwrap_or_default();
    let telling = |part: &&KeyPart| {
        !matches!(
            part,
            KeyPart::ClientIp(None)
                | KeyPart::Header(_)
                | KeyPart::Cookie(_)
                | KeyPart::Query(_)
                | KeyPart::Descriptor(_)
        )
    };
    if let Some(part) = parts.iter().find(telling) {
        let what = format!("`{key}` asks whether there is a \"{part}\", which tells nothing");
        let fault = Fault::new(code::CONTRADICTION, what)
            .fix("client-ip, header:NAME, cookie:NAME, query:NAME or descriptor:NAME");
        let _: Option<()> = cx.error(section.mark_of(key), fault);
    }
    parts
}

const EXAMPLE: &str = "header = { x-tier = \"free\" }";

/// `header = { "x-a" = "v" }`.
fn headers(cx: &mut Context<'_>, section: &Section<'_>) -> Vec<(String, Setting<String>)> {
    let Some(item) = section.item("header") else {
        return Vec::new();
    };
    let Value::Table(table) = &item.value else {
        let fault = raw::wrong_type(
            "header",
            "a table of names and values",
            EXAMPLE,
            &item.value,
        );
        let _: Option<()> = cx.error(item.mark, fault);
        return Vec::new();
    };
    if table.entries.is_empty() {
        let fault = Fault::new(code::EMPTY, "`header` is an empty table").fix("leave `header` out");
        let _: Option<()> = cx.error(item.mark, fault);
    }
    let mut headers: Vec<(String, Setting<String>)> = Vec::new();
    for entry in &table.entries {
        let name = entry.key.to_ascii_lowercase();
        if !is_token(&name) {
            let what = format!("{:?} is not the name of a header field", entry.key);
            let _: Option<()> = cx.error(entry.key_mark, Fault::new(code::KEY, what).fix(EXAMPLE));
        } else if headers.iter().any(|(other, _)| *other == name) {
            let what = format!("the header field {name:?} is named twice");
            let _: Option<()> = cx.error(
                entry.key_mark,
                Fault::new(code::DUPLICATE, what).fix("name it once"),
            );
        } else if let Some(text) = raw::text(cx, &entry.key, &entry.item) {
            headers.push((name, text.value));
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_without_ports() {
        assert_eq!(host("API.example.").unwrap(), "api.example");
        assert_eq!(host("[::1]").unwrap(), "[::1]");
        assert_eq!(host("api.example:443").unwrap_err().fix, "\"api.example\"");
        for text in ["", "*.example", "http://a", "a b", "é.example"] {
            assert_eq!(host(text).unwrap_err().code, code::HOST, "{text}");
        }
    }

    #[test]
    fn methods_are_words_in_upper_case() {
        assert_eq!(method("GET").unwrap(), "GET");
        assert_eq!(method("get").unwrap_err().fix, "\"GET\"");
        assert_eq!(method("*").unwrap_err().fix, "leave `method` out");
        assert_eq!(method("").unwrap_err().code, code::METHOD);
    }
}
