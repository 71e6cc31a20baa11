//! `on_failure`, in `[store]` and in a rule.

use crate::diagnostic::{Fault, nearest};
use crate::language::{Shape, Vocabulary, names, word};
use crate::raw::{self, Context, Item, Section, Table, Value};
use crate::rule::{OnFailure, Share, unfit};

const WORDS: [(&str, OnFailure); 2] = [("allow", OnFailure::Allow), ("deny", OnFailure::Deny)];

const LOCAL: Vocabulary = Vocabulary {
    section: "on_failure",
    example: "on_failure = { local = 0.5 }",
    about: "A limit of each process's own while the store is away.",
    known: &[word(
        "local",
        Shape::Share,
        "The share of the limit that each process then grants: above 0 and at most 1, with at most \
         6 digits behind the point.",
    )],
    required: &["local"],
    later: &[],
};

/// What `on_failure` may be.
pub(super) const ON_FAILURE: Shape =
    Shape::OneOf(&[Shape::Words(&names(&WORDS)), Shape::Table(&LOCAL)]);

/// What becomes of requests that the store gives no decision about.
pub(super) fn on_failure(cx: &mut Context<'_>, section: &Section<'_>) -> Option<OnFailure> {
    let item = section.item("on_failure")?;
    match &item.value {
        Value::Table(table) if !is_reference(table) => local(cx, item),
        Value::Table(_) => section.word(cx, "on_failure", &WORDS, &[]),
        Value::Text(text) => {
            let word = raw::word("on_failure", text, &WORDS, &[]);
            let word = word.map_err(|fault| with_local(text, fault));
            cx.findings.keep(item.mark, word)
        }
        other => {
            let wanted = "\"allow\", \"deny\" or { local = … }";
            let fix = share(other).map_or_else(
                |_| LOCAL.example.to_owned(),
                |share| format!("on_failure = {{ local = {share} }}"),
            );
            cx.error(
                item.mark,
                raw::wrong_type("on_failure", wanted, &fix, other),
            )
        }
    }
}

/// Of the words that it may be, one is no text.
fn with_local(text: &str, fault: Fault) -> Fault {
    if nearest(text, ["local"]).is_some() {
        return fault
            .label("it takes the share of the limit beside it")
            .fix(LOCAL.example);
    }
    if nearest(text, WORDS.iter().map(|(word, _)| *word)).is_some() {
        return fault;
    }
    let fix = format!("{}, {{ local = 0.5 }}", fault.fix);
    fault.fix(fix)
}

/// Whether a table stands for a text that is elsewhere.
fn is_reference(table: &Table) -> bool {
    ["env", "file"].iter().any(|key| table.get(key).is_some())
}

fn local(cx: &mut Context<'_>, item: &Item) -> Option<OnFailure> {
    let table = Section::open(cx, &LOCAL, item)?;
    if table.is_empty() {
        table.require(cx, "local", LOCAL.example);
    }
    let item = table.item("local")?;
    let share = share(&item.value);
    cx.findings.keep(item.mark, share).map(OnFailure::Local)
}

fn share(value: &Value) -> Result<Share, Fault> {
    let share = match value {
        Value::Float(text) => text.parse(),
        Value::Integer(number) => number.to_string().parse(),
        Value::Text(text) if text.parse::<Share>().is_ok() => {
            let fix = format!("local = {text}");
            let wanted = "a number without quotes";
            Err(raw::wrong_type("local", wanted, &fix, value))
        }
        other => Err(raw::wrong_type("local", "a number", "local = 0.5", other)),
    };
    share.map_err(|fault: Fault| match value {
        Value::Integer(number) if *number < 0 => unfit("is negative"),
        Value::Float(text) if text.starts_with('-') => unfit("is negative"),
        _ => fault,
    })
}
