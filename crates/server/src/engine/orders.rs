//! What operators set, as it is written.

use jeton::Span;
use jeton::policy::{Alternative, Fault, Mode, parse_duration, parse_rate};

use super::bodies;
use super::fields::{Limit, Text};
use super::input::{InputError, read};

/// Reads the settings of an override, and how long it holds.
///
/// # Errors
/// [`InputError`] naming the member. Whether a rule takes the settings is not asked here.
pub(crate) fn read_override(json: &[u8]) -> Result<(Alternative, Option<Span>), InputError> {
    let bodies::Override {
        limit,
        window,
        rate,
        burst,
        lease,
        lasting,
    } = read(json)?;
    let limit = limit.0.map(|limit| match limit {
        Limit::Units(units) => units.0.to_string(),
        Limit::Word(word) => word.as_str().to_owned(),
    });
    let settings = [
        ("limit", limit),
        ("window", read_as("window", window.0, parse_duration)?),
        ("rate", read_as("rate", rate.0, parse_rate)?),
        ("burst", burst.0.map(|units| units.0.to_string())),
        ("lease", read_as("lease", lease.0, parse_duration)?),
    ];
    let named = settings
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let named: Vec<(&str, String)> = named.collect();
    if named.is_empty() {
        let what = "nothing is overridden; write `limit`, `window`, `rate`, `burst` or `lease`";
        return Err(InputError::new("", what));
    }
    let settings = Alternative::new(named).map_err(|fault| {
        let what = fault.to_string();
        InputError::new(setting_in(&what), what)
    })?;
    Ok((settings, lasting.0.map(|lasting| lasting.0)))
}

/// The text of a setting, if it reads as one.
fn read_as<T>(
    name: &str,
    text: Option<Text<'_>>,
    parse: impl Fn(&str) -> Result<T, Fault>,
) -> Result<Option<String>, InputError> {
    let Some(text) = text else {
        return Ok(None);
    };
    match parse(text.as_str()) {
        Ok(_) => Ok(Some(text.as_str().to_owned())),
        Err(fault) => Err(InputError::new(name, fault.to_string())),
    }
}

/// The setting that a message is about: the one that it names first.
pub(crate) fn setting_in(what: &str) -> &'static str {
    let names = ["limit", "window", "rate", "burst", "lease"];
    let places = names
        .into_iter()
        .filter_map(|name| Some((what.find(name)?, name)));
    places.min().map_or("", |(_, name)| name)
}

/// Reads the mode that a rule is put into.
///
/// # Errors
/// [`InputError`] naming the member.
pub(crate) fn read_mode(json: &[u8]) -> Result<Mode, InputError> {
    let bodies::ModeOf { mode } = read(json)?;
    Ok(mode.0)
}
