//! Reads settings of one section by name and type. What it cannot read becomes a finding at its
//! place, and the check goes on, so that one run shows all mistakes.

use super::elsewhere::elsewhere;
use super::read::{self, Spotted, Text};
use super::{Context, Entry, Item, Later, Table, Value};
use crate::diagnostic::{Fault, code, nearest};
use crate::language::{ROOT, Shape, Vocabulary};
use crate::setting::Setting;
use crate::source::Mark;

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
                cx.error(
                    item.mark,
                    read::wrong_type(name, "a table", vocabulary.example, other),
                )
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
            if vocabulary.word(&entry.key).is_none() {
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
            self.vocabulary.word(key).is_some(),
            "{key} is not in the vocabulary"
        );
        self.table.get(key)
    }

    /// Holds the vocabulary to what is read, in tests: what it says is what editors are told.
    fn expect(&self, key: &str, fits: impl Fn(Shape) -> bool) {
        debug_assert!(
            self.vocabulary
                .word(key)
                .is_some_and(|word| word.shape.any(&fits)),
            "{key} is read as something else than its vocabulary says"
        );
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

    /// A text that `parse` understands.
    pub(crate) fn parsed<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Spotted<Setting<T>>> {
        self.expect(key, |shape| {
            matches!(shape, Shape::Text(_) | Shape::CountOrWord(..))
        });
        self.parse(cx, key, parse)
    }

    fn parse<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Spotted<Setting<T>>> {
        let item = self.item(key)?;
        if let Some(fix) = self.with_unit(key, item, &parse) {
            let fault = read::wrong_type(key, "a text in quotes", &fix, &item.value);
            return cx.error(item.mark, fault);
        }
        let text = read::text(cx, key, item)?;
        read::parsed(cx, key, &text, |text| {
            parse(text).map_err(|fault| fault.fix_whole_line(key))
        })
    }

    /// The line for a bare number that lacks a unit: with each unit that would be read.
    fn with_unit<T>(
        &self,
        key: &str,
        item: &Item,
        parse: &impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<String> {
        let (Value::Integer(number), Some(Shape::Text(form))) = (
            &item.value,
            self.vocabulary.word(key).map(|word| word.shape),
        ) else {
            return None;
        };
        let fits = form.of_number(*number).into_iter();
        let fits = fits.filter(|text| parse(text).is_ok());
        let fits: Vec<String> = fits.map(|text| format!("{text:?}")).collect();
        (!fits.is_empty()).then(|| format!("{key} = {}", fits.join(", or ")))
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        words: &[(&str, T)],
        later: &[Later],
    ) -> Option<T> {
        self.expect(key, |shape| match shape {
            Shape::Words(known) | Shape::CountOrWord(_, _, known) => {
                known.iter().eq(words.iter().map(|(word, _)| word))
            }
            _ => false,
        });
        let parse = |text: &str| read::word(key, text, words, later);
        self.parse(cx, key, parse).map(|word| *word.value.get())
    }

    /// One of a few words, or a list of several.
    pub(crate) fn words<T: Copy>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> Option<Vec<Spotted<Setting<T>>>> {
        self.expect(key, |shape| match shape {
            Shape::ManyWords(known) => known.iter().eq(words.iter().map(|(word, _)| word)),
            _ => false,
        });
        let in_list = matches!(self.item(key)?.value, Value::List(_));
        self.parse_each(cx, key, |text| {
            read::word(key, text, words, &[]).map_err(|fault| {
                // The whole line would take the other words of the list away.
                let word = fault
                    .fix
                    .strip_prefix(&format!("{key} = "))
                    .map(str::to_owned);
                match word.filter(|_| in_list) {
                    Some(word) => fault.fix(word),
                    None => fault,
                }
            })
        })
    }

    pub(crate) fn flag(&self, cx: &mut Context<'_>, key: &str) -> Option<bool> {
        self.expect(key, |shape| matches!(shape, Shape::Flag));
        let item = self.item(key)?;
        match &item.value {
            Value::Bool(flag) => Some(*flag),
            other => {
                let fix = format!("{key} = true, or {key} = false");
                cx.error(
                    item.mark,
                    read::wrong_type(key, "true or false", &fix, other),
                )
            }
        }
    }

    /// A whole number in the range of the vocabulary. `zero` says what to do instead of 0.
    pub(crate) fn count(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        zero: impl FnOnce() -> Fault,
    ) -> Option<Spotted<u64>> {
        let item = self.item(key)?;
        self.expect(key, |shape| shape.range().is_some());
        let (low, high) = self.vocabulary.word(key)?.shape.range()?;
        let range = low..=high;
        let count = match &item.value {
            Value::Integer(0) if !range.contains(&0) => Err(zero()),
            other => read::whole_number(key, other, &range),
        };
        cx.findings.keep(item.mark, count).map(|value| Spotted {
            value,
            mark: item.mark,
        })
    }

    /// A text or a list of texts; not an empty one.
    fn texts(&self, cx: &mut Context<'_>, key: &str) -> Option<Vec<Spotted<Text>>> {
        let item = self.item(key)?;
        match &item.value {
            Value::List(items) if items.is_empty() => {
                let what = format!("`{key}` is an empty list");
                cx.error(
                    item.mark,
                    Fault::new(code::EMPTY, what).fix(format!("leave `{key}` out")),
                )
            }
            Value::List(items) => collect(items.iter().map(|item| read::text(cx, key, item))),
            _ => read::text(cx, key, item).map(|text| vec![text]),
        }
    }

    /// Each of the texts as `parse` understands it.
    pub(crate) fn each<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Vec<Spotted<Setting<T>>>> {
        self.expect(key, |shape| matches!(shape, Shape::Texts(_)));
        self.parse_each(cx, key, parse)
    }

    fn parse_each<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Vec<Spotted<Setting<T>>>> {
        let one = !matches!(self.item(key)?.value, Value::List(_));
        let whole = |fault: Fault| {
            if one {
                fault.fix_whole_line(key)
            } else {
                fault
            }
        };
        let parse = |text: &str| parse(text).map_err(whole);
        let texts = self.texts(cx, key)?;
        collect(
            texts
                .into_iter()
                .map(|text| read::parsed(cx, key, &text, parse)),
        )
    }

    /// Like [`Section::each`], for words that are shown: they cannot stand elsewhere.
    pub(crate) fn each_shown<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Vec<Spotted<T>>> {
        self.expect(key, |shape| matches!(shape, Shape::ManyShown(_)));
        let all = self.parse_each(cx, key, parse)?;
        collect(all.into_iter().map(|one| read::shown(cx, key, one)))
    }

    /// Like [`Section::parsed`], for a word that is shown.
    pub(crate) fn parsed_shown<T>(
        &self,
        cx: &mut Context<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, Fault>,
    ) -> Option<Spotted<T>> {
        self.expect(key, |shape| matches!(shape, Shape::Shown(_)));
        let one = self.parse(cx, key, parse)?;
        read::shown(cx, key, one)
    }
}

/// All, or `None` after every one of them was looked at.
fn collect<T>(items: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let all: Vec<Option<T>> = items.collect();
    all.into_iter().collect()
}

fn unknown(vocabulary: &Vocabulary, entry: &Entry) -> Fault {
    let (section, key) = (vocabulary.section, entry.key.as_str());
    if let Some(later) = vocabulary.later.iter().find(|later| later.word == key) {
        return later.fault(&format!("`{}`", vocabulary.shown(key)));
    }
    let fault = match section {
        ROOT => Fault::new(code::UNKNOWN, format!("there is no section {key:?}")),
        _ => Fault::new(code::UNKNOWN, format!("{section} has no setting {key:?}")),
    };
    if let Some((label, fix)) = elsewhere(section, key) {
        return fault.label(label).fix(fix);
    }
    if let Some(near) = nearest(key, vocabulary.names()) {
        let near = vocabulary.shown(near);
        return fault.label(format!("did you mean `{near}`?")).fix(near);
    }
    let all: Vec<&str> = vocabulary.names().collect();
    fault.fix(format!("one of: {}", all.join(", ")))
}
