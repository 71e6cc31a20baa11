//! Files of envoyproxy/ratelimit: every mistake with its place, and every rule of looking up.
//!
//! `tests/envoy/NAME.yaml` has one mistake, and what is said of it stands in `NAME.expected`. After a
//! message was changed on purpose, `JETON_BLESS=1 cargo test -p jeton-policy` writes them anew: read the
//! difference.

mod doubts;
mod explain;
mod lookup;
mod mistakes;
mod names;
mod reading;
mod rules;

use std::collections::BTreeMap;

use jeton_policy::{Loaded, Policy, Report, Resolve, Source, Unresolved};

/// A folder `ratelimit` with some files.
pub(crate) struct Folder(BTreeMap<String, String>);

impl Folder {
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let path = |name: &str| format!("ratelimit/{name}");
        let own = |(name, text): &(&str, &str)| (path(name), (*text).to_owned());
        Self(files.iter().map(own).collect())
    }
}

impl Resolve for Folder {
    fn env(&self, _: &str) -> Result<String, Unresolved> {
        Err(Unresolved::Absent)
    }

    fn file(&self, path: &str) -> Result<String, Unresolved> {
        self.0.get(path).cloned().ok_or(Unresolved::Absent)
    }

    fn folder(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        match path {
            "ratelimit" => Ok(self.0.keys().cloned().collect()),
            _ => Err(Unresolved::Absent),
        }
    }
}

const RLS: &str = "[rls]\nlisten = \"127.0.0.1:8081\"\nenvoy_config = \"ratelimit\"\n";

/// A policy of one file.
pub(crate) fn load(yaml: &str) -> Policy {
    let loaded = try_load(RLS, &[("a.yaml", yaml)]);
    loaded.unwrap_or_else(|report| panic!("{report}")).policy
}

pub(crate) fn try_load(policy: &str, files: &[(&str, &str)]) -> Result<Loaded, Report> {
    Policy::load(&Source::new("jeton.toml", policy), &Folder::of(files))
}

pub(crate) fn refused(policy: &str, files: &[(&str, &str)]) -> String {
    match try_load(policy, files) {
        Err(report) => report.to_string(),
        Ok(_) => panic!("this should be refused: {files:?}"),
    }
}
