//! Notes draw from the same memory as states.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use jeton_core::{Micros, Note, NoteEdit, Store, StoreError, StoreErrorKind, When};
use jeton_memory::{Overflow, Table};

use crate::{SECOND, allowed, log, table, take};

/// The table answers at once.
fn now<T>(pending: impl Future<Output = T>) -> T {
    match pin!(pending).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("memory never waits"),
    }
}

fn put(table: &Table, name: u64, value: usize, until: Option<u64>) -> Result<bool, StoreErrorKind> {
    let note = Note {
        name: name.to_be_bytes().into(),
        value: vec![7; value].into(),
        until: until.map(Micros::new),
    };
    let when = When::At(Micros::new(100));
    now(table.note(NoteEdit::Put(note), when)).map_err(|error| error.kind)
}

fn remove(table: &Table, name: u64, us: u64) -> bool {
    let name = name.to_be_bytes().into();
    now(table.note(NoteEdit::Remove { name }, When::At(Micros::new(us)))).unwrap()
}

fn notes(table: &Table, us: u64) -> Vec<Note> {
    now(table.notes(When::At(Micros::new(us)))).unwrap()
}

#[test]
fn notes_that_find_no_memory_are_refused_and_nothing_is_lost() {
    let table = table(1_000, 256 << 10, Overflow::Share);
    let empty = table.stats().bytes;
    let mut set = 0;
    while put(&table, set, 1_000, None) == Ok(false) {
        set += 1;
    }
    assert!(set > 100, "{set}");
    assert_eq!(
        put(&table, set, 1_000, None),
        Err(StoreErrorKind::OutOfMemory)
    );
    let full = table.stats().bytes;
    assert!(full <= 256 << 10 && full > (250 << 10));
    // A note that would grow is refused, and stays; one that shrinks is not.
    assert_eq!(
        put(&table, 3, 2_500, None),
        Err(StoreErrorKind::OutOfMemory)
    );
    assert_eq!(notes(&table, 100)[3].value.len(), 1_000);
    assert_eq!(notes(&table, 100).len() as u64, set);
    assert_eq!(put(&table, 3, 10, None), Ok(true));
    assert_eq!(table.stats().bytes, full - 990);
    assert_eq!(put(&table, 3, 1_000, None), Ok(true));
    assert_eq!(table.stats().bytes, full);
    // New states find no room either, until notes make some.
    let quota = log(5, 60 * SECOND);
    let first = take(&table, "key", &quota, 100);
    assert!(first.approximate);
    assert!((0..set).all(|name| remove(&table, name, 100)));
    assert_eq!(notes(&table, 100), []);
    let freed = table.stats().bytes;
    assert!(freed < empty + 10_000, "{freed}");
    let own = take(&table, "key", &quota, 101);
    assert!(allowed(&own) && !own.approximate);
}

#[test]
fn notes_that_are_over_give_their_memory_back() {
    let table = table(1_000, 256 << 10, Overflow::Share);
    let empty = table.stats().bytes;
    let mut set = 0;
    while put(&table, set, 1_000, Some(200 + set % 2)) == Ok(false) {
        set += 1;
    }
    let full = table.stats().bytes;
    assert_eq!(notes(&table, 199).len() as u64, set);
    assert_eq!(notes(&table, 200).len() as u64, set / 2);
    assert!(table.stats().bytes < full / 2 + empty);
    assert!(!remove(&table, 1, 201));
    assert_eq!(table.stats().bytes, empty);
    // Set to be over already: it takes the place of one, and is none.
    assert_eq!(put(&table, 9, 10, None), Ok(false));
    assert_eq!(put(&table, 9, 10, Some(100)), Ok(true));
    assert_eq!(table.stats().bytes, empty);
}

#[test]
fn an_old_reading_of_a_steady_clock_brings_no_note_back() {
    let table = table(10, 1 << 20, Overflow::Share);
    assert_eq!(put(&table, 1, 10, Some(200)), Ok(false));
    let read = |us| now(table.notes(When::NotBefore(Micros::new(us)))).unwrap();
    assert_eq!(read(150).len(), 1);
    assert_eq!(read(200), []);
    let note = Note {
        name: (*b"late").into(),
        value: (*b"").into(),
        until: Some(Micros::new(180)),
    };
    let when = When::NotBefore(Micros::new(170));
    assert_eq!(now(table.note(NoteEdit::Put(note), when)), Ok(false));
    assert_eq!(read(170), [], "it is 200 by now");
}

#[test]
fn a_table_without_a_clock_keeps_no_notes_by_one() {
    let table = table(10, 1 << 20, Overflow::Share);
    let name = (*b"n").into();
    let done = now(table.note(NoteEdit::Remove { name }, When::StoreClock));
    let listed = now(table.notes(When::StoreClock));
    let kind = |error: StoreError| error.kind;
    assert_eq!(done.map_err(kind), Err(StoreErrorKind::Unsupported));
    assert_eq!(listed.map_err(kind), Err(StoreErrorKind::Unsupported));
}
