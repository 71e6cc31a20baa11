//! Jeton policy files: read, checked, compiled to a table of rules.
//!
//! A policy passes three stages. *Raw*: the file as it is written, every word with its place.
//! *Checked*: what it means; every mistake becomes a [`Diagnostic`] with file, line, column, what
//! is wrong and the fix, all of them in one run. *Compiled*: a [`Policy`] that tells for one
//! request, from the [`Facts`] a door knows, which rules speak of it and what they charge.
//!
//! ```
//! use jeton_policy::{NoReferences, Policy, Source};
//!
//! let source = Source::new("jeton.toml", "[proxy]\nlisten = \":8080\"\n");
//! let report = Policy::load(&source, &NoReferences).unwrap_err();
//! assert!(report.to_string().starts_with("error[E004]: [proxy] needs `upstream`"));
//! ```
//!
//! This crate must **not** know: stores, sockets, HTTP libraries, the clock, the environment and
//! the file system ([`Resolve`] is handed in). Only `raw/toml.rs` knows the TOML library, behind
//! the feature `toml`. Nothing in it decides whether a request passes: it says what to charge.

#![forbid(unsafe_code)]
// Without a reader of files, nobody enters the stages that files pass through.
#![cfg_attr(not(feature = "toml"), allow(dead_code, unused_imports))]

mod alternative;
mod checked;
mod compiled;
mod diagnostic;
mod diff;
mod envoy;
mod explain;
mod facts;
mod fingerprint;
mod flags;
mod key;
mod language;
#[cfg(feature = "toml")]
mod load;
mod matching;
mod orders;
mod pattern;
mod printable;
mod raw;
mod redis_url;
mod request;
mod rule;
mod runtime;
#[cfg(feature = "toml")]
mod schema;
mod secret;
mod setting;
mod settings;
mod sharing;
mod source;
#[cfg(test)]
mod testing;
mod units;
mod value;
mod words;

pub use alternative::Alternative;
pub use compiled::{
    BROUGHT, Brought, Buffers, Charge, CompiledRule, Counter, Denied, DenyReason, Evaluation,
    Loaded, Named, NamedKeyError, Orders, PREFLIGHT_FACTOR, Policy, Settle, Verdict,
};
pub use diagnostic::{CODES, Code, Diagnostic, Fault, Report, Severity, Short};
pub use diff::{Change, Changes, Difference, RuleChange};
pub use envoy::{
    AskedDescriptor, DescriptorLimit, DescriptorPath, Descriptors, Metadata, OwnLimit, PathEntry,
    Ruling, Rulings, Unit,
};
pub use explain::{
    Condition, CostFrom, Explained, Outcome, PlanFound, Refusal, RuleExplained, ShownPart,
    ShownValue, Speaks, TermsFrom, Unmet,
};
pub use facts::Facts;
pub use fingerprint::{Fingerprint, Fingerprints};
pub use flags::Flags;
pub use key::KeyPart;
pub use matching::Match;
pub use orders::Order;
pub use pattern::Pattern;
pub use raw::{MAX_FILES, MAX_REFERENCE_BYTES, MAX_TEXT_BYTES, NoReferences, Resolve, Unresolved};
pub use rule::{
    Allowance, CostSpec, Missing, Mode, OnFailure, Plans, ResponseCost, Rule, Share, StatusSet,
    Terms,
};
pub use runtime::{OneAddress, RuntimeWarning};
#[cfg(feature = "toml")]
pub use schema::schema;
pub use secret::Secret;
pub use setting::{Origin, Setting};
pub use settings::{
    Answer, Api, ClientIp, Deployment, Disk, DiskSync, DoorLimits, Lease, Listen, Lists, Overflow,
    Proxy, Redis, Resp, Rls, Settings, Store, StoreKind, Tls, Upstream,
};
pub use source::Source;
pub use units::{Pace, parse_duration, parse_rate, parse_size, print_duration};
pub use words::{Apart, DoorWords, LimitWords, PolicyTable, RuleWords, StoreWords, worst_case};
