//! What needs `unsafe`: all of it in this crate stands in here, and a test keeps it so.

pub(crate) mod lock;
pub(crate) mod prefetch;
