//! What needs `unsafe`: all of it in this crate stands in here, and a test keeps it so.

pub(crate) mod lock;
pub(crate) mod prefetch;
mod sync;

#[cfg(test)]
mod tests;
