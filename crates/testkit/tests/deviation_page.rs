//! The page about the sliding counter shows what the program measures.

use jeton_testkit::deviation::{measure, table};

#[test]
fn the_page_shows_what_is_measured() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sliding-counter.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<_> = [10, 100].into_iter().flat_map(measure).collect();
    for row in &rows {
        assert!(
            row.counter_worst < 2 * row.limit,
            "{row:?} breaks the bound"
        );
    }
    assert!(
        page.contains(&table(&rows)),
        "run the example and paste its table"
    );
}
