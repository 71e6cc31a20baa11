//! What `kind = "redis"` takes.

use std::path::PathBuf;
use std::time::Duration;

use super::MINUTE;
use crate::checked::api::warn_if_weak;
use crate::checked::sections::between;
use crate::diagnostic::{Fault, code};
use crate::raw::{Context, Section};
use crate::redis_url::RedisUrl;
use crate::secret::Secret;
use crate::setting::Origin;
use crate::settings::{Lease, Redis};

/// Settings that no other kind takes.
pub(crate) const WORDS: [&str; 7] = [
    "url",
    "tls_root",
    "prefix",
    "key_secret",
    "deny_cache",
    "lease",
    "lease_for",
];

/// The most units that a process may take ahead.
pub(super) const MOST_LEASED: u64 = 1_000_000;
const LEASED_FOR: Duration = Duration::from_secs(1);
const LONGEST_PREFIX: usize = 64;

pub(super) fn redis(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Redis> {
    section.require(cx, "url", "url = { env = \"REDIS_URL\" }");
    let read = |text: &str| {
        let tls = RedisUrl::parse(text)?.tls;
        Ok((Secret::new(text.to_owned()), tls))
    };
    let url = section.parsed(cx, "url", read);
    let tls = url.as_ref().is_none_or(|url| url.value.get().1);
    let tls_root = tls_root(cx, section, tls);
    let prefix = section.parsed(cx, "prefix", prefix);
    let key_secret = key_secret(cx, section);
    let deny_cache = between(cx, section, "deny_cache", Duration::from_millis(1), MINUTE);
    let lease = lease(cx, section);

    let url = url?;
    Some(Redis {
        origin: url.value.origin().clone(),
        tls_root,
        prefix: prefix
            .map(|prefix| prefix.value.get().clone())
            .unwrap_or_default(),
        key_secret,
        deny_cache,
        lease,
        ..Redis::new(url.value.get().0.clone())
    })
}

fn tls_root(cx: &mut Context<'_>, section: &Section<'_>, tls: bool) -> Option<PathBuf> {
    if !tls {
        let fix = "a scheme with TLS in `url`, such as rediss://, or leave it out";
        section.refuse(
            cx,
            "tls_root",
            "has no effect: the `url` is one without TLS",
            fix,
        );
    }
    let path = section.parsed(cx, "tls_root", |text| match text {
        "" => {
            Err(Fault::new(code::EMPTY, "`tls_root` names no file").fix("tls_root = \"root.pem\""))
        }
        path => Ok(path.to_owned()),
    })?;
    // A warning, for the policy may be checked elsewhere than where it is served.
    if tls && cx.is_no_file(path.value.get()) {
        let fault = Fault::new(code::NO_FILE, "`tls_root` names a file that is not there")
            .label("relative paths begin beside the policy")
            .fix("put it there, or leave it out to believe the roots of the system");
        cx.findings.warning(path.mark, fault);
    }
    Some(cx.path(path.value.get()))
}

/// Braces would be read as a hash tag, the others as wildcards where all of a prefix is removed.
fn prefix(text: &str) -> Result<String, Fault> {
    let fault = |what: &str| Fault::new(code::NAME, format!("`prefix` {what}"));
    let fits = |letter: char| letter.is_ascii_graphic() && !"{}*?[]\\".contains(letter);
    if !text.chars().all(fits) {
        return Err(fault("has a character that no key here may begin with")
            .fix("printable ASCII without blanks and { } * ? [ ] \\, such as \"shop:\""));
    }
    match text.len() {
        0..=LONGEST_PREFIX => Ok(text.to_owned()),
        _ => Err(fault("is too long").fix(format!("at most {LONGEST_PREFIX} characters"))),
    }
}

fn key_secret(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Secret> {
    let secret = section.parsed(cx, "key_secret", parse_key_secret)?.value;
    warn_if_weak(cx, section, "key_secret", secret.get());
    if secret.origin() == &Origin::Literal {
        let fault = Fault::new(code::SECRET_IN_FILE, "`key_secret` stands in the file")
            .label("whoever reads both can try out whose keys they are")
            .fix("key_secret = { env = \"KEY_SECRET\" }");
        cx.findings.warning(section.mark_of("key_secret"), fault);
    }
    Some(secret.get().clone())
}

fn parse_key_secret(text: &str) -> Result<Secret, Fault> {
    match text {
        "" => Err(
            Fault::new(code::EMPTY, "an empty `key_secret` hides nothing")
                .fix("key_secret = { env = \"KEY_SECRET\" }, or leave it out"),
        ),
        text => Ok(Secret::new(text.to_owned())),
    }
}

fn lease(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Lease> {
    if !section.has("lease") {
        let why = "has no effect: without `lease` nothing is taken ahead";
        section.refuse(
            cx,
            "lease_for",
            why,
            "lease = 20 beside it, or leave it out",
        );
    }
    let none =
        || Fault::new(code::ZERO, "a lease of no units is none").fix("lease = 20, or leave it out");
    let units = section.count(cx, "lease", none);
    let keep_for = between(cx, section, "lease_for", Duration::from_millis(100), MINUTE);
    Some(Lease {
        units: units?.value,
        keep_for: keep_for.unwrap_or(LEASED_FOR),
    })
}
