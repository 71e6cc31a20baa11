//! The commands there are, as one table: what is looked up, and what `COMMAND` tells.

mod told;

pub(super) use told::tell;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    ClThrottle,
    Throttle,
    Take,
    Check,
    Refund,
    Reset,
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Command,
    Select,
    Info,
    Quit,
    Multi,
    Exec,
    Discard,
}

/// What is known of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) name: Name,
    /// As it is written, in small letters.
    pub(super) word: &'static str,
    /// The least and the most arguments behind its name.
    pub(super) least: usize,
    pub(super) most: usize,
    /// How its arguments are written.
    pub(super) usage: &'static str,
    pub(super) summary: &'static str,
    /// Which argument is a key; 0 for none.
    key: i64,
    /// Whether it changes anything.
    writes: bool,
}

impl Entry {
    /// Whether the gate decides it.
    pub(super) const fn charges(&self) -> bool {
        self.key > 0
    }

    /// Whether it is carried out at once where a transaction is open.
    pub(super) const fn is_never_kept(&self) -> bool {
        use Name::{Discard, Exec, Multi, Quit};
        matches!(self.name, Multi | Exec | Discard | Quit)
    }
}

const ANY: usize = usize::MAX;

const fn entry(
    name: Name,
    word: &'static str,
    (least, most): (usize, usize),
    usage: &'static str,
    summary: &'static str,
) -> Entry {
    Entry {
        name,
        word,
        least,
        most,
        usage,
        summary,
        key: 0,
        writes: false,
    }
}

/// One that charges, or gives back, what stands at a key.
const fn keyed(entry: Entry, key: i64, writes: bool) -> Entry {
    Entry {
        key,
        writes,
        ..entry
    }
}

const QUOTA: &str = "key max_burst count period [quantity]";
const CHARGE: &str = "rule key [cost [part ...]]";

/// Every command; those that are asked most come first.
pub(super) const ALL: [Entry; 18] = [
    keyed(
        entry(
            Name::ClThrottle,
            "cl.throttle",
            (4, 5),
            QUOTA,
            "Takes from a quota of the caller's, and answers as redis-cell does",
        ),
        1,
        true,
    ),
    keyed(
        entry(
            Name::Throttle,
            "throttle",
            (4, 5),
            QUOTA,
            "Takes from a quota of the caller's, and answers as throttlecrab does",
        ),
        1,
        true,
    ),
    keyed(
        entry(
            Name::Take,
            "jeton.take",
            (2, ANY),
            CHARGE,
            "Charges a rule of the policy",
        ),
        2,
        true,
    ),
    keyed(
        entry(
            Name::Check,
            "jeton.check",
            (2, ANY),
            CHARGE,
            "Answers as JETON.TAKE would, and charges nothing",
        ),
        2,
        false,
    ),
    keyed(
        entry(
            Name::Refund,
            "jeton.refund",
            (2, ANY),
            CHARGE,
            "Gives units back",
        ),
        2,
        true,
    ),
    keyed(
        entry(
            Name::Reset,
            "jeton.reset",
            (2, ANY),
            "rule key [part ...]",
            "Forgets what was used; for operators where a token is set",
        ),
        2,
        true,
    ),
    entry(
        Name::Ping,
        "ping",
        (0, 1),
        "[message]",
        "Answers PONG, or the message",
    ),
    entry(Name::Echo, "echo", (1, 1), "message", "Answers the message"),
    entry(
        Name::Hello,
        "hello",
        (0, ANY),
        "[protover [AUTH username password] [SETNAME clientname]]",
        "Agrees on the version of the protocol",
    ),
    entry(
        Name::Auth,
        "auth",
        (1, 2),
        "[username] password",
        "Shows a token; the name is not looked at",
    ),
    entry(
        Name::Client,
        "client",
        (1, ANY),
        "subcommand [argument ...]",
        "What clients say of themselves: ID, INFO, GETNAME, SETNAME, SETINFO, NO-EVICT, NO-TOUCH, REPLY ON",
    ),
    entry(
        Name::Command,
        "command",
        (0, ANY),
        "[COUNT | LIST | INFO [name ...] | DOCS [name ...]]",
        "Tells of commands",
    ),
    entry(
        Name::Select,
        "select",
        (1, 1),
        "index",
        "There is one database: 0",
    ),
    entry(
        Name::Info,
        "info",
        (0, ANY),
        "[section ...]",
        "Tells of this server",
    ),
    entry(Name::Quit, "quit", (0, ANY), "", "Ends the connection"),
    entry(
        Name::Multi,
        "multi",
        (0, 0),
        "",
        "Keeps the commands that come next until EXEC",
    ),
    entry(
        Name::Exec,
        "exec",
        (0, 0),
        "",
        "Decides what was kept, as one batch",
    ),
    entry(
        Name::Discard,
        "discard",
        (0, 0),
        "",
        "Forgets what was kept",
    ),
];

/// The command of that name, in any case.
#[inline]
pub(super) fn named(word: &[u8]) -> Option<&'static Entry> {
    ALL.iter().find(|entry| {
        entry.word.len() == word.len() && entry.word.as_bytes().eq_ignore_ascii_case(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_in_any_case() {
        for entry in &ALL {
            let upper = entry.word.to_ascii_uppercase();
            assert_eq!(named(upper.as_bytes()).map(|it| it.name), Some(entry.name));
        }
        assert!(named(b"get").is_none() && named(b"").is_none());
    }
}
