//! A policy from command-line flags: `jeton proxy --upstream URL --limit 100/min`.

use crate::checked::{
    TermPlaces, invented, invented_key, key_parts, parse_listen, parse_upstream, refused,
    warn_about_terms,
};
use crate::compiled::{Loaded, Policy};
use crate::diagnostic::{Fault, Findings, Report, code};
use crate::key::KeyPart;
use crate::matching::Match;
use crate::rule::{Allowance, Rule, Terms};
use crate::setting::Setting;
use crate::settings::{Proxy, Settings};
use crate::source::{Mark, Source};
use crate::units::parse_rate;

/// The flags of `jeton proxy`, as they were typed.
#[derive(Clone, Copy, Debug)]
pub struct Flags<'a> {
    /// `--listen ADDR`.
    pub listen: &'a str,
    /// `--upstream URL`.
    pub upstream: &'a str,
    /// `--limit N/P`.
    pub limit: &'a str,
    /// `--burst N`.
    pub burst: Option<u64>,
    /// `--strict`: no burst beyond the limit, in no span of time (a sliding log).
    pub strict: bool,
    /// `--key PART`, once or several times; `client-ip` if never.
    pub key: &'a [&'a str],
}

/// The name of the only rule.
const NAME: &str = "default";

impl Policy {
    /// The policy that flags stand for: one rule, `"default"`, a token bucket of burst N for
    /// `N/P`, or with `--strict` a sliding log.
    ///
    /// ```
    /// use jeton_policy::{Flags, Policy};
    /// let flags = Flags {
    ///     listen: "127.0.0.1:8080",
    ///     upstream: "http://127.0.0.1:3000",
    ///     limit: "100/min",
    ///     burst: None,
    ///     strict: false,
    ///     key: &[],
    /// };
    /// let policy = Policy::from_flags(&flags)?.policy;
    /// assert_eq!(policy.rules()[0].quota().map(|quota| quota.limit()), Some(100));
    /// # Ok::<(), jeton_policy::Report>(())
    /// ```
    ///
    /// # Errors
    /// A [`Report`] with every mistake; the flag stands where a file would.
    pub fn from_flags(flags: &Flags<'_>) -> Result<Loaded, Report> {
        let mut report = Report::default();
        let listen = flag(&mut report, "--listen", flags.listen, parse_listen);
        let upstream = flag(&mut report, "--upstream", flags.upstream, parse_upstream);
        if let (Some(listen), Some(upstream)) = (&listen, &upstream) {
            flag(&mut report, "--upstream", flags.upstream, |_| {
                if listen.serves(upstream) {
                    Err(itself())
                } else {
                    Ok(())
                }
            });
        }
        let parts: &[&str] = if flags.key.is_empty() {
            &["client-ip"]
        } else {
            flags.key
        };
        let key = flag(&mut report, "--key", &parts.join(", "), |_| {
            key_parts(parts)
        });
        let burst = flags.burst.map(|burst| burst.to_string());
        if let Some(burst) = &burst {
            flag(&mut report, "--burst", burst, |_| burst_fits(flags));
        }
        let terms = flag(&mut report, "--limit", flags.limit, |text| {
            terms(flags, text)
        });
        let (Some(listen), Some(upstream), Some(key), Some(terms)) = (listen, upstream, key, terms)
        else {
            return Err(report);
        };
        if report.errors() > 0 {
            return Err(report);
        }
        let proxy = Proxy::new(Setting::literal(listen), Setting::literal(upstream));
        let settings = Settings {
            proxy: Some(proxy),
            ..Settings::default()
        };
        report.extend(term_warnings(flags, &terms, &settings));
        report.extend(key_warnings(&parts.join(", "), &key));
        let policy = Self::compile(settings, vec![rule(key, terms)], &[]);
        Ok(Loaded { policy, report })
    }
}

/// Reads one flag as if it were a file of one word.
fn flag<T>(
    report: &mut Report,
    name: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, Fault>,
) -> Option<T> {
    let source = Source::new(name, text);
    let mut findings = Findings::new(&source);
    let value = findings.keep(Mark::from(0..text.len()), parse(text));
    report.extend(findings.into_report());
    value
}

fn itself() -> Fault {
    let what = "the upstream is this proxy itself, so requests would go round in a ring";
    Fault::new(code::UPSTREAM, what).fix("the service behind, or another --listen")
}

fn burst_fits(flags: &Flags<'_>) -> Result<(), Fault> {
    match flags.burst {
        Some(0) => Err(
            Fault::new(code::ZERO, "a burst of 0 would never let anything through")
                .fix("--burst 1, or more"),
        ),
        Some(_) if flags.strict => Err(Fault::new(
            code::CONTRADICTION,
            "--strict allows no burst beyond the limit",
        )
        .fix("--burst or --strict, not both")),
        _ => Ok(()),
    }
}

fn terms(flags: &Flags<'_>, text: &str) -> Result<Terms, Fault> {
    let pace = parse_rate(text).map_err(|fault| match fault.code {
        code::ZERO => fault.fix("--limit 1/min, or more"),
        _ => fault,
    })?;
    let terms = if flags.strict {
        Terms::SlidingLog {
            limit: pace.units,
            window: pace.per,
        }
    } else {
        let burst = flags.burst.filter(|burst| *burst > 0).unwrap_or(pace.units);
        Terms::Bucket { pace, burst }
    };
    match terms.quota() {
        Ok(_) => Ok(terms),
        Err(error) => Err(refused(error, &terms)),
    }
}

fn term_warnings(flags: &Flags<'_>, terms: &Terms, settings: &Settings) -> Report {
    let source = Source::new("--limit", flags.limit);
    let mut findings = Findings::new(&source);
    let mark = Mark::from(0..flags.limit.len());
    let places = TermPlaces {
        burst: mark,
        limit: mark,
        algorithm: mark,
    };
    let max_memory = settings.store.max_memory;
    warn_about_terms(&mut findings, NAME, terms, &places, max_memory);
    findings.into_report()
}

fn key_warnings(text: &str, key: &[KeyPart]) -> Report {
    let source = Source::new("--key", text);
    let mut findings = Findings::new(&source);
    if let Some(part) = invented(key, &Match::default()) {
        let fault = invented_key(NAME, part)
            .fix("--key client-ip; or a policy file, with a rule by address beside this one");
        findings.warning(Mark::from(0..text.len()), fault);
    }
    findings.into_report()
}

fn rule(key: Vec<KeyPart>, terms: Terms) -> Rule {
    Rule {
        algorithm: Some(match terms {
            Terms::SlidingLog { .. } => "sliding-log",
            _ => "token-bucket",
        }),
        ..Rule::new(NAME.to_owned(), key, Allowance::Quota(terms))
    }
}
