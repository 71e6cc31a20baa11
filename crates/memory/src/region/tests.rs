//! States in and out of one region, by hashes of the test's choosing.

use std::collections::HashMap;

use jeton_core::Kind;
use jeton_core::RuleId;

use super::*;

const NOW: Micros = Micros::new(1_000);

fn place(hash: u64, kind: Kind) -> Place {
    Place {
        rule: RuleId::new(1),
        kind,
        hash,
    }
}

/// Number `n` of many places that are spread over the array.
fn spread(n: u64) -> Place {
    place(n.wrapping_mul(0x9e37_79b9_7f4a_7c15), Kind::Bucket)
}

fn cell(n: u32) -> Cell {
    Cell {
        at: NOW,
        words: [n, 0, 0],
    }
}

struct Bench {
    region: Region,
    budget: Budget,
}

fn visit(region: &mut Region, now: Micros, budget: &Budget) {
    if region.is_due() {
        region.upkeep(now, budget);
    }
}

impl Bench {
    fn new(keys: u64, bytes: u64) -> Self {
        Self {
            region: Region::default(),
            budget: Budget::new(keys, bytes),
        }
    }

    fn write(&mut self, place: Place, n: u32, until: u64) -> bool {
        let (region, budget) = (&mut self.region, &self.budget);
        visit(region, NOW, budget);
        let mut spot = region.spot(place);
        let known = region.is_alive(&spot, NOW);
        if !known && budget.is_short() {
            region.clean(SEARCH, NOW, budget);
        }
        if !known && !region.claim(&mut spot, NOW, budget) {
            return false;
        }
        region.put(&spot, &cell(n), Micros::new(until), &TailEdit::None, budget);
        true
    }

    fn read(&self, place: Place) -> Option<u32> {
        self.region
            .view(&Spot::new(place), NOW)
            .cell
            .map(|cell| cell.words[0])
    }

    /// The counts kept along the way are those found by counting.
    fn audit(&self) {
        let region = &self.region;
        let count = |array: &Array, what: fn(&Slot) -> bool| {
            (0..array.len())
                .filter(|&at| array.get(at).is_some_and(what))
                .count()
        };
        let free = |slot: &Slot| slot.is_empty() || slot.is_tomb();
        let taken = |array: &Array| array.len() - count(array, free);
        assert_eq!(region.keys, taken(&region.slots) + taken(&region.old));
        assert_eq!(region.tombs, count(&region.slots, Slot::is_tomb));
        assert_eq!(region.keys as u64, self.budget.keys());
        let empty = count(&region.slots, Slot::is_empty);
        assert!(
            region.slots.len() == 0 || empty > 0,
            "a search would not end"
        );
    }
}

#[test]
fn states_whose_searches_meet_stay_apart() {
    let mut bench = Bench::new(1_000, 1 << 20);
    // One home for all, by equal high halves; and one hash for two kinds.
    let hashes: Vec<u64> = (0..200).map(|n| 0xabcd_0000_0000_0000 | n << 6).collect();
    for (n, &hash) in (0..).zip(&hashes) {
        assert!(bench.write(place(hash, Kind::Bucket), n, 2_000));
        assert!(bench.write(place(hash, Kind::Counter), n + 1_000, 2_000));
    }
    bench.audit();
    for (n, &hash) in (0..).zip(&hashes) {
        assert_eq!(bench.read(place(hash, Kind::Bucket)), Some(n));
        assert_eq!(bench.read(place(hash, Kind::Counter)), Some(n + 1_000));
        if n % 2 == 0 {
            bench
                .region
                .erase(&Spot::new(place(hash, Kind::Bucket)), &bench.budget);
        }
    }
    bench.audit();
    for (n, &hash) in (0..).zip(&hashes) {
        let left = (n % 2 == 1).then_some(n);
        assert_eq!(bench.read(place(hash, Kind::Bucket)), left);
        assert_eq!(bench.read(place(hash, Kind::Counter)), Some(n + 1_000));
    }
}

#[test]
fn a_region_is_a_map_through_growth_erasure_and_shrinking() {
    let mut bench = Bench::new(1 << 20, 1 << 30);
    let mut model: HashMap<u64, u32> = HashMap::new();
    let mut random: u64 = 7;
    for n in 0..200_000_u32 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // The keys in use swell and shrink.
        let range = [50, 3_000, 200, 10][n as usize / 10_000 % 4];
        let at = spread((random >> 33) % range);
        let hash = at.hash;
        if n % 3 == 0 {
            visit(&mut bench.region, NOW, &bench.budget);
            bench.region.erase(&Spot::new(at), &bench.budget);
            model.remove(&hash);
        } else {
            assert!(bench.write(at, n, 2_000));
            model.insert(hash, n);
        }
        assert_eq!(bench.read(at), model.get(&hash).copied());
        if n % 1_000 == 0 {
            bench.audit();
            for (&hash, &n) in &model {
                assert_eq!(bench.read(place(hash, Kind::Bucket)), Some(n));
            }
        }
    }
}

#[test]
fn the_dead_make_room_and_the_living_stay() {
    let mut bench = Bench::new(100, 1 << 20);
    for n in 0..50 {
        assert!(bench.write(spread(n), 1, 5_000));
    }
    for n in 50..10_000 {
        // These are dead as soon as they are written.
        assert!(bench.write(spread(n), 2, 1_000));
    }
    bench.audit();
    for n in 0..50 {
        assert_eq!(bench.read(spread(n)), Some(1));
    }
    assert!(bench.region.slots.len() <= slots_for(101));
}

#[test]
fn memory_is_given_back_when_the_keys_are_gone() {
    let mut bench = Bench::new(10_000, 1 << 20);
    for n in 0..1_000 {
        assert!(bench.write(place(spread(n).hash, Kind::Log), 1, 5_000));
    }
    let full = bench.budget.bytes();
    for _ in 0..20_000 {
        visit(&mut bench.region, Micros::new(6_000), &bench.budget);
    }
    bench.audit();
    let left = bench.budget.bytes();
    assert!(left < full / 100, "{left} of {full}");
    assert_eq!(bench.budget.keys(), 0);
}

#[test]
fn a_spent_budget_refuses_and_loses_nothing() {
    let mut bench = Bench::new(1_000, bytes_of(slots_for(1)));
    let held = (0..100)
        .take_while(|&n| bench.write(spread(n), 1, 5_000))
        .count();
    assert_eq!(held, 6);
    bench.audit();
    for n in 0..6 {
        assert_eq!(bench.read(spread(n)), Some(1));
    }
    assert!(!bench.region.has_room(spread(7), NOW, &bench.budget));
    let later = Micros::new(6_000);
    assert!(bench.region.has_room(spread(7), later, &bench.budget));
    let mut seventh = Spot::new(spread(7));
    assert!(bench.region.claim(&mut seventh, later, &bench.budget));
    bench.region.release(&seventh, &bench.budget);
    bench.audit();
}
