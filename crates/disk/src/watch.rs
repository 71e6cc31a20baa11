//! The thread that keeps the promise about time.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::inner::Inner;

/// Starts the watch.
pub(crate) fn start(inner: &Arc<Inner>, span: Duration) -> std::io::Result<JoinHandle<()>> {
    let inner = Arc::clone(inner);
    thread::Builder::new()
        .name("jeton-disk-watch".into())
        .spawn(move || inner.progress.watch(span))
}
