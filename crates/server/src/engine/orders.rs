//! What operators set, as it is written.

use jeton::Span;
use jeton::policy::{Alternative, Mode};

use super::bodies;
use super::fields::Limit;
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
    let text = |text: Option<super::fields::Text<'_>>| text.map(|text| text.as_str().to_owned());
    let burst = burst.0.map(|units| units.0.to_string());
    let settings = [
        ("limit", limit),
        ("window", text(window.0)),
        ("rate", text(rate.0)),
        ("burst", burst),
        ("lease", text(lease.0)),
    ];
    let settings = settings
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let settings = Alternative::new(settings).map_err(|fault| {
        let what = fault.to_string();
        InputError::new(setting_in(&what), what)
    })?;
    Ok((settings, lasting.0.map(|lasting| lasting.0)))
}

/// The setting that a message is about.
pub(crate) fn setting_in(what: &str) -> &'static str {
    let names = ["limit", "window", "rate", "burst", "lease"];
    let named = names
        .into_iter()
        .find(|name| what.contains(&format!("`{name}`")));
    named.unwrap_or_default()
}

/// Reads the mode that a rule is put into.
///
/// # Errors
/// [`InputError`] naming the member.
pub(crate) fn read_mode(json: &[u8]) -> Result<Mode, InputError> {
    let bodies::ModeOf { mode } = read(json)?;
    Ok(mode.0)
}
