//! The Redis serialization protocol, both versions, without sockets: bytes in, commands out; values in,
//! bytes out.
//!
//! A command is an array of bulk strings, or a line of words (an inline command). What a command may be
//! is bounded ([`MAX_COMMAND`], [`MAX_ARGUMENTS`]), and what goes beyond is refused as soon as it is claimed.
//! Source: redis.io, "Redis serialization protocol specification".

mod inline;
mod mistake;
mod number;
mod read;
mod write;

pub use mistake::Mistake;
pub use number::{natural, whole};
pub use read::{Arguments, Found, MAX_ARGUMENTS, MAX_COMMAND, read};
pub use write::{Version, Writer};
