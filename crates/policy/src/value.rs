//! Reading one value out of a request: a cookie, a parameter, a header field, in the one form
//! under which it is counted.

use crate::facts::Facts;

/// Hands the value of a cookie to `each`: the first of that name, as sent, without the quotes
/// that some servers cut off (RFC 6265 section 4.1.1). Whether there is one.
pub(crate) fn first_cookie(facts: &dyn Facts, name: &str, each: &mut dyn FnMut(&[u8])) -> bool {
    let mut found = false;
    facts.header("cookie", &mut |line| {
        if found {
            return;
        }
        let values = line.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let mut values = values.filter_map(|pair| {
            pair.strip_prefix(name.as_bytes())?
                .trim_ascii_start()
                .strip_prefix(b"=")
        });
        if let Some(value) = values.next() {
            found = true;
            let value = value.trim_ascii();
            let bare = value
                .strip_prefix(b"\"")
                .and_then(|rest| rest.strip_suffix(b"\""));
            each(bare.unwrap_or(value));
        }
    });
    found
}

/// The first parameter of that name, still encoded.
pub(crate) fn first_parameter<'q>(query: Option<&'q str>, name: &str) -> Option<&'q str> {
    query?.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        decoded(key).eq(name.bytes()).then_some(value)
    })
}

/// The bytes that a part of a query stands for (URL standard, section 5.1): `+` is a space, a
/// percent sign without two digits stands for itself.
pub(crate) fn decoded(text: &str) -> impl Iterator<Item = u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        if let [b'%', high, low, tail @ ..] = rest
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            rest = tail;
            return u8::try_from(high << 4 | low).ok();
        }
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        Some(if byte == b'+' { b' ' } else { byte })
    })
}

/// Appends a header field: its lines joined in order as RFC 9110 section 5.3 joins them, each
/// without the white space around it. Whether there is one.
pub(crate) fn push_header(facts: &dyn Facts, name: &str, out: &mut Vec<u8>) -> bool {
    let mut lines = 0;
    facts.header(name, &mut |line| {
        if lines > 0 {
            out.extend_from_slice(b", ");
        }
        lines += 1;
        push_line(name, line, out);
    });
    lines > 0
}

/// Appends one line of a header field, in the form in which it is a value.
pub(crate) fn push_line(name: &str, line: &[u8], out: &mut Vec<u8>) {
    let line = line.trim_ascii();
    if matches!(name, "authorization" | "proxy-authorization") {
        push_credentials(line, out);
    } else {
        out.extend_from_slice(line);
    }
}

/// The scheme does not tell case apart, and any number of spaces may follow it (RFC 9110
/// section 11.4): else one user would have as many counters as there are ways to write `Bearer`.
fn push_credentials(line: &[u8], out: &mut Vec<u8>) {
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    let (scheme, rest) = line.split_at(end);
    let rest = rest.trim_ascii_start();
    if rest.is_empty() {
        // A bare credential, without a scheme.
        out.extend_from_slice(line);
        return;
    }
    out.extend(scheme.iter().map(u8::to_ascii_lowercase));
    out.push(b' ');
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;

    fn cookie(lines: &[&str], name: &str) -> Option<String> {
        let sample = lines.iter().fold(Sample::default(), |sample, line| {
            sample.header("cookie", line)
        });
        let mut value = None;
        let found = first_cookie(&sample, name, &mut |bytes| {
            value = Some(String::from_utf8_lossy(bytes).into_owned());
        });
        assert_eq!(found, value.is_some());
        value
    }

    #[test]
    fn the_first_cookie_of_the_name_counts() {
        assert_eq!(
            cookie(&["a=1; sid=x=y; sid=2"], "sid").as_deref(),
            Some("x=y")
        );
        assert_eq!(cookie(&["a=1", "sid = \"q\""], "sid").as_deref(), Some("q"));
        assert_eq!(cookie(&["sid="], "sid").as_deref(), Some(""));
        assert_eq!(cookie(&["xsid=1; sidx=2; sid"], "sid"), None);
        assert_eq!(cookie(&["SID=1"], "sid"), None);
    }

    #[test]
    fn parameters_are_compared_and_read_decoded() {
        let value = |query, name| {
            let raw = first_parameter(Some(query), name)?;
            Some(String::from_utf8_lossy(&decoded(raw).collect::<Vec<_>>()).into_owned())
        };
        assert_eq!(value("a=1&b=2&a=3", "a").as_deref(), Some("1"));
        assert_eq!(value("%61=x%20y+z", "a").as_deref(), Some("x y z"));
        assert_eq!(value("a", "a").as_deref(), Some(""));
        assert_eq!(value("a=%zz%4", "a").as_deref(), Some("%zz%4"));
        assert_eq!(value("", "a"), None);
        assert_eq!(first_parameter(None, "a"), None);
    }

    #[test]
    fn one_credential_has_one_form() {
        let form = |line: &str| {
            let mut out = Vec::new();
            let sample = Sample::default().header("authorization", line);
            assert!(push_header(&sample, "authorization", &mut out));
            out
        };
        assert_eq!(form("Bearer aBc"), b"bearer aBc");
        assert_eq!(form("BEARER   aBc "), b"bearer aBc");
        assert_ne!(form("Bearer abc"), form("Bearer aBc"));
        assert_ne!(form("Token"), form("token"));
    }

    #[test]
    fn lines_join_in_order() {
        let sample = Sample::default()
            .header("x-a", "1")
            .header("x-a", " 2 ")
            .header("x-b", "3");
        let mut out = Vec::new();
        assert!(push_header(&sample, "x-a", &mut out));
        assert_eq!(out, b"1, 2");
        assert!(!push_header(&sample, "x-c", &mut out));
    }
}
