//! The forms of texts. The parser of each is the last word; a form tells what it may look like,
//! and refuses nothing that the parser takes.

use crate::key;
use crate::redis_url;
use crate::units;

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Duration,
    Rate,
    Size,
    Listen,
    Upstream,
    Network,
    RuleName,
    /// A part of a key.
    KeyPart,
    /// A part of a key whose presence can differ.
    Presence,
    /// Of the Envoy rate limit service.
    Domain,
    Method,
    Path,
    Host,
    HeaderName,
    Origin,
    /// A part of a request whose value chooses a plan.
    PlanSource,
    /// `header:NAME`.
    HeaderPart,
    /// `header:NAME` or `trailer:NAME` of an answer.
    AnswerPart,
    /// Several status codes: `4xx`, `500-599`.
    Statuses,
    /// What somebody proves who he is by.
    Token,
    /// Where a store is.
    StoreUrl,
    /// What the keys of a store begin with.
    Prefix,
    /// The name of a file.
    File,
    /// The name of a file in PEM, of this process's own.
    Pem,
    /// The name of a folder.
    Folder,
    /// The name of a folder of files of descriptors.
    Descriptors,
    /// A duration, or `always`.
    Sync,
    /// What nobody is to know.
    Secret,
}

impl Form {
    /// A regular expression (ECMA 262) that every text of this form matches.
    pub(crate) fn pattern(self) -> String {
        let any = |words: &[&str]| words.join("|");
        match self {
            Self::Duration => format!("^[0-9]+({})$", any(&units::duration_words())),
            Self::Rate => {
                let words = any(&units::duration_words());
                format!("^[0-9]+/(day|[0-9]*({words}))$")
            }
            Self::Size => format!("^[0-9]+({})$", any(&units::size_words())),
            Self::Listen => r"^(unix:/.*|.+:[0-9]{1,5})$".to_owned(),
            Self::Upstream => r"^http://[^/?#@]+/?$".to_owned(),
            Self::Network => r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$".to_owned(),
            Self::RuleName => r"^[ !#-\[\]-~]{1,64}$".to_owned(),
            Self::KeyPart => {
                let (plain, named) = key::words();
                format!(
                    "^({}|client-ip/[0-9]{{1,3}}|({}):.+)$",
                    any(&plain),
                    any(&named)
                )
            }
            Self::Presence => {
                let (_, named) = key::words();
                format!("^(client-ip|({}):.+)$", any(&named))
            }
            Self::Method => r"^[!#$%&'*+.^_`|~0-9A-Z-]+$".to_owned(),
            Self::Path => r"^(/|(/[^/*?#]+)+)$".to_owned(),
            Self::Host => r"^[^*/]+$".to_owned(),
            Self::Origin => r"^(\*|[a-z][a-z0-9+.-]*://[^/?#]+)$".to_owned(),
            Self::PlanSource => "^(header|cookie|query|descriptor):.+$".to_owned(),
            Self::HeaderPart => "^header:.+$".to_owned(),
            Self::AnswerPart => "^(header|trailer):.+$".to_owned(),
            Self::Statuses => "^([1-5]xx|[1-5][0-9]{2}-[1-5][0-9]{2})$".to_owned(),
            Self::Token => r"^[!-~]+$".to_owned(),
            Self::StoreUrl => format!(
                "^({})://.+$",
                any(&redis_url::schemes()).replace('+', r"\+")
            ),
            Self::Prefix => r"^[!-)+->@-Z^-z|~]{0,64}$".to_owned(),
            Self::Domain
            | Self::File
            | Self::Pem
            | Self::Folder
            | Self::Descriptors
            | Self::Secret => r"[\s\S]".to_owned(),
            Self::Sync => format!("^(always|[0-9]+({}))$", any(&units::duration_words())),
            Self::HeaderName => r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$".to_owned(),
        }
    }

    /// A bare number with each of the units that are most likely meant.
    pub(crate) fn of_number(self, number: i128) -> Vec<String> {
        let units: &[&str] = match self {
            Self::Duration | Self::Sync => &["s", "ms"],
            Self::Rate => &["/s", "/min"],
            // A larger one counts bytes.
            Self::Size if number < 1 << 20 => &["MiB"],
            _ => &[],
        };
        let written = units.iter().map(|unit| format!("{number}{unit}"));
        written.collect()
    }

    /// Texts of this form, each of which the parser takes.
    pub(crate) const fn examples(self) -> &'static [&'static str] {
        match self {
            Self::Duration => &["1500ms", "30s", "5min", "2h", "1d"],
            Self::Rate => &["20/s", "700/min", "5000/h", "200/day", "1/1500ms"],
            Self::Size => &["256MiB", "4GiB"],
            Self::Listen => &["127.0.0.1:8080", "[::]:8080", "unix:/run/jeton.sock"],
            Self::Upstream => &["http://127.0.0.1:3000", "http://service.internal"],
            Self::Network => &["192.0.2.7", "10.0.0.0/8", "2001:db8::/32"],
            Self::RuleName => &["everyone", "user", "login"],
            Self::KeyPart => &[
                "client-ip",
                "header:authorization",
                "cookie:session",
                "global",
            ],
            Self::Presence => &["header:authorization", "cookie:session"],
            Self::Domain => &["edge"],
            Self::Method => &["GET", "POST"],
            Self::Path => &["/login", "/reports/{id}/export", "/api/{rest..}"],
            Self::Host => &["api.example"],
            Self::PlanSource => &["header:x-plan", "cookie:plan", "descriptor:plan"],
            Self::HeaderPart => &["header:x-cost"],
            Self::AnswerPart => &["header:x-units", "trailer:x-units"],
            Self::Statuses => &["4xx", "500-599"],
            // One that stands in a manual is no secret.
            Self::Token | Self::Secret => &[],
            Self::StoreUrl => &[
                "redis://10.0.0.5:6379",
                "redis-cluster://10.0.0.5,10.0.0.6",
                "redis-sentinel://10.0.0.5,10.0.0.6/main",
                "unix:///run/redis.sock",
            ],
            Self::Prefix => &["shop:"],
            Self::Folder => &["jeton-data", "/var/lib/jeton"],
            Self::Pem => &["door.pem", "/etc/jeton/door.pem"],
            Self::Descriptors => &["ratelimit", "/data/ratelimit/config"],
            Self::Sync => &["1s", "100ms", "always"],
            Self::File => &["root.pem", "/etc/ssl/redis-root.pem"],
            Self::Origin => &["https://app.example", "http://localhost:5173"],
            Self::HeaderName => &["x-forwarded-for", "forwarded", "cf-connecting-ip", "none"],
        }
    }
}
