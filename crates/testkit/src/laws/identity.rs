//! Whose counter it is: the rule, the kind of state and the key, and nothing else.

use super::Make;
use super::desk::{DAY, Desk, HOUR, Key, denied, kinds};

/// F42: two rules for the same client have a counter each.
pub fn f42_the_rule_is_part_of_the_key(make: Make<'_>) {
    let desk = Desk::new(make);
    for (monthly, hourly) in kinds(10, 30 * DAY).iter().zip(&kinds(5, HOUR)) {
        let name = format!("{monthly:?}");
        let a = Key::new(1, name.as_bytes(), monthly);
        let b = Key::new(2, name.as_bytes(), hourly);
        for key in [a, b] {
            assert!(
                (0..5).all(|_| desk.take(&key, 1).fit.passes()),
                "{:?}",
                key.quota
            );
        }
        assert!(denied(&desk.take(&b, 1)));
        assert_eq!(desk.remaining(&a), 5);
    }
}

/// A rule whose kind of state changes starts a new counter, and finds the old one when it changes
/// back.
pub fn kinds_of_state_never_meet(make: Make<'_>) {
    let desk = Desk::new(make);
    let quotas = kinds(7, DAY);
    for (number, quota) in (1..).zip(&quotas) {
        assert!(desk.take(&Key::new(1, b"same", quota), number).fit.passes());
    }
    for (number, quota) in (1..).zip(&quotas) {
        assert_eq!(
            desk.remaining(&Key::new(1, b"same", quota)),
            7 - number,
            "{quota:?}"
        );
    }
}

/// No two different keys share a counter, whatever bytes they are made of.
pub fn keys_are_bytes_of_any_content(make: Make<'_>) {
    let desk = Desk::new(make);
    let long = [b'k'; 4096];
    let mut names: Vec<Vec<u8>> = [
        "",
        "\0",
        "\0\0",
        "a",
        "a\0",
        "\0a",
        "a:b",
        "a::b",
        "ab",
        "é",
        "e\u{301}",
        "{a}",
        "a b",
        "%61",
        "a\n",
        "*",
        "\u{202e}a",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.extend((0..=255).map(|byte| vec![byte, 0xff]));
    names.extend([
        long.to_vec(),
        long[1..].to_vec(),
        [&long[..], b"x"].concat(),
    ]);
    for quota in &kinds(1, DAY) {
        for name in &names {
            let key = Key::new(1, name, quota);
            assert!(desk.take(&key, 1).fit.passes(), "{name:?} under {quota:?}");
        }
        for name in &names {
            let key = Key::new(1, name, quota);
            assert!(denied(&desk.take(&key, 1)), "{name:?} under {quota:?}");
        }
    }
}
