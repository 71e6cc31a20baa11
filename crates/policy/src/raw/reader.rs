//! Reads settings of one section by name and type. What it cannot read becomes a finding at its
//! place, and the check goes on, so that one run shows all mistakes.

use std::ops::RangeInclusive;

use super::resolve::resolve;
use super::{Context, Entry, Item, Later, Table, Value};
use crate::diagnostic::{Fault, code, nearest};
use crate::setting::{Origin, Setting};
use crate::source::Mark;

/// The words that a section knows.
pub(crate) struct Vocabulary {
    /// As messages call it: `[proxy]`.
    pub(crate) section: &'static str,
    pub(crate) known: &'static [&'static str],
    pub(crate) later: &'static [Later],
}

/// What the vocabulary of the whole file is called: its words are sections.
pub(crate) const ROOT: &str = "the file";

impl Vocabulary {
    /// A word as it stands in a file.
    fn shown(&self, word: &str) -> String {
        match (self.section, word) {
            (ROOT, "rule") => "[[rule]]".to_owned(),
            (ROOT, _) => format!("[{word}]"),
            _ => format!("`{word}`"),
        }
    }
}

/// A value that was read, and where.
#[derive(Clone, Debug)]
pub(crate) struct Spotted<T> {
    pub(crate) value: T,
    pub(crate) mark: Mark,
}

pub(crate) type Text = Setting<String>;

/// One table of the file. Opening it refuses every key that it does not know.
pub(crate) struct Section<'t> {
    pub(crate) mark: Mark,
    vocabulary: &'static Vocabulary,
    table: &'t Table,
}

impl<'t> Section<'t> {
    pub(crate) fn open(
        cx: &mut Context<'_>,
        vocabulary: &'static Vocabulary,
        item: &'t Item,
    ) -> Option<Self> {
        match &item.value {
            Value::Table(table) => Some(Self::of(cx, vocabulary, table, item.mark)),
            other => {
                let name = vocabulary.section;
                cx.error(item.mark, wrong_type(name, "a table", other))
            }
        }
    }

    pub(crate) fn of(
        cx: &mut Context<'_>,
        vocabulary: &'static Vocabulary,
        table: &'t Table,
        mark: Mark,
    ) -> Self {
        for entry in &table.entries {
            if !vocabulary.known.contains(&entry.key.as_str()) {
                let fault = unknown(vocabulary, entry);
                let _: Option<()> = cx.error(entry.key_mark, fault);
            }
        }
        Self {
            mark,
            vocabulary,
            table,
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// `true` if the table holds nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.entries.is_empty()
    }

    pub(crate) fn has_empty_list(&self, key: &str) -> bool {
        let item = self.item(key);
        item.is_some_and(|item| matches!(&item.value, Value::List(items) if items.is_empty()))
    }

    pub(crate) fn item(&self, key: &str) -> Option<&'t Item> {
        debug_assert!(
            self.vocabulary.known.contains(&key),
            "{key} is not in the vocabulary"
        );
        self.table.get(key)
    }

    /// Where a setting's name stands; where the section begins if it has no such setting.
    pub(crate) fn mark_of(&self, key: &str) -> Mark {
        let entry = self.table.entries.iter().find(|entry| entry.key == key);
        entry.map_or(self.mark, |entry| entry.key_mark)
    }

    /// Refuses the section unless it has the setting. `example` is a whole line.
    pub(crate) fn require(&self, cx: &mut Context<'_>, key: &str, example: &str) {
        if !self.has(key) {
            let what = format!("{} needs `{key}`", self.vocabulary.section);
            let _: Option<()> = cx.error(self.mark, Fault::new(code::MISSING, what).fix(example));
        }
    }

    /// Refuses a setting that would have no effect.
    pub(crate) fn refuse(&self, cx: &mut Context<'_>, key: &str, why: &str, fix: &str) {
        if self.has(key) {
            let fault = Fault::new(code::CONTRADICTION, format!("`{key}` {why}")).fix(fix);
            let _: Option<()> = cx.error(self.mark_of(key), fault);
        }
    }

    pub(crate) fn text(&self, cx: &mut Context<'_>, key: &str) -> Option<Spotted<Text>> {
        text(cx, key, self.item(key)?)
    }

    /// A text that `parse` understands.
    pub(crate) fn parsed<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<Spotted<Setting<T>>> {
        let text = self.text(cx, key)?;
        parsed(cx, key, &text, parse)
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        words: &[(&str, T)],
        later: &[Later],
    ) -> Option<T> {
        let parse = |text: &str| word(key, text, words, later);
        self.parsed(cx, key, parse).map(|word| *word.value.get())
    }

    pub(crate) fn flag(&self, cx: &mut Context<'_>, key: &str) -> Option<bool> {
        let item = self.item(key)?;
        match &item.value {
            Value::Bool(flag) => Some(*flag),
            other => cx.error(
                item.mark,
                wrong_type(key, "true or false, without quotes", other)
                    .fix(format!("{key} = true")),
            ),
        }
    }

    /// A whole number. `zero` says what to do instead of 0.
    pub(crate) fn count(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        range: RangeInclusive<u64>,
        zero: impl FnOnce() -> Fault,
    ) -> Option<Spotted<u64>> {
        let item = self.item(key)?;
        let count = match &item.value {
            Value::Integer(0) if !range.contains(&0) => Err(zero()),
            other => whole_number(key, other, &range),
        };
        cx.findings.keep(item.mark, count).map(|value| Spotted {
            value,
            mark: item.mark,
        })
    }

    /// A text or a list of texts; not an empty one.
    pub(crate) fn texts(&self, cx: &mut Context<'_>, key: &str) -> Option<Vec<Spotted<Text>>> {
        let item = self.item(key)?;
        match &item.value {
            Value::List(items) if items.is_empty() => {
                let what = format!("`{key}` is an empty list");
                cx.error(
                    item.mark,
                    Fault::new(code::EMPTY, what).fix(format!("leave `{key}` out")),
                )
            }
            Value::List(items) => collect(items.iter().map(|item| text(cx, key, item))),
            _ => text(cx, key, item).map(|text| vec![text]),
        }
    }

    /// Each of the texts as `parse` understands it.
    pub(crate) fn each<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Vec<Spotted<Setting<T>>>> {
        let texts = self.texts(cx, key)?;
        collect(texts.into_iter().map(|text| parsed(cx, key, &text, &parse)))
    }
}

/// All, or `None` after every one of them was looked at.
fn collect<T>(items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let all: Vec<Option<T>> = items.collect();
    all.into_iter().collect()
}

/// A text, or a reference to one.
pub(crate) fn text(cx: &mut Context<'_>, key: &str, item: &Item) -> Option<Spotted<Text>> {
    let text = match &item.value {
        Value::Text(text) => Ok(Setting::literal(text.clone())),
        Value::Table(table) => reference(table).and_then(|origin| resolve(cx.resolver, origin)),
        Value::List(_) => Err(wrong_type(key, "one text in quotes", &item.value)),
        other => Err(wrong_type(key, "a text in quotes", other)),
    };
    cx.findings.keep(item.mark, text).map(|value| Spotted {
        value,
        mark: item.mark,
    })
}

fn parsed<T>(
    cx: &mut Context<'_>,
    key: &str,
    text: &Spotted<Text>,
    parse: impl FnOnce(&str) -> Result<T, Fault>,
) -> Option<Spotted<Setting<T>>> {
    let result = parse(text.value.get()).map_err(|fault| match text.value.origin() {
        Origin::Literal => fault,
        // What the parser says may quote the value.
        _ => Fault::new(fault.code, format!("`{key}` {} cannot be used", text.value))
            .label(fault.code.meaning()),
    });
    let value = cx.findings.keep(text.mark, result)?;
    let value = Setting::new(value, text.value.origin().clone());
    Some(Spotted {
        value,
        mark: text.mark,
    })
}

fn reference(table: &Table) -> Result<Origin, Fault> {
    let fault = || {
        Fault::new(
            code::REFERENCE,
            "a reference names either a variable or a file",
        )
        .fix("{ env = \"NAME\" } or { file = \"PATH\" }")
    };
    match table.entries.as_slice() {
        [
            Entry {
                key,
                item:
                    Item {
                        value: Value::Text(name),
                        ..
                    },
                ..
            },
        ] if !name.is_empty() => match key.as_str() {
            "env" => Ok(Origin::Env(name.clone())),
            "file" => Ok(Origin::File(name.clone())),
            _ => Err(fault()),
        },
        _ => Err(fault()),
    }
}

/// The meaning of a word, or which words there are.
pub(crate) fn word<T: Copy>(
    key: &str,
    text: &str,
    words: &[(&str, T)],
    later: &[Later],
) -> Result<T, Fault> {
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*meaning);
    }
    if let Some(later) = later.iter().find(|later| later.word == text) {
        return Err(later.fault(&format!("{key} = {text:?}")));
    }
    let all: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
    let fault = Fault::new(
        code::WORD,
        format!("`{key}` does not know the word {text:?}"),
    )
    .label(format!("one of {}", all.join(", ")));
    Err(match nearest(text, words.iter().map(|(word, _)| *word)) {
        Some(near) => fault.fix(format!("{key} = {near:?}")),
        None => fault,
    })
}

fn whole_number(key: &str, value: &Value, range: &RangeInclusive<u64>) -> Result<u64, Fault> {
    let (low, high) = (*range.start(), *range.end());
    let number = |why: &str| {
        Fault::new(code::NUMBER, format!("`{key}` {why}"))
            .label(format!("a whole number from {low} to {high}"))
    };
    match value {
        Value::Integer(n) => match u64::try_from(*n) {
            Ok(n) if range.contains(&n) => Ok(n),
            Ok(n) if n < low => {
                Err(number(&format!("is below {low}")).fix(format!("{key} = {low}")))
            }
            _ if *n < 0 => Err(number("is negative")),
            _ => Err(number(&format!("is above {high}")).fix(format!("{key} = {high}"))),
        },
        Value::Float(text) => Err(number(&format!("is not a whole number: {text}"))),
        Value::Text(text) if text.parse::<u64>().is_ok() => {
            Err(wrong_type(key, "a number without quotes", value).fix(format!("{key} = {text}")))
        }
        other => Err(wrong_type(key, "a whole number", other)),
    }
}

pub(crate) fn wrong_type(key: &str, wanted: &str, found: &Value) -> Fault {
    let name = if key.starts_with('[') {
        key.to_owned()
    } else {
        format!("`{key}`")
    };
    Fault::new(code::TYPE, format!("{name} must be {wanted}"))
        .label(format!("this is {}", found.kind()))
}

fn unknown(vocabulary: &Vocabulary, entry: &Entry) -> Fault {
    let (section, key) = (vocabulary.section, entry.key.as_str());
    if let Some(later) = vocabulary.later.iter().find(|later| later.word == key) {
        return later.fault(&vocabulary.shown(key));
    }
    let fault = match section {
        ROOT => Fault::new(code::UNKNOWN, format!("there is no section {key:?}")),
        _ => Fault::new(code::UNKNOWN, format!("{section} has no setting {key:?}")),
    };
    match nearest(key, vocabulary.known.iter().copied()) {
        Some(near) => fault
            .label("did you mean the one below?")
            .fix(vocabulary.shown(near)),
        None => fault.label(format!("there are: {}", vocabulary.known.join(", "))),
    }
}
