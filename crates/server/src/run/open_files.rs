//! How many connections the process's limit of open files has room for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::proxy::Limits;

/// For listeners, signals, event queues, name lookups.
const OWN_FILES: u64 = 16;

/// Calls to the API get through whatever the proxy is busy with.
const LEAST_API: u64 = 16;

/// Connections to the API served at once where the limit allows; more wait in the listen queue.
const MOST_API: u64 = 1024;

/// Who left the default asked for what there is room for. Less than this is worth a word even so.
const USUAL_CLIENTS: usize = 1000;

/// A client's connection and the upstream's.
const FILES_PER_CLIENT: u64 = 2;

/// Connections served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) proxy: usize,
    pub(super) api: u32,
    /// The limit of open files that leaves less room than was asked for.
    short: Option<u64>,
}

/// Makes room for `clients` of the proxy, as far as the system lets this process.
pub(super) fn make_room(clients: usize) -> Room {
    divide(clients, raise(needed(clients)))
}

/// Files for `clients` of the proxy and everything else.
fn needed(clients: usize) -> u64 {
    let clients = u64::try_from(clients).unwrap_or(u64::MAX);
    let files = clients.saturating_mul(FILES_PER_CLIENT);
    files.saturating_add(OWN_FILES + MOST_API)
}

/// Raises the soft limit of open files to `needed`, as far as the hard limit lets it; gives what
/// holds then, none if it was enough before.
fn raise(needed: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let soft = current.filter(|&soft| soft < needed)?;
    let raised = maximum.map_or(needed, |hard| hard.min(needed));
    let limit = Rlimit {
        current: Some(raised),
        maximum,
    };
    Some(setrlimit(Resource::Nofile, limit).map_or(soft, |()| raised))
}

/// Divides `limit` files, if there is a limit, among API and proxy.
fn divide(clients: usize, limit: Option<u64>) -> Room {
    let files = limit.unwrap_or(u64::MAX);
    let api = (files / 8).clamp(LEAST_API, MOST_API);
    let left = files.saturating_sub(OWN_FILES + api) / FILES_PER_CLIENT;
    let proxy = usize::try_from(left)
        .unwrap_or(usize::MAX)
        .max(1)
        .min(clients);
    Room {
        proxy,
        api: u32::try_from(api).unwrap_or(u32::MAX),
        short: limit.filter(|_| proxy < clients),
    }
}

impl Room {
    fn is_worth_a_word(&self, clients: usize) -> bool {
        clients != Limits::default().connections || self.proxy < USUAL_CLIENTS
    }

    /// Tells when it is less than was asked for.
    pub(super) fn report(&self, clients: usize) {
        if let Some(limit) = self.short.filter(|_| self.is_worth_a_word(clients)) {
            let needed = needed(clients);
            tracing::warn!(
                "max_connections = {clients} does not fit the limit of {limit} open files: the \
                 proxy serves {} connections at once, more wait; allow {needed} files (ulimit -n, \
                 LimitNOFILE=) or set max_connections = {}",
                self.proxy,
                self.proxy
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_granted() {
        for limit in [None, Some(1 << 20)] {
            let room = divide(10_000, limit);
            assert_eq!((room.proxy, room.api, room.short), (10_000, 1024, None));
        }
    }

    #[test]
    fn what_does_not_fit_leaves_room_for_the_api() {
        for (limit, proxy, api) in [(64, 16, 16), (256, 104, 32), (1024, 440, 128), (16, 1, 16)] {
            let room = divide(10_000, Some(limit));
            assert_eq!((room.proxy, room.api), (proxy, api), "{limit}");
            assert_eq!(room.short, Some(limit));
            let files = OWN_FILES + u64::from(api) + FILES_PER_CLIENT * proxy as u64;
            assert!(files <= limit || limit == 16, "{files} of {limit}");
        }
        assert_eq!(divide(16, Some(64)).short, None);
    }

    #[test]
    fn a_default_that_nobody_chose_is_not_complained_about() {
        let is_told = |clients, limit| divide(clients, Some(limit)).is_worth_a_word(clients);
        assert!(!is_told(10_000, 20_000));
        assert!(is_told(10_000, 1024));
        assert!(is_told(10_001, 20_000));
    }
}
