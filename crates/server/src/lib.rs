//! The jeton command: proxy, decision API, check and simulate.
