//! Durations: a whole number and one unit.

use jeton_core::Span;

use super::number::split;
use crate::diagnostic::{Fault, code};

/// Units from the longest to the shortest, in microseconds. `m` is read too.
const UNITS: [(&str, u64); 7] = [
    ("w", 604_800_000_000),
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// Microseconds of a unit.
pub(super) fn unit(word: &str) -> Option<u64> {
    let word = if word == "m" { "min" } else { word };
    UNITS
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, us)| *us)
}

/// Every word for a unit of time, as it may be written.
pub(crate) fn duration_words() -> Vec<&'static str> {
    let words = UNITS.iter().map(|(name, _)| *name);
    words.chain(std::iter::once("m")).collect()
}

/// The unit somebody may have meant by a longer or differently cased word.
pub(super) fn meant(word: &str) -> Option<&'static str> {
    let lower = word.trim().to_lowercase();
    Some(match lower.as_str() {
        "us" | "µs" | "usec" | "usecs" | "microsecond" | "microseconds" => "us",
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "min",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        "w" | "wk" | "wks" | "week" | "weeks" => "w",
        _ => return None,
    })
}

/// Reads a duration: `us`, `ms`, `s`, `m` or `min`, `h`, `d`, `w`.
///
/// ```
/// # use jeton_policy::parse_duration;
/// assert_eq!(parse_duration("1500ms")?.as_micros(), 1_500_000);
/// assert_eq!(parse_duration("1m")?, parse_duration("60s")?);
/// assert!(parse_duration("1.5s").is_err());
/// # Ok::<(), jeton_policy::Fault>(())
/// ```
///
/// # Errors
/// A [`Fault`] that names the fix if there is no number, no unit, an unknown unit, zero time, or
/// more than [`Span::LONGEST`].
pub fn parse_duration(text: &str) -> Result<Span, Fault> {
    let (digits, word) = split(text);
    let us = unit(word)
        .filter(|_| !digits.is_empty())
        .ok_or_else(|| unreadable(text))?;
    let span = digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(us));
    match span.map(Span::from_micros) {
        Some(Ok(Span::ZERO)) => Err(zero()),
        Some(Ok(span)) => Ok(span),
        _ => Err(
            Fault::new(code::DURATION, format!("{text:?} is longer than 13 years"))
                .label("too long")
                .fix(format!(
                    "at most \"{}d\"",
                    Span::LONGEST.as_micros() / 86_400_000_000
                )),
        ),
    }
}

fn zero() -> Fault {
    Fault::new(code::ZERO, "a duration of 0 is no duration").fix("\"1ms\", or longer")
}

fn unreadable(text: &str) -> Fault {
    let fault = |what: String| Fault::new(code::DURATION, what);
    let (digits, word) = split(text.trim());
    let examples = "such as \"1500ms\", \"30s\", \"5min\", \"2h\", \"1d\"";
    if !digits.is_empty() && word.is_empty() {
        if digits.bytes().all(|digit| digit == b'0') {
            return zero();
        }
        return fault(format!("the duration {text:?} has no unit"))
            .label(format!("{digits} what?"))
            .fix(written(digits, "s").unwrap_or_else(|| examples.to_owned()));
    }
    if text.starts_with('-') {
        return fault(format!("the duration {text:?} is negative")).fix(examples);
    }
    if let Some(finer) = whole(text) {
        return fault(format!("the duration {text:?} is not a whole number"))
            .label("durations are whole numbers of a unit")
            .fix(format!("{finer:?}"));
    }
    match meant(word).and_then(|unit| written(digits, unit)) {
        Some(duration) => fault(format!("the duration {text:?} has an unknown unit"))
            .label("units are us, ms, s, min, h, d, w")
            .fix(duration),
        None => fault(format!("{text:?} is not a duration"))
            .label("a whole number and us, ms, s, min, h, d or w")
            .fix(examples),
    }
}

/// A duration in quotes, if it is one.
fn written(digits: &str, unit: &str) -> Option<String> {
    let duration = format!("{digits}{unit}");
    (!digits.is_empty() && parse_duration(&duration).is_ok()).then(|| format!("{duration:?}"))
}

/// A decimal fraction of a unit as a whole number of a finer one: "1.5s" is "1500ms".
fn whole(text: &str) -> Option<String> {
    let (whole, rest) = split(text.trim());
    let (decimals, word) = split(rest.strip_prefix('.')?);
    let us = u128::from(unit(meant(word)?)?);
    if decimals.is_empty() || whole.len() > 18 || decimals.len() > 12 {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let parts: u128 = format!("{whole}{decimals}").parse().ok()?;
    let total = parts.checked_mul(us)?;
    let micros = total.is_multiple_of(scale).then_some(total / scale)?;
    let span = Span::from_micros(u64::try_from(micros).ok()?).ok()?;
    (!span.is_zero()).then(|| print_duration(span))
}

/// The largest unit that divides a span, and how many of it.
fn largest(span: Span) -> (u64, &'static str) {
    let us = span.as_micros();
    let exact = UNITS
        .iter()
        .find(|(_, unit)| us != 0 && us.is_multiple_of(*unit));
    exact.map_or((us, "us"), |(name, unit)| (us / unit, name))
}

/// A span as [`parse_duration`] reads it, in the largest unit that is exact.
///
/// ```
/// # use jeton_policy::{parse_duration, print_duration};
/// assert_eq!(print_duration(parse_duration("90s")?), "90s");
/// assert_eq!(print_duration(parse_duration("120m")?), "2h");
/// # Ok::<(), jeton_policy::Fault>(())
/// ```
pub fn print_duration(span: Span) -> String {
    let (count, unit) = largest(span);
    format!("{count}{unit}")
}

/// A span in running text: `600 ms`, `30 s`, `1 min`, `1 day`.
pub(crate) fn in_words(span: Span) -> String {
    let (count, unit) = largest(span);
    let plural = if count == 1 { "" } else { "s" };
    match unit {
        "d" => format!("{count} day{plural}"),
        "w" => format!("{count} week{plural}"),
        _ => format!("{count} {unit}"),
    }
}

/// The quotient `us / parts` as a time in running text, to two decimals: `8.57 s`.
pub(crate) fn short(us: u128, parts: u128) -> String {
    let fits = |unit: u64| us >= u128::from(unit) * parts;
    let (name, unit) = UNITS
        .iter()
        .find(|(_, unit)| fits(*unit))
        .copied()
        .unwrap_or(("us", 1));
    let per = parts * u128::from(unit);
    let hundredths = (us * 200 + per) / (per * 2);
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_unit_is_read() {
        for (text, us) in [
            ("7us", 7),
            ("1ms", 1_000),
            ("30s", 30_000_000),
            ("1m", 60_000_000),
            ("1min", 60_000_000),
            ("2h", 7_200_000_000),
            ("1d", 86_400_000_000),
            ("1w", 604_800_000_000),
            ("3653d", 315_619_200_000_000),
        ] {
            assert_eq!(parse_duration(text).unwrap().as_micros(), us, "{text}");
        }
    }

    #[test]
    fn a_slip_names_its_fix() {
        for (text, fix) in [
            ("60", "\"60s\""),
            ("1.5s", "\"1500ms\""),
            ("0.5h", "\"30min\""),
            ("1 m", "\"1min\""),
            ("2 hours", "\"2h\""),
            ("1M", "\"1min\""),
            ("99999999999w", "at most \"4886d\""),
            ("18446744073709551616us", "at most \"4886d\""),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().fix, fix, "{text}");
        }
        for text in [
            "", "s", "-1s", "1e3s", "nan", "1y", "0x10s", "1h30m", "1s ", "one",
        ] {
            assert_eq!(
                parse_duration(text).unwrap_err().code,
                code::DURATION,
                "{text}"
            );
        }
        assert_eq!(parse_duration("0s").unwrap_err().code, code::ZERO);
    }

    #[test]
    fn words_use_the_largest_exact_unit() {
        let words = |us| in_words(Span::from_micros(us).unwrap());
        assert_eq!(words(600_000), "600 ms");
        assert_eq!(words(60_000_000), "1 min");
        assert_eq!(words(90_000_000), "90 s");
        assert_eq!(words(31_536_000_000_000), "365 days");
        assert_eq!(short(60_000_000, 7), "8.57 s");
        assert_eq!(short(1, 3), "0.33 us");
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(us in 1..=Span::LONGEST.as_micros()) {
            let span = Span::from_micros(us).unwrap();
            prop_assert_eq!(parse_duration(&print_duration(span)).unwrap(), span);
        }

        #[test]
        fn no_text_is_too_odd(text in ".{0,24}") {
            let _ = parse_duration(&text);
        }
    }
}
