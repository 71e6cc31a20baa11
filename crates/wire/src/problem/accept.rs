//! Which body the client can read (RFC 9110 section 12.5.1).
//!
//! Two families of media types can be answered: JSON (`application/problem+json`,
//! `application/json`, any `+json`) and text (`text/plain`, `text/html`). Each gets the weight of
//! the most exact range that mentions it; of equally exact ones, the largest. The heavier family
//! wins; on a tie the one named more exactly; else JSON. JSON is also the answer without `Accept`,
//! with nothing legible in it, and when neither family is accepted: the problem must be told somehow.

use crate::pieces::Pieces;

/// A way to write a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `application/problem+json` (RFC 9457): the default.
    #[default]
    Json,
    /// One line of plain text.
    Text,
}

impl Format {
    /// The value of `Content-Type` for this format.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/problem+json",
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    /// The format a client prefers, from all its `Accept` lines. What is malformed is passed over.
    ///
    /// ```
    /// # use jeton_wire::problem::Format;
    /// let browser = b"text/html,application/xhtml+xml,*/*;q=0.8".as_slice();
    /// assert_eq!(Format::from_accept([browser]), Format::Text);
    /// assert_eq!(Format::from_accept([b"*/*".as_slice()]), Format::Json);
    /// assert_eq!(Format::from_accept([]), Format::Json);
    /// ```
    #[must_use]
    pub fn from_accept<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let (mut json, mut text) = (Wish::default(), Wish::default());
        for range in lines.into_iter().flat_map(|line| Pieces::new(line, b',')) {
            let Some(range) = Range::read(range) else {
                continue;
            };
            json = json.max_exact(range.json());
            text = text.max_exact(range.text());
        }
        let preferred = (text.weight, text.exactness) > (json.weight, json.exactness);
        if text.weight > 0 && preferred {
            Self::Text
        } else {
            Self::Json
        }
    }
}

/// How much a family is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Wish {
    exactness: Exactness,
    /// In thousandths.
    weight: u16,
}

impl Wish {
    /// The order of the fields says it: more exact first, then heavier.
    fn max_exact(self, other: Self) -> Self {
        self.max(other)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Exactness {
    #[default]
    NotMentioned,
    Anything,
    AnySubtype,
    Named,
}

/// One `media-range` with its weight in thousandths.
struct Range<'a> {
    kind: &'a [u8],
    subtype: &'a [u8],
    weight: u16,
}

impl<'a> Range<'a> {
    fn read(range: &'a [u8]) -> Option<Self> {
        let mut pieces = Pieces::new(range, b';');
        let media = pieces.next()?.trim_ascii();
        let slash = media.iter().position(|byte| *byte == b'/')?;
        let (kind, subtype) = (media.get(..slash)?, media.get(slash + 1..)?);
        let weight = match pieces.find_map(weight_parameter) {
            Some(value) => thousandths(value)?,
            None => 1000,
        };
        Some(Self {
            kind,
            subtype,
            weight,
        })
    }

    fn json(&self) -> Wish {
        let suffix = self
            .subtype
            .len()
            .checked_sub(5)
            .and_then(|at| self.subtype.get(at..));
        let named = self.subtype.eq_ignore_ascii_case(b"json")
            || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"));
        self.wish(b"application", named)
    }

    fn text(&self) -> Wish {
        let named = [b"plain".as_slice(), b"html"]
            .iter()
            .any(|subtype| self.subtype.eq_ignore_ascii_case(subtype));
        self.wish(b"text", named)
    }

    fn wish(&self, kind: &[u8], named: bool) -> Wish {
        let exactness = match (self.kind, self.subtype) {
            (b"*", b"*") => Exactness::Anything,
            _ if !self.kind.eq_ignore_ascii_case(kind) => return Wish::default(),
            (_, b"*") => Exactness::AnySubtype,
            _ if named => Exactness::Named,
            _ => return Wish::default(),
        };
        Wish {
            exactness,
            weight: self.weight,
        }
    }
}

fn weight_parameter(parameter: &[u8]) -> Option<&[u8]> {
    match parameter.trim_ascii() {
        [b'q' | b'Q', b'=', value @ ..] => Some(value),
        _ => None,
    }
}

/// `qvalue` of RFC 9110 section 12.4.2: 0 to 1 with at most three decimals.
fn thousandths(value: &[u8]) -> Option<u16> {
    let (whole, decimals) = match value {
        [whole] => (whole, [].as_slice()),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut total = match whole {
        b'0' => 0,
        b'1' => 1000,
        _ => return None,
    };
    for (digit, place) in decimals.iter().zip([100, 10, 1]) {
        total += u16::from(digit.checked_sub(b'0').filter(|digit| *digit <= 9)?) * place;
    }
    (total <= 1000).then_some(total)
}
