//! Programs that `make prereqs` installs beside this machine's own.

use std::path::{Path, PathBuf};

/// Where one of them is.
pub(crate) fn tool(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/bin");
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{name} is not there: install it with `make prereqs` ({})",
        path.display()
    );
    path
}
