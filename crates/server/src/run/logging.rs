//! Logs: one line an event, on standard error, level by `JETON_LOG`.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::filter::LevelFilter;

/// The variable that sets the level: `off`, `error`, `warn`, `info` (the default), `debug`,
/// `trace`.
const VARIABLE: &str = "JETON_LOG";

/// Starts logging for this process. A word that is no level is told, and `info` holds.
pub fn start_logging() {
    let asked = std::env::var(VARIABLE).ok().filter(|word| !word.is_empty());
    let level = asked.as_deref().map_or(Ok(LevelFilter::INFO), str::parse);
    let colour =
        stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    let started = tracing_subscriber::fmt()
        .compact()
        .with_target(false)
        .with_ansi(colour)
        .with_writer(stderr)
        .with_max_level(*level.as_ref().unwrap_or(&LevelFilter::INFO))
        .try_init();
    // Only a test harness would have started it before.
    drop(started);
    if level.is_err() {
        let word = asked.unwrap_or_default();
        tracing::warn!("{VARIABLE}={word:?} is no level; off, error, warn, info, debug, trace are");
    }
}
