//! Path patterns: segments, `{x}` for one of them, `{x..}` for the rest.

use std::fmt;

use jeton_wire::path::normal_form;

use crate::diagnostic::{Fault, code};

/// A path pattern, compared with the normal form of a path, segment by segment.
///
/// `{x..}` stands last and for any number of segments, none included: `/api/{rest..}` also speaks
/// of `/api` and of `/api/`, which is the same in normal form.
///
/// ```
/// use jeton_policy::Pattern;
/// let pattern = Pattern::parse("/reports/{id}/export")?;
/// assert!(pattern.matches("/reports/7/export", true));
/// assert!(pattern.matches("/Reports/7/Export", false));
/// assert!(!pattern.matches("/reports/7/8/export", true));
/// # Ok::<(), jeton_policy::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    segments: Vec<Segment>,
    /// Whether more segments may follow.
    rest: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Any,
}

/// The pattern that a plain regular expression stands for.
fn without_expressions(plain: &str) -> String {
    let path = match plain.strip_suffix("/.*") {
        Some(begin) => format!("/{begin}/{{rest..}}"),
        None => format!("/{plain}"),
    };
    let is_plain = !path.contains(['(', '[', '|', '+', '\\', '$']);
    match Pattern::parse(&path) {
        Ok(_) if is_plain => format!("{path:?}"),
        _ => "such as \"/api/{rest..}\" or \"/reports/{id}\"".to_owned(),
    }
}

/// What the text of one segment is.
enum Piece<'a> {
    Literal,
    One(&'a str),
    Rest(&'a str),
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A [`Fault`] that names the fix.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let fault = |what: &str| Fault::new(code::PATH, format!("the path {text:?} {what}"));
        let inner = text.strip_prefix('/').ok_or_else(|| {
            let plain = text.trim_start_matches(['^', '/']).trim_end_matches('$');
            if plain.len() < text.len() {
                let fault = fault("is a regular expression, and patterns are none");
                return fault.fix(without_expressions(plain));
            }
            fault("does not begin with a slash").fix(format!("{:?}", format!("/{text}")))
        })?;
        let mut pattern = Self {
            text: text.to_owned(),
            segments: Vec::new(),
            rest: false,
        };
        if inner.is_empty() {
            return Ok(pattern);
        }
        let mut names = Vec::new();
        for segment in inner.split('/') {
            if pattern.rest {
                return Err(fault("goes on after a parameter that takes the rest")
                    .fix("the parameter that takes the rest stands last"));
            }
            match piece(segment).map_err(|(why, fix)| fault(why).fix(fix))? {
                Piece::Literal => pattern.segments.push(literal(segment).ok_or_else(|| {
                    fault("is not in normal form").fix(format!("{:?}", normal(text)))
                })?),
                Piece::One(name) | Piece::Rest(name) if names.contains(&name) => {
                    return Err(fault(&format!("has two parameters named {name:?}"))
                        .fix("each parameter has a name of its own"));
                }
                Piece::One(name) => {
                    names.push(name);
                    pattern.segments.push(Segment::Any);
                }
                Piece::Rest(_) => pattern.rest = true,
            }
        }
        Ok(pattern)
    }

    /// The pattern as it was written: the value of the key part `route`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it speaks of a path, which must be in normal form.
    pub fn matches(&self, normal: &str, match_case: bool) -> bool {
        let Some(inner) = normal.strip_prefix('/') else {
            return false;
        };
        // Bytes: a search for short segments in text costs several times as much.
        let segments = inner.as_bytes().split(|byte| *byte == b'/');
        let mut given = segments.filter(|segment| !segment.is_empty());
        let begins = self
            .segments
            .iter()
            .all(|segment| match (segment, given.next()) {
                (_, None) => false,
                (Segment::Any, Some(_)) => true,
                (Segment::Literal(wanted), Some(given)) if match_case => wanted.as_bytes() == given,
                (Segment::Literal(wanted), Some(given)) => {
                    wanted.as_bytes().eq_ignore_ascii_case(given)
                }
            });
        begins && (self.rest || given.next().is_none())
    }

    /// Whether it speaks of every path that `other` speaks of.
    pub(crate) fn covers(&self, other: &Self, match_case: bool) -> bool {
        let fits = |(own, others): (&Segment, &Segment)| match (own, others) {
            (Segment::Any, _) => true,
            (Segment::Literal(_), Segment::Any) => false,
            (Segment::Literal(own), Segment::Literal(others)) if match_case => own == others,
            (Segment::Literal(own), Segment::Literal(others)) => own.eq_ignore_ascii_case(others),
        };
        let (own, others) = (self.segments.len(), other.segments.len());
        let long_enough = if self.rest {
            others >= own
        } else {
            others == own && !other.rest
        };
        long_enough && self.segments.iter().zip(&other.segments).all(fits)
    }

    /// Whether some path is one of both.
    pub(crate) fn may_meet(&self, other: &Self, match_case: bool) -> bool {
        let alike = |(own, others): (&Segment, &Segment)| match (own, others) {
            (Segment::Literal(own), Segment::Literal(others)) if match_case => own == others,
            (Segment::Literal(own), Segment::Literal(others)) => own.eq_ignore_ascii_case(others),
            _ => true,
        };
        let (own, others) = (self.segments.len(), other.segments.len());
        let long_enough = (self.rest || own >= others) && (other.rest || others >= own);
        long_enough && self.segments.iter().zip(&other.segments).all(alike)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Why a segment cannot be read, and the fix.
type Slip = (&'static str, &'static str);

fn piece(segment: &str) -> Result<Piece<'_>, Slip> {
    let inner = segment
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    if let Some(inner) = inner {
        let (name, rest) = match inner.strip_suffix("..") {
            Some(name) => (name, true),
            None => (inner, false),
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(plain) {
            let fix = "a name of letters, digits and _, such as {id} or {rest..}";
            return Err(("has a parameter without a proper name", fix));
        }
        return Ok(if rest {
            Piece::Rest(name)
        } else {
            Piece::One(name)
        });
    }
    if segment.contains(['{', '}']) {
        let fix = "{id} between slashes, or {rest..} at the end";
        return Err(("has a parameter that is only a part of a segment", fix));
    }
    if segment.contains('*') {
        return Err(("has a `*`", "{id} for one segment, {rest..} for the rest"));
    }
    if segment.contains(['?', '#']) {
        return Err((
            "has a query",
            "the path only; key = [\"query:NAME\"] tells queries apart",
        ));
    }
    Ok(Piece::Literal)
}

/// A segment that is its own normal form; one that is not would never match.
fn literal(segment: &str) -> Option<Segment> {
    let path = format!("/{segment}");
    (!segment.is_empty() && normal_form(path.as_bytes()) == path)
        .then(|| Segment::Literal(segment.to_owned()))
}

/// The pattern with its literal segments in normal form.
fn normal(text: &str) -> String {
    let mut out = String::new();
    for segment in text
        .split('/')
        .filter(|segment| !matches!(*segment, "" | "." | ".."))
    {
        match piece(segment) {
            Ok(Piece::Literal) => {
                out.push_str(&normal_form(format!("/{segment}").as_bytes()));
            }
            _ => out = out + "/" + segment,
        }
    }
    if out.is_empty() { "/".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern)
            .unwrap()
            .matches(&normal_form(path.as_bytes()), false)
    }

    #[test]
    fn f41_every_spelling_of_a_path_is_the_same_path() {
        for spelling in [
            "/login",
            "/LOGIN",
            "/login/",
            "//login",
            "/%6Cogin",
            "/%6cOGIN",
            "/x/../login",
            "/login//",
            "/./login",
            "/login?x=1",
        ] {
            assert!(matches("/login", spelling), "{spelling}");
        }
        assert!(!matches("/login", "/login%2F") && !matches("/login", "/log/in"));
    }

    #[test]
    fn case_is_told_apart_on_demand() {
        let pattern = Pattern::parse("/Login").unwrap();
        assert!(pattern.matches("/Login", true) && !pattern.matches("/login", true));
        assert!(pattern.matches("/login", false));
    }

    #[test]
    fn a_parameter_takes_one_segment_and_the_last_one_the_rest() {
        assert!(
            matches("/a/{x}", "/a/b") && !matches("/a/{x}", "/a") && !matches("/a/{x}", "/a/b/c")
        );
        assert!(
            matches("/a/{x..}", "/a")
                && matches("/a/{x..}", "/a/")
                && matches("/a/{x..}", "/a/b/c")
        );
        assert!(!matches("/a/{x..}", "/ab"));
        assert!(matches("/{all..}", "/") && matches("/{all..}", "/x/y"));
        assert!(matches("/", "/") && !matches("/", "/x"));
        assert!(matches("/{a}/x/{b}", "/1/x/2"));
        assert!(!matches("/{all..}", "*"));
    }

    #[test]
    fn a_slip_names_its_fix() {
        for (text, fix) in [
            ("login", "\"/login\""),
            ("^/login$", "\"/login\""),
            ("^/api/.*$", "\"/api/{rest..}\""),
            (
                "^/a(b|c)[0-9]+$",
                "such as \"/api/{rest..}\" or \"/reports/{id}\"",
            ),
            ("/login/", "\"/login\""),
            ("//login", "\"/login\""),
            ("/%6cogin", "\"/login\""),
            ("/a/./b", "\"/a/b\""),
            ("/a b", "\"/a%20b\""),
            ("/a/*", "{id} for one segment, {rest..} for the rest"),
            (
                "/a/{x}.json",
                "{id} between slashes, or {rest..} at the end",
            ),
            (
                "/a/{}",
                "a name of letters, digits and _, such as {id} or {rest..}",
            ),
            (
                "/a?b=1",
                "the path only; key = [\"query:NAME\"] tells queries apart",
            ),
        ] {
            assert_eq!(Pattern::parse(text).unwrap_err().fix, fix, "{text}");
        }
        for text in ["/{a..}/b", "/{a}/{a}", "", "/{x"] {
            assert_eq!(Pattern::parse(text).unwrap_err().code, code::PATH, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "/?[a-z{}./%*é]{0,12}", path in ".{0,24}") {
            if let Ok(pattern) = Pattern::parse(&text) {
                pattern.matches(&normal_form(path.as_bytes()), false);
            }
        }

        #[test]
        fn a_path_in_normal_form_is_a_pattern_of_itself(path in "(/[a-zA-Z0-9%._~-]{1,6}){0,4}") {
            let normal = normal_form(path.as_bytes());
            // A star is refused however it is written: it would be meant as a wildcard.
            prop_assume!(!normal.contains('*'));
            let pattern = Pattern::parse(&normal).unwrap();
            prop_assert!(pattern.matches(&normal, true));
        }
    }
}
