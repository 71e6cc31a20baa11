//! Everything on a disk: what a folder keeps, whatever happens to the process and to the disk.

mod kill;
mod orders;
mod restart;
mod start;
mod trouble;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::Folder;
use crate::support::binary::Running;
use crate::support::calls::{call, remaining};

/// Long enough for a machine that has much else to do.
const PATIENT: &str = "timeout = \"10s\"";

/// One counter per user: 100 in a day.
const HUNDRED: &str = r#"
[[rule]]
name = "user"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 100
window = "1d"
"#;

/// A folder for states.
struct Data(Folder);

impl Data {
    fn new() -> Self {
        Self(Folder::quick())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("jeton-data")
    }

    /// A policy over this folder, with an API.
    fn policy(&self, store: &str, rules: &str) -> String {
        let path = self.path();
        let path = path.to_str().expect("a path");
        format!(
            "[api]\nlisten = \"127.0.0.1:0\"\n\n[store]\nkind = \"disk\"\npath = \"{path}\"\n\
             {store}\n{rules}"
        )
    }

    fn serve(&self, store: &str, rules: &str) -> Running {
        Running::serve(&self.policy(store, rules))
    }
}

/// What is left to a key of [`HUNDRED`], which this does not touch.
fn left(node: &Running, key: &str) -> u64 {
    let body = json!({ "rule": "user", "key": key });
    remaining(&call(node, "/v1/check", &body))
}

fn charge(node: &Running, key: &str, cost: u64) -> Value {
    let body = json!({ "rule": "user", "key": key, "cost": cost });
    call(node, "/v1/take", &body)
}

/// Tells it to stop, and waits until it has.
fn stop(mut node: Running) {
    node.signal("-TERM");
    let status = node.ends();
    assert!(status.success(), "{}", node.log());
    let log = node.log();
    assert!(!log.contains("ERROR"), "{log}");
}

/// Everything that a folder holds, by name.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("a file").path());
    let read = |path: PathBuf| {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, std::fs::read(&path).expect("bytes"))
    };
    let mut content: Vec<_> = paths.map(read).collect();
    content.sort();
    content
}
