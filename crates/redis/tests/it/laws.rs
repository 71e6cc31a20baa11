//! The laws of every store, on each server.

use std::sync::Arc;

use jeton_core::Store;
use jeton_testkit::laws::StoreConfig;
use jeton_testkit::redis_server::Version;

use crate::mirror::store;

fn make(version: Version) -> impl Fn(StoreConfig) -> Arc<dyn Store> {
    // There is no cap: the server's memory is the server's.
    move |_config| Arc::new(store(version.shared()))
}

mod redis_7_0 {
    use super::{Version, make};
    jeton_testkit::store_laws!(make(Version::V7_0));
}

mod redis_8_2 {
    use super::{Version, make};
    jeton_testkit::store_laws!(make(Version::V8_2));
}
