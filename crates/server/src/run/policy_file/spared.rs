//! References that need not be there: those of `[store]`, for who does without its server.

use std::path::PathBuf;

use jeton::policy::{Resolve, Unresolved};
use toml::{Table, Value};

/// What is read in their place: good as a URL, with or without a root of trust, and as a secret.
const STAND_IN: &str = "rediss://127.0.0.1";

/// Settings that say where a store is, and who may read it.
const SPARED: [&str; 4] = ["url", "tls_root", "key_secret", "path"];

/// Reads every reference but those of `[store]`.
pub(super) struct Spared<'a> {
    others: &'a dyn Resolve,
    variables: Vec<String>,
    files: Vec<String>,
}

impl<'a> Spared<'a> {
    /// Spares what the `[store]` of a policy refers to. Of a text that is none, nothing: whoever
    /// loads it says why.
    pub(super) fn by(others: &'a dyn Resolve, text: &str) -> Self {
        let policy: Table = text.parse().unwrap_or_default();
        let settings = policy.get("store").and_then(Value::as_table);
        let named = |kind: &str| {
            let settings = SPARED.iter().filter_map(|word| settings?.get(*word));
            let named = settings.filter_map(|setting| setting.get(kind)?.as_str());
            named.map(str::to_owned).collect()
        };
        Self {
            others,
            variables: named("env"),
            files: named("file"),
        }
    }
}

impl Resolve for Spared<'_> {
    fn env(&self, name: &str) -> Result<String, Unresolved> {
        if self.variables.iter().any(|spared| spared == name) {
            return Ok(STAND_IN.to_owned());
        }
        self.others.env(name)
    }

    fn file(&self, path: &str) -> Result<String, Unresolved> {
        if self.files.iter().any(|spared| spared == path) {
            return Ok(STAND_IN.to_owned());
        }
        self.others.file(path)
    }

    fn text(&self, path: &str) -> Result<String, Unresolved> {
        self.others.text(path)
    }

    fn folder(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        self.others.folder(path)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.others.path(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton::policy::{NoReferences, Policy, Source};

    const RULE: &str =
        "[[rule]]\nname = \"a\"\nkey = \"global\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n";

    fn is_loaded(text: &str) -> bool {
        let resolve = Spared::by(&NoReferences, text);
        Policy::load(&Source::new("a", text), &resolve).is_ok()
    }

    #[test]
    fn what_the_store_refers_to_need_not_be_there() {
        for (url, root) in [
            ("{ env = \"URL\" }", "root.pem"),
            ("{ file = \"url\" }", "r"),
        ] {
            let store = format!(
                "[store]\nkind = \"redis\"\nurl = {url}\ntls_root = \"{root}\"\n\
                 key_secret = {{ env = \"SECRET\" }}\n"
            );
            assert!(is_loaded(&format!("{store}{RULE}")), "{store}");
        }
    }

    #[test]
    fn everything_else_must_be() {
        let rule = RULE.replace("\"5/s\"", "{ env = \"RATE\" }");
        let store = "[store]\nkind = \"redis\"\nurl = { env = \"URL\" }\n";
        assert!(!is_loaded(&format!("{store}{rule}")));
        assert!(!is_loaded(&format!("{store}prefix = \"*\"\n{RULE}")));
        assert!(!is_loaded("[store\n"));
    }
}
