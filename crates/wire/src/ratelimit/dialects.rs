//! Several dialects in one answer, for clients of different ages.

use std::{error::Error, fmt};

use super::{Dialect, Report};

/// The dialects of an answer, in order: none, one, or several that share no field.
///
/// In fact two at most: every dialect writes either `RateLimit…` or `X-RateLimit-…` fields.
///
/// ```
/// use jeton_wire::ratelimit::{Dialect, Dialects};
///
/// let both = Dialects::new(&[Dialect::Ietf11, Dialect::LegacyEpoch]).unwrap();
/// assert_eq!(both.field_names().count(), 5);
/// let clash = Dialects::new(&[Dialect::Ietf11, Dialect::Draft7]).unwrap_err();
/// assert_eq!(
///     clash.to_string(),
///     r#"the dialects "ietf" and "draft-7" both write "ratelimit-policy"; keep one of them"#,
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialects([Dialect; 2]);

impl Dialects {
    /// A set of dialects.
    ///
    /// # Errors
    ///
    /// [`ClashError`] if two of them write a field of the same name, are the same, or if one is
    /// `none`, which stands alone.
    pub fn new(dialects: &[Dialect]) -> Result<Self, ClashError> {
        for (index, first) in dialects.iter().enumerate() {
            for second in dialects.iter().skip(index + 1) {
                clash(*first, *second)?;
            }
        }
        // What got here is at most one of each family of names.
        let nth = |index| dialects.get(index).copied().unwrap_or(Dialect::None);
        Ok(Self([nth(0), nth(1)]))
    }

    /// Hands `each` the name (lower case) and value of every field for `report`; see
    /// [`Dialect::write_fields`].
    pub fn write_fields(
        self,
        report: &Report<'_>,
        scratch: &mut String,
        mut each: impl FnMut(&'static str, &str),
    ) {
        for dialect in self.0 {
            dialect.write_fields(report, scratch, &mut each);
        }
    }

    /// The names of all fields, in lower case: with `retry-after`, what CORS must expose.
    pub fn field_names(self) -> impl Iterator<Item = &'static str> {
        self.0.into_iter().flat_map(Dialect::field_names)
    }

    /// The dialects, in order.
    pub fn iter(self) -> impl Iterator<Item = Dialect> {
        self.0
            .into_iter()
            .filter(|dialect| *dialect != Dialect::None)
    }
}

impl Default for Dialects {
    fn default() -> Self {
        Dialect::default().into()
    }
}

impl From<Dialect> for Dialects {
    fn from(dialect: Dialect) -> Self {
        Self([dialect, Dialect::None])
    }
}

fn clash(first: Dialect, second: Dialect) -> Result<(), ClashError> {
    let field = first
        .field_names()
        .find(|name| second.field_names().any(|other| other == *name));
    if field.is_some() || first == Dialect::None || second == Dialect::None {
        return Err(ClashError {
            first,
            second,
            field,
        });
    }
    Ok(())
}

/// Two dialects that cannot stand in one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClashError {
    first: Dialect,
    second: Dialect,
    /// What both write; nothing if one of them is `none`.
    field: Option<&'static str>,
}

impl fmt::Display for ClashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second, .. } = self;
        match self.field {
            None => f.write_str("the dialect \"none\" stands alone; leave it out or keep only it"),
            Some(_) if first == second => {
                write!(
                    f,
                    "the dialect \"{first}\" is named twice; keep one of them"
                )
            }
            Some(field) => write!(
                f,
                "the dialects \"{first}\" and \"{second}\" both write \"{field}\"; keep one of them"
            ),
        }
    }
}

impl Error for ClashError {}
