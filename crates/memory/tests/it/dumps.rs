//! Looking at a table while it works, and carrying its states over a restart.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use jeton_core::{Act, Answers, Cost, Kind, Micros, Op, Plan, RuleId};
use jeton_memory::{LoadError, Overflow, Seed, Settings, Table};

use crate::{
    Random, SECOND, allowed, bucket, concurrency, counter, first, fixed, log, table, take,
};

const MINUTE: u64 = 60 * SECOND;

fn filled(keys: u64) -> Table {
    let table = table(100_000, 64 << 20, Overflow::Share);
    let quotas = [
        bucket(10, MINUTE, 50),
        fixed(40, MINUTE),
        first(40, MINUTE),
        counter(40, MINUTE),
        log(40, MINUTE),
    ];
    let mut random = Random(8);
    for n in 0..keys * 10 {
        let key = format!("key {}", random.below(keys));
        take(&table, &key, random.pick(&quotas), SECOND + n);
    }
    let hold = Act::Hold { cost: Cost::ONE };
    let in_flight = concurrency(5, MINUTE);
    let op = Op::new(RuleId::new(1), b"key 0", &in_flight, hold);
    table.decide(
        Plan::one(&op),
        Micros::new(SECOND),
        &mut (),
        &mut Answers::new(),
    );
    table
}

fn dumps(table: &Table, now: Micros) -> Vec<Vec<u8>> {
    let dump = |region| {
        let mut bytes = Vec::new();
        table.dump(region, now, &mut bytes);
        bytes
    };
    (0..table.regions()).map(dump).collect()
}

#[test]
fn a_table_that_is_loaded_from_a_dump_is_the_same_table() {
    let (table, now) = (filled(3_000), Micros::new(2 * SECOND));
    let other = self::table(100_000, 64 << 20, Overflow::Share);
    let mut kept = 0;
    for dump in dumps(&table, now) {
        let loaded = other.load(&dump, now).expect("a dump");
        assert_eq!((loaded.over, loaded.lost), (0, 0));
        kept += loaded.kept;
    }
    let sorted = |table: &Table| {
        let mut held: Vec<_> = table.snapshot(now).collect();
        held.sort_by_key(|held| (held.hash, held.state.kind as u8));
        held
    };
    let held = sorted(&table);
    assert_eq!(held, sorted(&other));
    assert_eq!(kept, held.len() as u64);
    assert!(held.len() > 10_000, "{}", held.len());
    assert!(held.iter().any(|held| held.state.kind == Kind::Concurrency));
    // What is over by then is left behind.
    let late = Micros::new(10 * MINUTE);
    let third = self::table(100_000, 64 << 20, Overflow::Share);
    let over: u64 = dumps(&table, now)
        .iter()
        .map(|dump| third.load(dump, late).expect("a dump").over)
        .sum();
    assert_eq!((over, third.stats().keys), (kept, 0));
    assert_eq!(table.snapshot(late).count(), 0);
}

#[test]
fn a_table_with_less_room_says_how_many_it_lost() {
    let (table, now) = (filled(300), Micros::new(2 * SECOND));
    let small = self::table(50, 1 << 20, Overflow::Deny);
    let (mut kept, mut lost) = (0, 0);
    for dump in dumps(&table, now) {
        let loaded = small.load(&dump, now).expect("a dump");
        (kept, lost) = (kept + loaded.kept, lost + loaded.lost);
    }
    assert_eq!((kept, small.stats().keys), (50, 50));
    assert!(lost > 1_000);
}

#[test]
fn what_is_not_a_dump_of_this_table_is_refused() {
    let (table, now) = (filled(30), Micros::new(2 * SECOND));
    let dump = dumps(&table, now).swap_remove(0);
    let other = Table::new(&Settings {
        seed: Some(Seed::new([8; 16])),
        ..Settings::default()
    })
    .unwrap();
    assert_eq!(other.load(&dump, now), Err(LoadError::OtherSeed));
    assert_eq!(table.load(b"", now), Err(LoadError::NotADump));
    assert_eq!(table.load(&dump[1..], now), Err(LoadError::NotADump));
    for cut in 12..dump.len() {
        match table.load(&dump[..cut], now) {
            Ok(_) | Err(LoadError::CutOff { .. }) => {}
            other => panic!("{other:?} at {cut}"),
        }
    }
    let mut broken = dump;
    // The version of the first state.
    broken[24] = 99;
    let refused = table.load(&broken, now).unwrap_err();
    assert!(
        matches!(refused, LoadError::State { at: 12, .. }),
        "{refused}"
    );
}

#[test]
fn the_world_goes_on_while_a_table_is_looked_at() {
    let table = table(20_000, 64 << 20, Overflow::Deny);
    let quota = log(1_000, MINUTE);
    let stop = AtomicBool::new(false);
    let passed = thread::scope(|scope| {
        let takers: Vec<_> = (0..2_u64)
            .map(|thread| {
                let (table, quota, stop) = (&table, &quota, &stop);
                scope.spawn(move || {
                    let (mut random, mut passed) = (Random(thread), 0);
                    while !stop.load(Relaxed) {
                        let key = format!("key {}", random.below(5_000));
                        passed += usize::from(allowed(&take(table, &key, quota, SECOND)));
                    }
                    passed
                })
            })
            .collect();
        let now = Micros::new(SECOND);
        for _ in 0..20 {
            for held in table.snapshot(now) {
                let costs: u32 = held.state.tail.iter().map(|entry| entry.cost).sum();
                assert!((1..=1_000).contains(&costs));
            }
            assert!(dumps(&table, now).len() > 1);
        }
        stop.store(true, Relaxed);
        takers
            .into_iter()
            .map(|taker| taker.join().unwrap())
            .sum::<usize>()
    });
    let held = table.snapshot(Micros::new(SECOND));
    let counted: u32 = held
        .flat_map(|held| held.state.tail)
        .map(|entry| entry.cost)
        .sum();
    assert_eq!(usize::try_from(counted).unwrap(), passed);
}
