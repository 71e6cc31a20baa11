//! A store on a disk in words: where it is, what a crash costs, and who waits for it.

use super::store::span;
use crate::settings::{Disk, DiskSync, Store};
use crate::units::{grouped, in_words};

pub(super) fn meaning(disk: &Disk, store: &Store) -> String {
    let sync = match disk.sync {
        DiskSync::Every(within) => format!("synced within {}", in_words(span(within))),
        DiskSync::Always => "synced before each answer".to_owned(),
    };
    let keys = grouped(store.max_keys);
    format!(
        "disk store in {}, {sync}, at most {keys} keys",
        disk.place()
    )
}

/// What a crash may forget.
pub(super) fn loss(disk: &Disk) -> String {
    match disk.sync {
        DiskSync::Every(within) => format!(
            "at most {} of decisions: of each key, as much may pass again as was charged in that time; \
             blocks, overrides and modes are on disk before they are acknowledged",
            in_words(span(within))
        ),
        DiskSync::Always => "nothing that was answered".to_owned(),
    }
}

/// Who waits for it.
pub(super) fn waiting(disk: &Disk, store: &Store) -> String {
    let longest = in_words(span(store.timeout));
    match disk.sync {
        DiskSync::Every(_) => format!(
            "nobody, unless the disk is too slow for that; then decisions wait up to {longest} each, \
             after which on_failure decides"
        ),
        DiskSync::Always => format!(
            "what changes something waits for its sync, which all share that wait, up to {longest}; \
             then on_failure decides, and its charge stays"
        ),
    }
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use crate::{NoReferences, Policy, PolicyTable, Source, StoreWords};

    #[allow(clippy::unwrap_used)]
    fn policy(settings: &str) -> Policy {
        let text = format!(
            "[store]\nkind = \"disk\"\n{settings}\n[[rule]]\nname = \"r\"\nkey = \"client-ip\"\n\
             algorithm = \"gcra\"\nrate = \"5/s\"\n"
        );
        let loaded = Policy::load(&Source::new("t", text), &NoReferences);
        loaded.unwrap().policy
    }

    #[test]
    fn a_span_tells_what_a_crash_may_forget_and_that_nobody_waits() {
        let words = StoreWords::of(&policy(""));
        let meaning = "disk store in jeton-data, synced within 1 s, at most 1 000 000 keys";
        assert_eq!((words.kind, words.meaning.as_str()), ("disk", meaning));
        assert!(
            words.loss.starts_with("at most 1 s of decisions: "),
            "{words:?}"
        );
        assert!(words.waiting.starts_with("nobody, unless "), "{words:?}");
        assert_eq!(
            words.outage,
            "all pass, unbounded, unless the rule says otherwise"
        );
    }

    #[test]
    fn always_forgets_nothing_and_waits_no_longer_than_the_timeout() {
        let words = StoreWords::of(&policy("sync = \"always\"\ntimeout = \"250ms\""));
        assert!(
            words.meaning.contains("synced before each answer"),
            "{words:?}"
        );
        assert_eq!(words.loss, "nothing that was answered");
        assert!(
            words
                .waiting
                .contains("up to 250 ms; then on_failure decides"),
            "{words:?}"
        );
    }

    #[test]
    fn the_table_says_it_in_lines_that_a_terminal_shows() {
        let local = "on_failure = { local = 0.5 }\noverflow = \"deny\"";
        let table = PolicyTable::new("t", &policy(local)).to_string();
        for about in [
            "while the disk fails: this process grants 0.5 of a limit",
            "local limits: at most 1 000 000 keys in 256 MiB",
            "what a crash may forget: at most 1 s",
            "waiting: nobody",
        ] {
            assert!(table.contains(&format!("\n  {about}")), "{about} {table}");
        }
        let lines: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
        assert!(lines.iter().all(|length| *length <= 100), "{table}");
    }
}
