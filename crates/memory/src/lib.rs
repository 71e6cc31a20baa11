//! The in-process store of Jeton: a bounded table of limiter states.
