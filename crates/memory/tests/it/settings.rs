//! Bounds that could hold nothing are refused (field case F29).

use jeton_memory::{LEAST_MEMORY_BYTES, MAX_KEYS, Overflow, Settings, SettingsError, Table};

use crate::{allowed, log, table, take};

fn refusal(max_keys: u64, max_memory_bytes: u64) -> SettingsError {
    let settings = Settings {
        max_keys,
        max_memory_bytes,
        ..Settings::default()
    };
    Table::new(&settings).unwrap_err()
}

#[test]
fn f29_a_budget_of_nothing_is_a_start_error_that_says_what_would_do() {
    let empty = refusal(1_000, 0);
    let tiny = refusal(1_000, LEAST_MEMORY_BYTES - 1);
    assert_eq!(
        empty,
        SettingsError::MemoryTooSmall {
            max_memory_bytes: 0
        }
    );
    let text = tiny.to_string();
    assert!(
        text.contains("65535 bytes") && text.contains("at least 65536 bytes"),
        "{text}"
    );
    assert_eq!(refusal(0, 1 << 20), SettingsError::NoKeys);
    assert!(refusal(0, 1 << 20).to_string().contains("such as 1000000"));
    assert!(
        refusal(MAX_KEYS + 1, 1 << 20)
            .to_string()
            .contains("at most 1073741824")
    );
}

#[test]
fn f29_the_least_budget_still_enforces() {
    for quota in [log(5, 60_000_000), crate::bucket(1, 60_000_000, 5)] {
        let table = table(1_000_000, LEAST_MEMORY_BYTES, Overflow::Share);
        for key in ["a", "b", "c"] {
            let passed = (0..10)
                .filter(|&us| allowed(&take(&table, key, &quota, us)))
                .count();
            assert_eq!(passed, 5);
        }
        let stats = table.stats();
        assert!(stats.bytes <= LEAST_MEMORY_BYTES);
        assert_eq!(stats.overflowed, 0);
    }
}

#[test]
fn one_key_is_a_table() {
    let table = table(1, LEAST_MEMORY_BYTES, Overflow::Deny);
    let quota = log(1, 1_000);
    assert!(allowed(&take(&table, "a", &quota, 0)));
    assert!(!allowed(&take(&table, "b", &quota, 0)));
    assert!(!allowed(&take(&table, "a", &quota, 999)));
    assert!(allowed(&take(&table, "b", &quota, 1_000)));
}
