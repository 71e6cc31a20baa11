//! `plan`, `plans` and `trial`: other allowances of the same rule.

use jeton_core::MAX_LIMIT;
use jeton_wire::ratelimit::{MAX_NAME_LEN, is_policy_name};

use super::allowance::{LIMIT_WORDS, LIMITS, value_mark};
use super::change;
use crate::diagnostic::{Fault, code};
use crate::key::KeyPart;
use crate::language::{Form, Shape, Vocabulary, Word, word};
use crate::raw::{self, Context, Entry, Section, Table, Value};
use crate::rule::{Allowance, Plans, Terms};

const MAX: u64 = MAX_LIMIT as u64;

/// More than anybody sells.
const MAX_PLANS: usize = 64;

const WINDOW: Word = word(
    "window",
    Shape::Text(Form::Duration),
    "The length of a window; without it, the rule's.",
);
const RATE: Word = word(
    "rate",
    Shape::Text(Form::Rate),
    "Units that come back to a bucket; without it, the rule's.",
);
const BURST: Word = word(
    "burst",
    Shape::Count(1, MAX),
    "Units in all from a full bucket. Without it, those of one period of a `rate` written here; \
     else the rule's.",
);
const LEASE: Word = word(
    "lease",
    Shape::Text(Form::Duration),
    "How long a holder keeps its units unless it renews them; without it, the rule's.",
);

pub(super) const PLAN: Vocabulary = Vocabulary {
    section: "a plan",
    example: "pro = { rate = \"50/s\", burst = 200 }",
    about: "Settings of the rule's own algorithm; what is not written here is the rule's.",
    known: &[
        word(
            "limit",
            Shape::CountOrWord(1, MAX, LIMIT_WORDS),
            "Units per window or at once; or \"unlimited\", or \"deny\". Without it, the rule's.",
        ),
        WINDOW,
        RATE,
        BURST,
        LEASE,
    ],
    required: &[],
    later: &[],
};

pub(super) const TRIAL: Vocabulary = Vocabulary {
    section: "trial",
    example: "trial = { limit = 80 }",
    about: "Other settings of the rule's algorithm, counted side by side on a counter of their \
            own, without a vote. What is not written here is the rule's.",
    known: &[
        word(
            "limit",
            Shape::Count(1, MAX),
            "Units per window or at once; without it, the rule's.",
        ),
        WINDOW,
        RATE,
        BURST,
        LEASE,
    ],
    required: &[],
    later: &[],
};

/// What a plan may be: a word, or settings.
pub(super) const PLAN_SHAPE: Shape =
    Shape::OneOf(&[Shape::Words(LIMIT_WORDS), Shape::Table(&PLAN)]);

/// The plans of a rule. Nothing is said of them that hangs on an allowance that is wrong itself.
pub(super) fn plans(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    own: Option<&Allowance>,
) -> Option<Plans> {
    if section.has("plan") || section.has("plans") {
        section.require(cx, "plan", "plan = \"header:x-plan\"");
        section.require(cx, "plans", "plans = { staff = \"unlimited\" }");
    }
    let source = section.parsed_shown(cx, "plan", source);
    let item = section.item("plans")?;
    let Value::Table(table) = &item.value else {
        const EXAMPLE: &str = "plans = { staff = \"unlimited\" }";
        let wanted = "a table of names and allowances";
        return cx.error(
            item.mark,
            raw::wrong_type("plans", wanted, EXAMPLE, &item.value),
        );
    };
    let fault = match table.entries.len() {
        0 => Some(Fault::new(code::EMPTY, "`plans` is an empty table").fix("leave `plans` out")),
        len if len > MAX_PLANS => {
            let what = format!("a rule has at most {MAX_PLANS} plans");
            Some(Fault::new(code::TOO_MANY, what).fix("a second [[rule]]"))
        }
        _ => None,
    };
    if let Some(fault) = fault {
        return cx.error(item.mark, fault);
    }
    let mut named = Vec::new();
    for entry in &table.entries {
        if !is_policy_name(&entry.key) {
            let what = "the name of a plan is a word of a request";
            let fix = format!("1 to {MAX_NAME_LEN} printable ASCII characters without \" and \\");
            let _: Option<()> = cx.error(entry.key_mark, Fault::new(code::NAME, what).fix(fix));
            continue;
        }
        if let Some(own) = own
            && let Some(allowance) = plan(cx, entry, own)
        {
            named.push((entry.key.clone(), allowance));
        }
    }
    let source = source?.value;
    Some(Plans { source, named })
}

/// A part of a request that is a word.
fn source(text: &str) -> Result<KeyPart, Fault> {
    let part = KeyPart::parse(text);
    match part {
        Ok(
            KeyPart::Header(_) | KeyPart::Cookie(_) | KeyPart::Query(_) | KeyPart::Descriptor(_),
        ) => part,
        Err(fault) if text.contains(':') => Err(fault),
        _ => Err(
            Fault::new(code::SOURCE, format!("no plan can be read from {text:?}"))
                .label("a word of the request")
                .fix("\"header:x-plan\""),
        ),
    }
}

fn plan(cx: &mut Context<'_>, entry: &Entry, own: &Allowance) -> Option<Allowance> {
    let before = cx.findings.errors();
    let allowance = match &entry.item.value {
        Value::Table(table) if !is_reference(table) => settings(cx, entry, own),
        Value::Text(_) | Value::Table(_) => {
            let text = raw::text(cx, &entry.key, &entry.item)?;
            cx.findings
                .keep(entry.item.mark, of_word(&entry.key, text.value.get()))
        }
        other => {
            let wanted = "a table, \"unlimited\" or \"deny\"";
            let fault = raw::wrong_type(&entry.key, wanted, PLAN.example, other);
            cx.error(entry.item.mark, fault)
        }
    }?;
    if cx.findings.errors() > before {
        return None;
    }
    if allowance == *own {
        let what = format!("the plan {:?} is what the rule says already", entry.key);
        let fault = Fault::new(code::CONTRADICTION, what)
            .label("a request with an unknown plan, or none, gets the rule's own")
            .fix("leave it out");
        return cx.error(entry.key_mark, fault);
    }
    Some(allowance)
}

fn is_reference(table: &Table) -> bool {
    matches!(table.entries.as_slice(), [only] if only.key == "env" || only.key == "file")
}

fn of_word(name: &str, text: &str) -> Result<Allowance, Fault> {
    raw::word(name, text, &LIMITS, &[])
        .map_err(|fault| fault.label("a table, \"unlimited\" or \"deny\""))
}

fn settings(cx: &mut Context<'_>, entry: &Entry, own: &Allowance) -> Option<Allowance> {
    let section = Section::open(cx, &PLAN, &entry.item)?;
    if super::allowance::is_word(&section) {
        const WHY: &str = "and a word for `limit` exclude each other";
        for name in ["window", "rate", "burst", "lease"] {
            section.refuse(cx, name, WHY, "leave it out");
        }
        let word = |text: &str| of_word("limit", text);
        let word = section.parsed(cx, "limit", word)?;
        return Some(*word.value.get());
    }
    match own {
        Allowance::Quota(base) => change::read(cx, &section, base).map(Allowance::Quota),
        Allowance::Unlimited | Allowance::Deny => {
            let what = "the rule is a word, so its plans are words";
            let fault = Fault::new(code::CONTRADICTION, what)
                .label("there is no algorithm that these could be settings of")
                .fix(format!("{} = \"unlimited\"", entry.key));
            cx.error(entry.item.mark, fault)
        }
    }
}

/// The terms on trial.
pub(super) fn trial(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    own: Option<&Allowance>,
) -> Option<Terms> {
    let Allowance::Quota(base) = own? else {
        section.refuse(
            cx,
            "trial",
            super::settling::NOTHING_COUNTED,
            "leave it out",
        );
        return None;
    };
    let before = cx.findings.errors();
    let table = Section::open(cx, &TRIAL, section.item("trial")?)?;
    let terms = change::read(cx, &table, base)?;
    if cx.findings.errors() > before {
        return None;
    }
    if terms == *base {
        let what = "the trial is what the rule says already";
        let fault = Fault::new(code::CONTRADICTION, what).fix("leave it out");
        return cx.error(value_mark(section, "trial"), fault);
    }
    Some(terms)
}
