//! How many connections the process's limit of open files has room for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use jeton::policy::DoorLimits;

use crate::proxy::Limits;

/// For listeners, signals, event queues, name lookups.
const OWN_FILES: u64 = 16;

/// Calls to the API get through whatever the proxy is busy with.
const LEAST_API: u64 = 16;

/// Connections to the API served at once where the limit allows; more wait in the listen queue.
const MOST_API: u64 = 1024;

/// Who left the default asked for what there is room for. Less than this is worth a word even so.
const USUAL_CLIENTS: usize = 1000;

/// The same of Redis clients.
const USUAL_RESP: u32 = 1000;

/// A client's connection and the upstream's.
const FILES_PER_CLIENT: u64 = 2;

/// Connections that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Clients of the proxy.
    pub(super) proxy: usize,
    /// Redis clients.
    pub(super) resp: u32,
}

/// Connections served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) proxy: usize,
    pub(super) api: u32,
    pub(super) resp: u32,
    /// The limit of open files that leaves less room than was asked for.
    short: Option<u64>,
}

/// Makes room for what is wanted, as far as the system lets this process.
pub(super) fn make_room(wanted: Wanted) -> Room {
    divide(wanted, raise(needed(wanted)))
}

/// Files for those clients and everything else.
fn needed(wanted: Wanted) -> u64 {
    let proxy = u64::try_from(wanted.proxy).unwrap_or(u64::MAX);
    let files = proxy.saturating_mul(FILES_PER_CLIENT);
    files.saturating_add(u64::from(wanted.resp) + OWN_FILES + MOST_API)
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

/// Divides `limit` files, if there is a limit, among API, proxy and Redis clients: of what the API leaves,
/// these have no more than a third where there is a proxy too.
fn divide(wanted: Wanted, limit: Option<u64>) -> Room {
    let files = limit.unwrap_or(u64::MAX);
    let api = (files / 8).clamp(LEAST_API, MOST_API);
    let left = files.saturating_sub(OWN_FILES + api);
    let third = if wanted.proxy == 0 { left } else { left / 3 };
    let resp = u32::try_from(third)
        .unwrap_or(u32::MAX)
        .max(1)
        .min(wanted.resp);
    let left = left.saturating_sub(u64::from(resp)) / FILES_PER_CLIENT;
    let proxy = usize::try_from(left)
        .unwrap_or(usize::MAX)
        .max(1)
        .min(wanted.proxy);
    Room {
        proxy,
        api: u32::try_from(api).unwrap_or(u32::MAX),
        resp,
        short: limit.filter(|_| proxy < wanted.proxy || resp < wanted.resp),
    }
}

impl Room {
    fn is_worth_a_word(&self, wanted: Wanted) -> bool {
        wanted.proxy != Limits::default().connections || self.proxy < USUAL_CLIENTS
    }

    /// Tells when it is less than was asked for.
    pub(super) fn report(&self, wanted: Wanted) {
        let Some(limit) = self.short else { return };
        let needed = needed(wanted);
        let clients = wanted.proxy;
        if self.proxy < clients && self.is_worth_a_word(wanted) {
            tracing::warn!(
                "max_connections = {clients} does not fit the limit of {limit} open files: the \
                 proxy serves {} connections at once, more wait; allow {needed} files (ulimit -n, \
                 LimitNOFILE=) or set max_connections = {}",
                self.proxy,
                self.proxy
            );
        }
        let clients = wanted.resp;
        if self.resp < clients
            && (clients != DoorLimits::default().max_connections || self.resp < USUAL_RESP)
        {
            tracing::warn!(
                "max_connections = {clients} of [resp] does not fit the limit of {limit} open files: \
                 {} are served at once, more are turned away; allow {needed} files (ulimit -n, \
                 LimitNOFILE=) or set max_connections = {}",
                self.resp,
                self.resp
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn wanted(proxy: usize) -> Wanted {
        Wanted { proxy, resp: 0 }
    }

    #[test]
    fn redis_clients_have_what_there_is_or_a_third_of_it() {
        let both = |proxy, resp, limit| {
            let room = divide(Wanted { proxy, resp }, Some(limit));
            (room.proxy, room.resp, room.short.is_some())
        };
        assert_eq!(both(0, 10_000, 1 << 20), (0, 10_000, false));
        assert_eq!(both(0, 10_000, 1024), (0, 880, true));
        assert_eq!(both(10_000, 10_000, 1024), (293, 293, true));
        assert_eq!(both(10_000, 10, 1024), (435, 10, true));
        assert_eq!(both(10_000, 10_000, 1 << 20), (10_000, 10_000, false));
    }

    #[test]
    fn what_fits_is_granted() {
        for limit in [None, Some(1 << 20)] {
            let room = divide(wanted(10_000), limit);
            assert_eq!((room.proxy, room.api, room.short), (10_000, 1024, None));
        }
    }

    #[test]
    fn what_does_not_fit_leaves_room_for_the_api() {
        for (limit, proxy, api) in [(64, 16, 16), (256, 104, 32), (1024, 440, 128), (16, 1, 16)] {
            let room = divide(wanted(10_000), Some(limit));
            assert_eq!((room.proxy, room.api), (proxy, api), "{limit}");
            assert_eq!(room.short, Some(limit));
            let files = OWN_FILES + u64::from(api) + FILES_PER_CLIENT * proxy as u64;
            assert!(files <= limit || limit == 16, "{files} of {limit}");
        }
        assert_eq!(divide(wanted(16), Some(64)).short, None);
    }

    #[test]
    fn a_default_that_nobody_chose_is_not_complained_about() {
        let is_told =
            |clients, limit| divide(wanted(clients), Some(limit)).is_worth_a_word(wanted(clients));
        assert!(!is_told(10_000, 20_000));
        assert!(is_told(10_000, 1024));
        assert!(is_told(10_001, 20_000));
    }
}
