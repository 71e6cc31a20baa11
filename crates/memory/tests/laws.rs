//! The table keeps the laws of every store.

#![allow(clippy::unwrap_used)] // helpers of tests stand outside of `#[test]`

use std::sync::Arc;

use jeton_core::Store;
use jeton_memory::{Settings, Table};
use jeton_testkit::laws::StoreConfig;

fn table(config: StoreConfig) -> Arc<dyn Store> {
    let settings = Settings {
        max_keys: config.max_keys,
        ..Settings::default()
    };
    Arc::new(Table::new(&settings).unwrap())
}

jeton_testkit::store_laws!(table);
