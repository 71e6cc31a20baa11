//! Rates: so many units per time.

use std::fmt;

use jeton_core::{QuotaError, Rate, Span};

use super::duration::{in_words, meant, parse_duration, print_duration, unit};
use super::number::split;
use crate::diagnostic::{Fault, code};

/// A rate as it was written: `units` per `per`, not reduced, since a bucket without `burst` holds
/// the units of one period.
///
/// Its [`Display`](fmt::Display) is what [`parse_rate`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Units that come in one period.
    pub units: u64,
    /// The period.
    pub per: Span,
}

impl Pace {
    /// The reduced fraction the engine works with.
    ///
    /// # Errors
    /// [`QuotaError`] if it is too awkward to hold exactly.
    pub fn rate(self) -> Result<Rate, QuotaError> {
        Rate::new(self.units, self.per)
    }

    /// A pace that the engine can hold.
    pub(crate) fn of(rate: Rate) -> Self {
        Self {
            units: u64::from(rate.units()),
            per: rate.per(),
        }
    }

    /// In running text: `20/s`, `100/min`, `17 per 30 s`.
    pub(crate) fn in_words(self) -> String {
        match one_unit(self.per) {
            Some(unit) => format!("{}/{unit}", super::grouped(self.units)),
            None => format!("{} per {}", super::grouped(self.units), in_words(self.per)),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match one_unit(self.per) {
            Some(unit) => write!(f, "{}/{unit}", self.units),
            None => write!(f, "{}/{}", self.units, print_duration(self.per)),
        }
    }
}

/// The word for a period of exactly one unit.
fn one_unit(per: Span) -> Option<&'static str> {
    let words = ["us", "ms", "s", "min", "h", "day", "w"];
    words
        .into_iter()
        .find(|word| period(word) == Some(per.as_micros()))
}

/// Microseconds of a unit of rates, which also has the word `day`.
fn period(word: &str) -> Option<u64> {
    unit(if word == "day" { "d" } else { word })
}

/// Reads a rate: `N/unit` or `N/<duration>`.
///
/// ```
/// # use jeton_policy::parse_rate;
/// let pace = parse_rate("700/min")?;
/// assert_eq!((pace.units, pace.per.as_micros()), (700, 60_000_000));
/// assert_eq!(parse_rate("1/1500ms")?.to_string(), "1/1500ms");
/// # Ok::<(), jeton_policy::Fault>(())
/// ```
///
/// # Errors
/// A [`Fault`] that names the fix; whether the rate can be held exactly is for [`Pace::rate`].
pub fn parse_rate(text: &str) -> Result<Pace, Fault> {
    let (digits, rest) = split(text);
    let per = rest.strip_prefix('/').filter(|_| !digits.is_empty());
    let per = per.ok_or_else(|| unreadable(text))?;
    let span = match period(per).map(Span::from_micros) {
        Some(Ok(span)) => span,
        _ if digits.bytes().all(|digit| digit == b'0') => return Err(no_units()),
        _ => parse_duration(per).map_err(|fault| bad_period(digits, per, &fault))?,
    };
    match digits.parse::<u64>() {
        Ok(0) => Err(no_units()),
        Ok(units) => Ok(Pace { units, per: span }),
        Err(_) => Err(
            Fault::new(code::RATE, format!("the rate {text:?} is too large"))
                .label("more than 64 bits")
                .fix("\"1000000/s\""),
        ),
    }
}

/// Zero means "no limit" to some and "nothing" to others: there are two words for that.
pub(crate) fn zero(what: &str) -> Fault {
    Fault::new(
        code::ZERO,
        format!("{what} means \"no limit\" to some and \"nothing\" to others"),
    )
    .label("say which")
    .fix("limit = \"unlimited\" or limit = \"deny\"")
}

fn no_units() -> Fault {
    zero("a rate of 0").fix("limit = \"unlimited\" or limit = \"deny\", without rate")
}

fn bad_period(digits: &str, per: &str, fault: &Fault) -> Fault {
    if fault.code == code::ZERO {
        return Fault::new(
            code::ZERO,
            format!("the rate \"{digits}/{per}\" is per no time"),
        )
        .label("per what?")
        .fix(written(digits, "s").unwrap_or_else(|| EXAMPLES.to_owned()));
    }
    let what = format!("the rate \"{digits}/{per}\" is per something that is not a duration");
    let fault = Fault::new(code::RATE, what).label("per what?");
    match meant(per).and_then(|unit| written(digits, unit)) {
        Some(rate) => fault.fix(rate),
        None => fault.fix(format!(
            "such as \"{digits}/s\", \"{digits}/min\", \"{digits}/30s\""
        )),
    }
}

/// A rate in quotes, if it is one.
fn written(digits: &str, unit: &str) -> Option<String> {
    let rate = format!("{digits}/{unit}");
    (!digits.is_empty() && parse_rate(&rate).is_ok()).then(|| format!("{rate:?}"))
}

const EXAMPLES: &str = "such as \"100/s\", \"700/min\", \"1/1500ms\"";

/// What a decimal fraction per something is in whole units per more: `0.5/s` is `1/2s`.
fn whole_units(text: &str) -> Option<Pace> {
    let (number, per) = text.split_once('/')?;
    let (whole, part) = number.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.is_empty() || part.len() > 9 || !digits(whole) || !digits(part) {
        return None;
    }
    let units: u64 = format!("{whole}{part}").parse().ok()?;
    let scale = 10_u64.pow(u32::try_from(part.len()).ok()?);
    let Pace { per, .. } = parse_rate(&format!("1/{per}")).ok()?;
    let common = common_divisor(units, scale);
    let us = per.as_micros().checked_mul(scale / common)?;
    let units = units / common;
    (units > 0).then_some(Pace {
        units,
        per: Span::from_micros(us).ok()?,
    })
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

fn unreadable(text: &str) -> Fault {
    let fault = |what: &str| Fault::new(code::RATE, format!("the rate {text:?} {what}"));
    let (digits, rest) = split(text.trim());
    if !digits.is_empty() && rest.is_empty() {
        if digits.bytes().all(|digit| digit == b'0') {
            return no_units();
        }
        return fault("needs a unit")
            .label(format!("{digits} per what?"))
            .fix(written(digits, "s").unwrap_or_else(|| EXAMPLES.to_owned()));
    }
    if text.starts_with('-') {
        return fault("is negative").fix("such as \"100/s\"");
    }
    if rest.starts_with(['.', 'e', 'E']) {
        let fault = fault("is not a whole number of units").label("whole units, per any duration");
        return match whole_units(text.trim()) {
            Some(pace) => fault.fix(format!("\"{pace}\"")),
            None => fault.fix("such as \"3/2s\" for one and a half per second"),
        };
    }
    let per = rest
        .trim_start()
        .trim_start_matches("per ")
        .trim_start_matches(['/', 'r', 'p', ' ']);
    match meant(per).and_then(|unit| written(digits, unit)) {
        Some(rate) => fault("cannot be read").fix(rate),
        None => fault("cannot be read")
            .label("units, a slash, a unit of time or a duration")
            .fix(EXAMPLES),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_written_forms_are_read() {
        for (text, units, us) in [
            ("100/s", 100, 1_000_000),
            ("700/min", 700, 60_000_000),
            ("700/m", 700, 60_000_000),
            ("5000/h", 5_000, 3_600_000_000),
            ("200/day", 200, 86_400_000_000),
            ("200/d", 200, 86_400_000_000),
            ("1/w", 1, 604_800_000_000),
            ("1/1500ms", 1, 1_500_000),
            ("3/2s", 3, 2_000_000),
            ("1/3650d", 1, 315_360_000_000_000),
        ] {
            let pace = parse_rate(text).unwrap();
            assert_eq!((pace.units, pace.per.as_micros()), (units, us), "{text}");
        }
    }

    #[test]
    fn a_slip_names_its_fix() {
        for (text, fix) in [
            ("20", "\"20/s\""),
            ("20/second", "\"20/s\""),
            ("20/Minute", "\"20/min\""),
            ("20 per minute", "\"20/min\""),
            ("20r/s", "\"20/s\""),
            ("0.5/s", "\"1/2s\""),
            ("1.5/s", "\"3/2s\""),
            ("2.50/min", "\"5/2min\""),
            ("0.0/s", "such as \"3/2s\" for one and a half per second"),
            ("1e3/s", "such as \"3/2s\" for one and a half per second"),
            (
                "1.5/fortnight",
                "such as \"3/2s\" for one and a half per second",
            ),
            ("5/0s", "\"5/s\""),
            ("20/fortnight", "such as \"20/s\", \"20/min\", \"20/30s\""),
        ] {
            assert_eq!(parse_rate(text).unwrap_err().fix, fix, "{text}");
        }
        for text in [
            "",
            "/s",
            "-1/s",
            "1.5/s",
            "1e3/s",
            "nan/s",
            "s/1",
            "99999999999999999999/s",
        ] {
            assert_eq!(parse_rate(text).unwrap_err().code, code::RATE, "{text}");
        }
    }

    #[test]
    fn f4_f20_zero_names_the_words_to_use() {
        let fault = parse_rate("0/s").unwrap_err();
        assert_eq!(fault.code, code::ZERO);
        assert!(fault.fix.contains("unlimited") && fault.fix.contains("deny"));
        for text in ["0", "0/0s", "00/x", "1/0s"] {
            assert_eq!(parse_rate(text).unwrap_err().code, code::ZERO, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_accepted_rate_prints_to_an_equivalent_one(
            units in 1..u64::MAX,
            us in 1..=Span::LONGEST.as_micros(),
        ) {
            let pace = Pace { units, per: Span::from_micros(us).unwrap() };
            prop_assert_eq!(parse_rate(&pace.to_string()).unwrap(), pace);
        }

        #[test]
        fn whatever_is_accepted_prints_to_itself(
            text in "[0-9]{1,9}/([0-9]{1,6})?(us|ms|s|m|min|h|d|day|w)",
        ) {
            if let Ok(pace) = parse_rate(&text) {
                prop_assert_eq!(parse_rate(&pace.to_string()).unwrap(), pace);
            }
        }

        #[test]
        fn a_fix_that_is_a_rate_can_be_read(
            text in "[0-9]{0,21}(/| per |/0|r|\\.5/)?[0-9]{0,3}(s|sec|Minute|day|x|5d)?",
        ) {
            if let Err(fault) = parse_rate(&text) {
                let literal = fault.fix.strip_prefix('"').and_then(|fix| fix.strip_suffix('"'));
                if let Some(rate) = literal {
                    prop_assert!(parse_rate(rate).is_ok(), "{text}: {}", fault.fix);
                }
            }
        }

        #[test]
        fn no_text_is_too_odd(text in ".{0,24}") {
            let _ = parse_rate(&text);
        }
    }
}
