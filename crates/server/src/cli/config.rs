//! Policy files, as commands ask for them.

use std::path::Path;

use jeton::policy::{Loaded, Report};

use super::failure::Failure;
use crate::run::PolicyFile;

/// Reads and checks a policy file.
pub(super) fn load(path: &Path) -> Result<Loaded, Failure> {
    parse(path, read(path)?).map_err(Failure::Policy)
}

/// The same for who does without the server that it may name.
pub(super) fn load_without_server(path: &Path) -> Result<Loaded, Failure> {
    let loaded = PolicyFile::new(path).parse_without_server(read(path)?);
    loaded.map_err(Failure::Policy)
}

/// The text of a policy file.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    PolicyFile::new(path).read().map_err(Failure::new)
}

/// Checks the text of a policy file.
pub(super) fn parse(path: &Path, text: String) -> Result<Loaded, Report> {
    PolicyFile::new(path).parse(text)
}
