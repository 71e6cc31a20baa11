//! Programs that `make prereqs` installs beside this machine's own.

use std::path::{Path, PathBuf};

/// Where one of them is.
pub(crate) fn tool(name: &str) -> PathBuf {
    installed(&format!("bin/{name}"))
}

/// The folder that holds one of them.
pub(crate) fn folder_of(name: &str) -> PathBuf {
    let path = installed(name);
    path.parent().unwrap_or(&path).to_owned()
}

fn installed(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{name} is not there: install it with `make prereqs` ({})",
        path.display()
    );
    path
}
