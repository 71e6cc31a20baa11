//! Prints how far the sliding counter is from the sliding log, as the Markdown table of the docs.

#![allow(clippy::print_stdout)]

use jeton_testkit::deviation::{measure, table};

fn main() {
    let rows: Vec<_> = [10, 100].into_iter().flat_map(measure).collect();
    print!("{}", table(&rows));
}
