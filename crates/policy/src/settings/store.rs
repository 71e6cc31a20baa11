//! `[store]`: where counters live.

use std::path::PathBuf;
use std::time::Duration;

use jeton_core::{Quota, Span};

use crate::redis_url::RedisUrl;
use crate::rule::{OnFailure, Terms};
use crate::secret::Secret;
use crate::setting::Origin;

/// `[store]`: where counters live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Store {
    /// What kind of store. Default [`StoreKind::Memory`].
    pub kind: StoreKind,
    /// Hard cap on keys. Default 1 000 000.
    pub max_keys: u64,
    /// Hard cap on the bytes of all state. Default 256 MiB.
    pub max_memory: u64,
    /// What happens to new keys when it is full. Default [`Overflow::Share`].
    pub overflow: Overflow,
    /// How long it may take to answer. Default 20 ms.
    pub timeout: Duration,
    /// What becomes of requests it gives no decision about. Default [`OnFailure::Allow`].
    pub on_failure: OnFailure,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            kind: StoreKind::Memory,
            max_keys: 1_000_000,
            max_memory: 256 << 20,
            overflow: Overflow::Share,
            timeout: Duration::from_millis(20),
            on_failure: OnFailure::Allow,
        }
    }
}

impl Store {
    /// The servers that states live on; `None` where they live in the process.
    pub(crate) const fn redis(&self) -> Option<&Redis> {
        match &self.kind {
            StoreKind::Memory => None,
            StoreKind::Redis(redis) => Some(redis),
        }
    }

    /// What processes take ahead of it.
    pub(crate) fn lease(&self) -> Option<Lease> {
        self.redis()?.lease
    }
}

/// What kind of store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreKind {
    /// The memory of the process.
    Memory,
    /// A Redis or Valkey server, shared by all nodes that name the same one.
    Redis(Redis),
}

/// `[store] kind = "redis"`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redis {
    /// Where the server is: `redis://…`, `rediss://…`, `unix://…`, `redis-cluster://…`,
    /// `redis-sentinel://…`. It may hold a password.
    pub url: Secret,
    /// Where that was read: what stands elsewhere is not shown, not even its hosts.
    pub origin: Origin,
    /// With TLS: a file (PEM) with the root by which servers are believed, in the place of the
    /// system's.
    pub tls_root: Option<PathBuf>,
    /// Stands before every key. Two prefixes share nothing.
    pub prefix: String,
    /// Keys of clients stand in the server as a hash keyed with this.
    pub key_secret: Option<Secret>,
    /// For how long at most a denial is remembered, and answered without asking the server.
    pub deny_cache: Option<Duration>,
    /// Units that a process takes ahead.
    pub lease: Option<Lease>,
}

impl Redis {
    /// The server at `url`, asked about everything.
    pub const fn new(url: Secret) -> Self {
        Self {
            url,
            origin: Origin::Literal,
            tls_root: None,
            prefix: String::new(),
            key_secret: None,
            deny_cache: None,
            lease: None,
        }
    }

    /// Which servers the URL names.
    pub fn deployment(&self) -> Deployment {
        RedisUrl::parse(self.url.expose()).map_or(Deployment::One, |url| url.deployment)
    }

    /// Where the server is, in words that may be shown: hosts without user and password, or where
    /// the URL was read.
    ///
    /// ```
    /// use jeton_policy::{Redis, Secret};
    /// let redis = Redis::new(Secret::new("redis-cluster://me:hunter2@a,b:7000".to_owned()));
    /// assert_eq!(redis.place(), "a, b:7000");
    /// ```
    pub fn place(&self) -> String {
        match &self.origin {
            Origin::Literal => RedisUrl::parse(self.url.expose())
                .map_or_else(|_| self.url.to_string(), |url| url.places.join(", ")),
            Origin::Env(name) => format!("what env {name} says"),
            Origin::File(path) => format!("what file {path} says"),
        }
    }
}

/// Which servers act as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deployment {
    /// One server.
    One,
    /// The primary that sentinels name.
    Sentinel,
    /// A cluster: keys live in slots, and slots on several servers.
    Cluster,
}

/// Units that a process takes ahead of a key that is in use, and spends without asking the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// How many at once.
    pub units: u64,
    /// For how long they are kept. Default 1 s.
    pub keep_for: Duration,
}

impl Lease {
    /// No more than this part of a limit is taken ahead, so that one process does not keep the
    /// others waiting for what it may never spend.
    const SHARE_OF_LIMIT: u64 = 4;
    /// The least limit of which anything is taken ahead: of a smaller one, leases would be all
    /// there is.
    pub(crate) const LEAST_LIMIT: u64 = 2 * Self::SHARE_OF_LIMIT;
    /// The last moments of a fixed window, in which nothing of it is spent any more, are half of
    /// this one, which is hardly worth taking ahead of.
    pub(crate) const BRIEF: Span = match Span::from_micros(100_000) {
        Ok(brief) => brief,
        Err(_) => Span::ZERO,
    };

    /// How many units a process takes ahead at once of a key under this quota; 0 for none.
    ///
    /// ```
    /// use std::time::Duration;
    /// use jeton_core::{Quota, Span};
    /// use jeton_policy::Lease;
    /// let lease = Lease { units: 20, keep_for: Duration::from_secs(1) };
    /// let of = |limit| Some(lease.units_of(&Quota::sliding_log(limit, Span::SECOND).ok()?));
    /// assert_eq!([of(5), of(8), of(1_000)], [Some(0), Some(2), Some(20)]);
    /// ```
    pub fn units_of(&self, quota: &Quota) -> u64 {
        let limit = u64::from(quota.limit());
        let is_brief = |window: Span| window <= Self::BRIEF;
        match quota {
            _ if quota.kind().is_held() || limit < Self::LEAST_LIMIT => 0,
            Quota::FixedWindow(_) if quota.window().is_some_and(is_brief) => 0,
            _ => self.units.min(limit / Self::SHARE_OF_LIMIT),
        }
    }

    /// The most units of a key under this quota that a process has ahead at any time. What a log or a
    /// counter lets through depends on it: no more than [`Lease::units_of`]. Elsewhere the next ones
    /// are there before those are spent.
    pub fn most_of(&self, quota: &Quota) -> u64 {
        let units = self.units_of(quota);
        match quota {
            Quota::FixedWindow(_) => (),
            _ if quota.rate().is_some() => (),
            _ => return units,
        }
        u64::from(quota.limit()) / Self::SHARE_OF_LIMIT
    }

    /// [`Lease::units_of`] what a policy says; all terms that pass its checks are quotas.
    pub(crate) fn units_under(&self, terms: &Terms) -> u64 {
        terms.quota().map_or(0, |quota| self.units_of(&quota))
    }
}

/// What happens to new keys when the store is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// They share a coarse estimate.
    Share,
    /// They are denied.
    Deny,
    /// They pass.
    Allow,
}

#[cfg(test)]
mod tests {
    use jeton_core::Anchor;

    use super::*;

    #[test]
    fn small_limits_and_brief_windows_are_not_taken_ahead_of_and_others_in_part() {
        let of = |units, quota: Quota| {
            let keep_for = Duration::from_secs(1);
            Lease { units, keep_for }.units_of(&quota)
        };
        let log = |limit| Quota::sliding_log(limit, Span::SECOND).unwrap();
        assert_eq!([of(1, log(7)), of(1, log(8)), of(20, log(8))], [0, 1, 2]);
        assert_eq!(
            [of(20, log(79)), of(20, log(80)), of(9, log(80))],
            [19, 20, 9]
        );
        let window = |us| {
            let window = Span::from_micros(us).unwrap();
            Quota::fixed_window(100, window, Anchor::Epoch).unwrap()
        };
        assert_eq!([of(20, window(100_000)), of(20, window(100_001))], [0, 20]);
        let held = Quota::concurrency(100, Span::SECOND).unwrap();
        assert_eq!(of(20, held), 0);
    }
}
