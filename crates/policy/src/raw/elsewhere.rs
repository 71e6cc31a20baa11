//! Words that nothing here is called, and what says the same.

use crate::language::ROOT;

/// Where what such a word of a section means is said, and how it is written there.
pub(super) fn elsewhere(section: &str, word: &str) -> Option<(&'static str, &'static str)> {
    match (section, word) {
        (
            "[store]",
            "host" | "hosts" | "port" | "address" | "addr" | "user" | "username" | "password"
            | "db" | "database",
        ) => Some((
            "part of `url`",
            "url = { env = \"REDIS_URL\" }, which has user, password, HOST, port and database",
        )),
        ("[store]", "tls" | "ssl") => Some((
            "the scheme of `url` says so",
            "url = \"rediss://HOST:6379\"",
        )),
        (ROOT, "redis" | "valkey") => Some((
            "a server is named in [store]",
            "[store] with kind = \"redis\", for Valkey too, and `url`",
        )),
        _ => None,
    }
}
