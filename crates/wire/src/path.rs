//! One normal form of a path, so that every spelling a service would answer alike is matched and
//! counted alike. Only rules and keys see it; the upstream gets the path as it came.
//!
//! | in the request | in the normal form |
//! |---|---|
//! | `?query`, `#fragment` | cut off |
//! | `%6C`, `%2e`, `%40` | decoded: unreserved characters, and those a segment may hold as they are |
//! | `%2f`, `%3b`, `%5c`, `%00`, `%c3%a9` | stay encoded, in upper-case digits: decoded they would mean something else |
//! | space, `"`, `\`, `é`, control bytes | encoded, as RFC 3986 wants them |
//! | `%`, `%zz`, `%4` | the percent sign stands for itself and is written `%25` |
//! | `/./`, `/a/../`, `/%2e%2E/` | resolved (RFC 3986 section 5.2.4), never above the root |
//! | `//` | `/` |
//! | `/a/` | `/a` |
//! | `/a;v=1/b` | `/a/b` |
//!
//! *Parameters* (`;v=1`) are cut from each segment before dots are resolved. Java servers drop them
//! before they route (`/x/..;/login` is `/login` there); elsewhere they are part of a name. Cutting
//! errs to the side of counting together what may be the same.
//!
//! A lone percent sign becomes `%25` because a decoded neighbour could otherwise complete it
//! (`%%36c`), and the form of a form must be itself.
//!
//! Services disagree about `%2F`: to some it is part of a name, others (nginx among them) decode it
//! before they resolve dots, and then `/x/..%2flogin` is `/login`. The form keeps it;
//! [`other_readings`] are what others see, and a rule has to stand for all.
//!
//! Letters keep their case; [`fold_case`] is for rules that do not tell case apart.
//! Literal parts of a rule's pattern must be brought into this form before they are compared with it.

use std::borrow::Cow;

/// The normal form of a request's path: ASCII, beginning with `/`, and a fixed point of this
/// function. Borrows when the path is in that form already (a query or a last slash may follow).
///
/// `*`, the target of a server-wide `OPTIONS`, stays as it is.
///
/// ```
/// # use jeton_wire::path::normal_form;
/// for spelling in ["/login", "/login/", "//login", "/%6Cogin", "/./login", "/login?x=1"] {
///     assert_eq!(normal_form(spelling.as_bytes()), "/login");
/// }
/// assert_eq!(normal_form(b"/a/..%2fb/%2E%2e/../../c"), "/c");
/// ```
#[must_use]
pub fn normal_form(path: &[u8]) -> Cow<'_, str> {
    let path = without_query(path);
    if path == b"*" {
        return Cow::Borrowed("*");
    }
    match already_normal(path) {
        Some(normal) => Cow::Borrowed(normal),
        None => Cow::Owned(rewrite(path)),
    }
}

/// The normal forms of a path in the eyes of services that take more than `/` for a slash, if it
/// holds any such thing: `%2F` (nginx), a backslash (URL parsers by the WHATWG standard), or both
/// and `%5C` too (some Windows servers). At most three; the last is that of the most slashes.
///
/// Nothing is allocated for a path without; it costs one look at each byte.
///
/// ```
/// # use jeton_wire::path::other_readings;
/// assert_eq!(other_readings(b"/x/..%2flogin"), ["/login"]);
/// assert_eq!(other_readings(br"/a%2fb\..\login"), ["/a/b%5C..%5Clogin", "/login", "/a/login"]);
/// assert!(other_readings(b"/login?next=%2F").is_empty());
/// ```
#[must_use]
pub fn other_readings(path: &[u8]) -> Vec<String> {
    let path = without_query(path);
    let mut readings = Vec::new();
    if !path.iter().any(|byte| matches!(byte, b'%' | b'\\')) {
        return readings;
    }
    let kinds: [&[Slash]; 3] = [
        &[Slash::Encoded],
        &[Slash::Back],
        &[Slash::Encoded, Slash::Back, Slash::EncodedBack],
    ];
    for kind in kinds {
        let decoded = with_slashes(path, kind);
        if decoded != path {
            readings.push(normal_form(&decoded).into_owned());
        }
    }
    readings.dedup();
    readings
}

/// What some take for a slash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Encoded,
    Back,
    EncodedBack,
}

/// A path with slashes for what is taken for them. A percent sign is no digit, so none of them
/// hides between two escapes.
fn with_slashes(path: &[u8], kinds: &[Slash]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        let (kind, after) = match rest {
            [b'%', b'2', b'f' | b'F', after @ ..] => (Some(Slash::Encoded), after),
            [b'%', b'5', b'c' | b'C', after @ ..] => (Some(Slash::EncodedBack), after),
            [b'\\', after @ ..] => (Some(Slash::Back), after),
            _ => (None, tail),
        };
        if kind.is_some_and(|kind| kinds.contains(&kind)) {
            out.push(b'/');
            rest = after;
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    out
}

/// A normal form with its ASCII letters in lower case; the digits of `%2F` stay as they are.
///
/// ```
/// # use jeton_wire::path::fold_case;
/// assert_eq!(fold_case("/LogIn%2F"), "/login%2F");
/// ```
#[must_use]
pub fn fold_case(normal: &str) -> Cow<'_, str> {
    if !has_letter_to_fold(normal) {
        return Cow::Borrowed(normal);
    }
    let mut digits_left = 0_u8;
    let folded = normal.chars().map(|character| {
        if digits_left > 0 {
            digits_left -= 1;
            return character;
        }
        if character == '%' {
            digits_left = 2;
        }
        character.to_ascii_lowercase()
    });
    Cow::Owned(folded.collect())
}

fn has_letter_to_fold(normal: &str) -> bool {
    let mut pieces = normal.split('%');
    let upper = |text: &[u8]| text.iter().any(u8::is_ascii_uppercase);
    let head = pieces.next().unwrap_or_default();
    upper(head.as_bytes()) || pieces.any(|piece| upper(piece.as_bytes().get(2..).unwrap_or(&[])))
}

fn without_query(path: &[u8]) -> &[u8] {
    let end = path.iter().position(|byte| matches!(byte, b'?' | b'#'));
    path.get(..end.unwrap_or(path.len())).unwrap_or(path)
}

/// The path itself, less one last slash, if every segment is normal.
fn already_normal(path: &[u8]) -> Option<&str> {
    if path == b"/" {
        return Some("/");
    }
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let segments = path.strip_prefix(b"/")?;
    let normal = segments.split(|byte| *byte == b'/').all(is_normal_segment);
    if normal {
        str::from_utf8(path).ok()
    } else {
        None
    }
}

fn is_normal_segment(segment: &[u8]) -> bool {
    if matches!(segment, b"" | b"." | b"..") {
        return false;
    }
    let mut rest = segment;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = match escape(rest) {
            Some((decoded, tail)) => {
                let lower_digit = rest.iter().take(3).any(u8::is_ascii_lowercase);
                if is_literal(decoded) || lower_digit {
                    return false;
                }
                tail
            }
            None if is_literal(byte) => tail,
            None => return false,
        };
    }
    true
}

fn rewrite(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len() + 1);
    for segment in path.split(|byte| *byte == b'/') {
        let parent_end = out.len();
        out.push('/');
        push_segment(&mut out, segment);
        match out.get(parent_end..) {
            Some("/" | "/.") => out.truncate(parent_end),
            Some("/..") => {
                out.truncate(parent_end);
                out.truncate(out.rfind('/').unwrap_or(0));
            }
            _ => {}
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// Appends one segment, decoded and encoded as it should be, up to its parameters.
fn push_segment(out: &mut String, segment: &[u8]) {
    let mut rest = segment;
    while let Some((&byte, tail)) = rest.split_first() {
        if byte == b';' {
            return;
        }
        let (byte, tail) = escape(rest).unwrap_or((byte, tail));
        if is_literal(byte) {
            out.push(char::from(byte));
        } else {
            push_escape(out, byte);
        }
        rest = tail;
    }
}

/// The byte that a percent sequence at the front stands for, and what follows it.
fn escape(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, tail @ ..] = bytes else {
        return None;
    };
    Some((hex_value(*high)? << 4 | hex_value(*low)?, tail))
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn push_escape(out: &mut String, byte: u8) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    out.push('%');
    out.extend(
        [byte >> 4, byte & 0xf]
            .iter()
            .filter_map(|half| DIGITS.get(usize::from(*half))),
    );
}

/// `pchar` of RFC 3986 section 3.3 without `;`, which begins parameters.
const fn is_literal(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~'
        | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b'='
        | b':' | b'@')
}
