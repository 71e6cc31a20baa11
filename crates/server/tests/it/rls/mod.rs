//! The door for Envoy: real Envoy, its messages byte by byte, and `/json`.

mod calls;
mod envoy;
mod explained;
mod grpc;
mod hostile;
mod in_flight;
mod reload;
mod stores;
mod tls;

use serde_json::Value;

use crate::support::binary::Running;
use crate::support::{Folder, curl};

/// A file of descriptors beside a policy with the door, and the API.
pub(crate) fn serve(more: &str, yaml: &str) -> Running {
    let policy = format!(
        "[api]\nlisten = \"127.0.0.1:0\"\n[rls]\nlisten = \"127.0.0.1:0\"\n\
         envoy_config = \"limits\"\n{more}"
    );
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("limits")).expect("a folder");
    folder.file("limits/a.yaml", yaml.as_bytes());
    folder.file("jeton.toml", policy.as_bytes());
    Running::serve_from(folder, "jeton.toml")
}

/// POSTs to `/json`: the status and the answer.
pub(crate) fn json(jeton: &Running, body: &str) -> (u16, String) {
    let url = format!("http://{}/json", jeton.rls_address());
    let printed = curl(&["-w", "\n%{http_code}", "-d", body, &url]);
    let (answer, status) = printed.rsplit_once('\n').expect("a status");
    (status.parse().expect("a status"), answer.to_owned())
}

/// The answer to one descriptor of one entry.
pub(crate) fn ask(jeton: &Running, key: &str, value: &str) -> (u16, Value) {
    let body = format!(
        r#"{{"domain":"d","descriptors":[{{"entries":[{{"key":"{key}","value":"{value}"}}]}}]}}"#
    );
    let (status, answer) = json(jeton, &body);
    (status, serde_json::from_str(&answer).expect("JSON"))
}
