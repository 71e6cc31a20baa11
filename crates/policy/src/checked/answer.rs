//! `[answer]`: what clients are told.

use jeton_wire::cors::{Cors, CorsError};
use jeton_wire::ratelimit::{ClashError, Dialect, Dialects};

use crate::diagnostic::{Fault, code};
use crate::language::{Form, Shape, Vocabulary, names, word};
use crate::raw::{Context, Item, Section};
use crate::setting::{Origin, Setting};
use crate::settings::Answer;

pub(super) const ANSWER: Vocabulary = Vocabulary {
    section: "[answer]",
    example: "[answer]",
    about: "What clients are told.",
    known: &[
        word(
            "headers",
            Shape::ManyWords(DIALECT_WORDS),
            "The header fields that carry limits, or several kinds of them that share no field. \
             Default \"ietf\".",
        ),
        word("cors", Shape::Table(&CORS), CORS.about),
    ],
    required: &[],
    later: &[],
};

const CORS: Vocabulary = Vocabulary {
    section: "cors",
    example: "cors = { origins = [\"https://app.example\"] }",
    about: "Which scripts in browsers may read why they were refused, and when to come back.",
    known: &[
        word(
            "origins",
            Shape::Texts(Form::Origin),
            "Whose scripts may read refusals; or \"*\", anybody's.",
        ),
        word(
            "credentials",
            Shape::Flag,
            "Also for requests with cookies or other credentials. Default false.",
        ),
    ],
    required: &["origins"],
    later: &[],
};

const DIALECTS: [(&str, Dialect); 9] = [
    ("ietf", Dialect::Ietf11),
    ("ietf-11", Dialect::Ietf11),
    ("ietf-next", Dialect::IetfNext),
    ("draft-7", Dialect::Draft7),
    ("draft-6", Dialect::Draft6),
    ("legacy-epoch", Dialect::LegacyEpoch),
    ("legacy-delta", Dialect::LegacyDelta),
    ("envoy", Dialect::Envoy),
    ("none", Dialect::None),
];
const DIALECT_WORDS: &[&str] = &names(&DIALECTS);

pub(super) fn answer(cx: &mut Context<'_>, root: &Section<'_>) -> Answer {
    let Some(section) = root
        .item("answer")
        .and_then(|item| Section::open(cx, &ANSWER, item))
    else {
        return Answer::default();
    };
    Answer {
        headers: dialects(cx, &section).unwrap_or_default(),
        cors: section.item("cors").and_then(|item| cors(cx, item)),
    }
}

fn dialects(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Dialects> {
    let words = section.words(cx, "headers", &DIALECTS)?;
    let dialects: Vec<Dialect> = words.iter().map(|word| *word.value.get()).collect();
    let clash = |error: ClashError| {
        Fault::new(code::CONTRADICTION, error.to_string()).fix("headers = \"ietf\"")
    };
    let set = Dialects::new(&dialects).map_err(clash);
    cx.findings.keep(section.item("headers")?.mark, set)
}

fn cors(cx: &mut Context<'_>, item: &Item) -> Option<Setting<Cors>> {
    let section = Section::open(cx, &CORS, item)?;
    section.require(cx, "origins", "origins = [\"https://app.example\"]");
    let origins = section.each(cx, "origins", origin);
    let credentials = section.flag(cx, "credentials").unwrap_or(false);
    let origins = origins?;
    // What stands elsewhere hides the whole: it never appears in output, but in answers it must.
    let mut places = origins.iter().map(|one| one.value.origin());
    let elsewhere = places.find(|origin| **origin != Origin::Literal);
    let hidden = elsewhere.cloned().unwrap_or(Origin::Literal);
    let origins: Vec<&str> = origins.iter().map(|one| one.value.get().as_str()).collect();
    let clash = |error: CorsError| {
        let fix = match error {
            CorsError::AnyAmongOthers => "origins = [\"*\"]",
            _ => "origins = [\"https://app.example\"]",
        };
        Fault::new(code::CONTRADICTION, error.to_string()).fix(fix)
    };
    let cors = Cors::new(&origins, credentials).map_err(clash);
    let cors = cx.findings.keep(section.item("origins")?.mark, cors)?;
    Some(Setting::new(cors, hidden))
}

/// An origin, taken by itself.
fn origin(text: &str) -> Result<String, Fault> {
    match Cors::new(&[text], false) {
        Err(CorsError::NotAnOrigin(_, instead)) => {
            let fault = Fault::new(
                code::ORIGIN,
                format!("no browser sends the origin {text:?}"),
            );
            Err(match instead {
                Some(instead) => fault.fix(format!("{instead:?}")),
                None => fault.fix("\"https://app.example\""),
            })
        }
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_that_can_be_written_can_be_set() {
        assert!(Dialect::words().eq(DIALECTS.map(|(word, _)| word)));
        for (word, dialect) in DIALECTS {
            assert_eq!(word.parse(), Ok(dialect));
        }
    }
}
