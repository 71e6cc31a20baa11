//! Any bytes as a dump of a table: refused or loaded, never a panic, and what was loaded is within
//! the table's bounds and comes out again.

#![no_main]

use jeton_core::Micros;
use jeton_memory::{Overflow, Seed, Settings, Table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings {
        max_keys: 100,
        max_memory_bytes: 64 << 10,
        overflow: Overflow::Deny,
        seed: Some(Seed::new([0; 16])),
    };
    let (Ok(table), Ok(other)) = (Table::new(&settings), Table::new(&settings)) else {
        return;
    };
    let now = Micros::new(1);
    // With the head that belongs there, so that more than the head is tried.
    let mut dump = Vec::new();
    table.dump(usize::MAX, now, &mut dump);
    dump.extend_from_slice(bytes);
    let _ = table.load(bytes, now);
    let _ = table.load(&dump, now);
    let stats = table.stats();
    assert!(stats.keys <= 100 && stats.bytes <= stats.max_bytes);
    let mut kept = 0;
    for region in 0..table.regions() {
        let mut dump = Vec::new();
        table.dump(region, now, &mut dump);
        kept += other.load(&dump, now).map_or(0, |loaded| loaded.kept);
    }
    assert_eq!(kept, table.snapshot(now).count() as u64);
});
