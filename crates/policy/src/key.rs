//! Whose counter: the parts of a key.

use std::fmt;

use jeton_wire::client_ip::Ipv6Prefix;

use crate::diagnostic::{Fault, code, nearest};

/// One part of a rule's key. Its [`Display`](fmt::Display) is what [`KeyPart::parse`] reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyPart {
    /// `client-ip`, `client-ip/56`: the client's address, IPv6 addresses cut to a prefix
    /// (`[client_ip] ipv6_prefix` unless it is written here).
    ClientIp(Option<Ipv6Prefix>),
    /// `global`: one counter for everybody.
    Global,
    /// `method`.
    Method,
    /// `host`: in lower case, without port.
    Host,
    /// `path`: in normal form, with encoded slashes decoded: a service may take them for slashes,
    /// and all spellings of a path have one counter. Paths that services would resolve to
    /// different places (`/a%2Fb/../c`) have one together.
    Path,
    /// `route`: the pattern that matched.
    Route,
    /// `header:NAME`: all its lines joined in order. Name in lower case.
    Header(String),
    /// `cookie:NAME`: the first of that name. A service that reads the last is told another.
    Cookie(String),
    /// `query:NAME`: a parameter of the query, decoded; the first of that name. A service that
    /// reads the last is told another.
    Query(String),
    /// `descriptor:NAME`: a fact that the door names.
    Descriptor(String),
}

/// The longest name of a header field, cookie, parameter or descriptor.
const LONGEST_NAME: usize = 256;

/// How the parts are written; of each of the last four there are many.
const WORDS: [&str; 10] = [
    "client-ip",
    "global",
    "method",
    "host",
    "path",
    "route",
    "header:",
    "cookie:",
    "query:",
    "descriptor:",
];

/// The words for parts, those that stand alone and those before the colon of a name.
pub(crate) fn words() -> (Vec<&'static str>, Vec<&'static str>) {
    let plain = WORDS.into_iter().filter(|word| !word.ends_with(':'));
    let named = WORDS.into_iter().filter_map(|word| word.strip_suffix(':'));
    (plain.collect(), named.collect())
}

impl KeyPart {
    /// Reads a part.
    ///
    /// ```
    /// use jeton_policy::KeyPart;
    /// assert_eq!(KeyPart::parse("header:X-Api-Key")?, KeyPart::Header("x-api-key".to_owned()));
    /// assert_eq!(KeyPart::parse("client-ip/56")?.to_string(), "client-ip/56");
    /// # Ok::<(), jeton_policy::Fault>(())
    /// ```
    ///
    /// # Errors
    /// A [`Fault`] that names the fix.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if let Some((kind, name)) = text.split_once(':') {
            return Self::named(kind, name).unwrap_or_else(|| Err(unknown(text)));
        }
        match text {
            "client-ip" => Ok(Self::ClientIp(None)),
            "global" => Ok(Self::Global),
            "method" => Ok(Self::Method),
            "host" => Ok(Self::Host),
            "path" => Ok(Self::Path),
            "route" => Ok(Self::Route),
            _ => match text.strip_prefix("client-ip/") {
                Some(bits) => prefix(bits).map(|prefix| Self::ClientIp(Some(prefix))),
                None => Err(unknown(text)),
            },
        }
    }

    fn named(kind: &str, name: &str) -> Option<Result<Self, Fault>> {
        let (variant, token): (fn(String) -> Self, bool) = match kind {
            "header" => (|name| Self::Header(name.to_ascii_lowercase()), true),
            "cookie" => (Self::Cookie, true),
            "query" => (Self::Query, false),
            "descriptor" => (Self::Descriptor, false),
            _ => return None,
        };
        Some(check_name(kind, name, token).map(|()| variant(name.to_owned())))
    }

    /// `true` if the values are credentials by their nature.
    pub fn is_credential(&self) -> bool {
        match self {
            Self::Header(name) => is_credential_header(name),
            Self::Cookie(_) => true,
            _ => false,
        }
    }
}

/// Header fields whose values are credentials (RFC 9110 sections 11.6.2 and 11.7.2).
pub(crate) fn is_credential_header(lower: &str) -> bool {
    matches!(lower, "authorization" | "proxy-authorization" | "cookie")
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientIp(None) => f.write_str("client-ip"),
            Self::ClientIp(Some(prefix)) => write!(f, "client-ip/{}", prefix.bits()),
            Self::Global => f.write_str("global"),
            Self::Method => f.write_str("method"),
            Self::Host => f.write_str("host"),
            Self::Path => f.write_str("path"),
            Self::Route => f.write_str("route"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::Descriptor(name) => write!(f, "descriptor:{name}"),
        }
    }
}

/// A header field name: a token of RFC 9110 section 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

fn check_name(kind: &str, name: &str, token: bool) -> Result<(), Fault> {
    let fault = |why: &str| Fault::new(code::KEY, format!("the key part \"{kind}:{name}\" {why}"));
    match name {
        "" => Err(fault("names nothing").fix(format!("\"{kind}:NAME\""))),
        "*" => Err(fault("must name one")
            .label("there is no wildcard")
            .fix(format!("\"{kind}:NAME\""))),
        _ if name.len() > LONGEST_NAME => {
            Err(fault("is too long").fix(format!("at most {LONGEST_NAME} characters")))
        }
        _ if token && !is_token(name) => {
            Err(fault("has a character that no such name has").fix("letters, digits, - and _"))
        }
        _ if name.chars().any(char::is_control) => {
            Err(fault("has a control character").fix("take it out"))
        }
        _ => Ok(()),
    }
}

/// A prefix that reads like one for IPv4 would silently mean next to nothing.
fn prefix(bits: &str) -> Result<Ipv6Prefix, Fault> {
    let number = bits
        .parse::<u8>()
        .ok()
        .filter(|_| !bits.starts_with(['0', '+']));
    match number.map(Ipv6Prefix::new) {
        Some(Ok(prefix)) if prefix.bits() > 32 => Ok(prefix),
        Some(Ok(_)) => Err(
            Fault::new(code::KEY, "the prefix of `client-ip` is too short")
                .label("it cuts IPv6 addresses; IPv4 addresses count whole")
                .fix("\"client-ip/64\", or 33 to 128"),
        ),
        _ => Err(Fault::new(
            code::KEY,
            format!("{bits:?} is not the length of an IPv6 prefix"),
        )
        .fix("\"client-ip/64\", or 33 to 128")),
    }
}

fn unknown(text: &str) -> Fault {
    let fault = Fault::new(code::KEY, format!("{text:?} is not a key part"));
    let (kind, name) = text
        .split_once(':')
        .map_or((text, None), |(kind, name)| (kind, Some(name)));
    let kinds = WORDS.iter().map(|word| word.trim_end_matches(':'));
    let near = match kind {
        "ip" | "client_ip" | "remote-addr" | "address" => Some("client-ip"),
        _ => nearest(kind, kinds),
    };
    let many = near.is_some_and(|near| {
        WORDS
            .iter()
            .any(|word| word.strip_suffix(':') == Some(near))
    });
    match (near, name) {
        (Some(near), Some(name)) if many => fault.fix(format!("\"{near}:{name}\"")),
        (Some(near), _) if many => fault.fix(format!("\"{near}:NAME\"")),
        (Some(near), _) => fault.fix(format!("{near:?}")),
        (None, _) => fault.fix(format!("one of {}", WORDS.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_written_alike() {
        for text in [
            "client-ip",
            "client-ip/56",
            "client-ip/128",
            "global",
            "method",
            "host",
            "path",
            "route",
            "header:x-api-key",
            "cookie:Session",
            "query:q",
            "descriptor:tenant id",
        ] {
            assert_eq!(KeyPart::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_slip_names_its_fix() {
        for (text, fix) in [
            ("ip", "\"client-ip\""),
            ("client_ip", "\"client-ip\""),
            ("headers:x-a", "\"header:x-a\""),
            ("header", "\"header:NAME\""),
            ("header:", "\"header:NAME\""),
            ("client-ip/24", "\"client-ip/64\", or 33 to 128"),
            ("client-ip/0", "\"client-ip/64\", or 33 to 128"),
            ("client-ip/129", "\"client-ip/64\", or 33 to 128"),
            ("pth", "\"path\""),
        ] {
            assert_eq!(KeyPart::parse(text).unwrap_err().fix, fix, "{text}");
        }
        for text in [
            "",
            "header:a b",
            "cookie:a=b",
            "header:*",
            "user",
            "query:\u{7}",
        ] {
            assert_eq!(KeyPart::parse(text).unwrap_err().code, code::KEY, "{text}");
        }
    }

    #[test]
    fn credentials_are_known_by_their_nature() {
        let credential = |text: &str| KeyPart::parse(text).unwrap().is_credential();
        assert!(credential("header:Authorization") && credential("cookie:sid"));
        assert!(!credential("header:x-request-id") && !credential("client-ip"));
    }
}
