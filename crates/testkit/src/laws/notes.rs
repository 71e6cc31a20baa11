//! Notes: what operators set, kept beside the states.

use std::collections::BTreeMap;

use jeton_core::Micros;

use super::desk::{Desk, HOUR, SECOND};
use super::threads::{THREADS, on_threads};
use super::{Make, repeats};

fn names(desk: &Desk) -> Vec<Vec<u8>> {
    let notes = desk.notes();
    notes.into_iter().map(|note| note.name.into_vec()).collect()
}

/// A note stands until it is replaced or removed, and whoever changes it is told whether there was
/// one.
pub fn a_note_is_set_replaced_and_removed(make: Make<'_>) {
    let desk = Desk::new(make);
    assert!(desk.notes().is_empty());
    assert!(!desk.remove(b"one"));
    assert!(!desk.put(b"one", b"first", None));
    assert!(!desk.put(b"two", b"", None));
    assert!(desk.put(b"one", b"longer than the first", None));
    let later = desk.at(desk.now_us + 1000 * HOUR);
    let values: Vec<_> = later.notes().into_iter().map(|note| note.value).collect();
    assert_eq!(values, [&b"longer than the first"[..], b""].map(Box::from));
    assert!(later.put(b"one", b"short", None));
    assert!(later.remove(b"two") && !later.remove(b"two"));
    assert_eq!(&*later.notes()[0].value, b"short");
    assert_eq!(names(&desk), [b"one"]);
}

/// They are listed by name, and names and values are bytes of any content.
pub fn notes_are_listed_by_name(make: Make<'_>) {
    let desk = Desk::new(make);
    let long = [b'n'; 600];
    let mut expected = BTreeMap::new();
    let any = (0..=255_u8).map(|byte| vec![byte, 0, byte]);
    let odd = ["", "\0", "a", "a\0", "\u{e9}", "{a}", "a\n", "*"].map(Vec::from);
    let long = [
        long.to_vec(),
        long[1..].to_vec(),
        [&long[..], b"x"].concat(),
    ];
    for (number, name) in any.rev().chain(odd).chain(long).enumerate() {
        let value = [&number.to_be_bytes()[..], &[0xff; 40]].concat();
        assert!(!desk.put(&name, &value, None), "{name:?}");
        expected.insert(name, value);
    }
    let notes = desk.notes();
    let listed = notes.into_iter().map(|note| {
        assert_eq!(note.until, None);
        (note.name.into_vec(), note.value.into_vec())
    });
    assert!(listed.eq(expected));
}

/// A note is over at its end, for whoever lists, replaces or removes it; one that is set to be over
/// already is none.
pub fn a_note_is_over_at_its_end(make: Make<'_>) {
    let desk = Desk::new(make);
    let end_us = desk.now_us + 60 * SECOND;
    for name in [b"listed", b"remove", b"put on"] {
        assert!(!desk.put(name, b"", Some(end_us)));
    }
    desk.put(b"stays", b"", None);
    let before = desk.at(end_us - 1);
    assert_eq!(names(&before).len(), 4);
    assert_eq!(before.notes()[0].until.map(Micros::get), Some(end_us));
    let after = desk.at(end_us);
    assert!(!after.remove(b"remove"));
    assert!(!after.put(b"put on", b"", None), "the old one is over");
    assert_eq!(names(&after), [&b"put on"[..], b"stays"]);
    assert!(after.put(b"stays", b"", Some(end_us)), "there was one");
    assert_eq!(names(&after), [b"put on"]);
    assert!(!after.put(b"over", b"", Some(end_us - 1)));
    assert_eq!(names(&after), [b"put on"]);
}

/// Eight threads set and remove notes of their own and fight over a common one: none is lost, and
/// of all who set or removed the common one, each but the first was told of the one before.
pub fn threads_lose_no_note(make: Make<'_>) {
    let rounds = repeats(make, 200, 200);
    let desk = Desk::new(make);
    let balance: i64 = on_threads(|thread| {
        let mut balance = 0;
        for round in 0..rounds {
            let name = [thread, round].map(u64::to_be_bytes).concat();
            assert!(!desk.put(&name, b"mine", None));
            if round % 3 == 0 {
                assert!(desk.remove(&name), "my own note was lost");
            }
            let put = !desk.put(b"common", &name, None);
            let removed = round % 2 == 0 && desk.remove(b"common");
            balance += i64::from(put) - i64::from(removed);
        }
        balance
    })
    .into_iter()
    .sum();
    let listed = names(&desk);
    let common = i64::from(listed.contains(&b"common".to_vec()));
    assert_eq!(balance, common, "set and removed as often as was said");
    let own = THREADS * (rounds - rounds.div_ceil(3)) + u64::try_from(common).unwrap_or(0);
    assert_eq!(listed.len() as u64, own);
    assert!(listed.is_sorted());
}
