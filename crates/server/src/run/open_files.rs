//! How many connections the process's limit of open files has room for.

use jeton::policy::{DoorLimits, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For listeners, signals, event queues, name lookups.
const OWN_FILES: u64 = 16;

/// Calls to the API get through whatever the other doors are busy with.
const LEAST_API: u64 = 16;

/// Who left the default asked for what there is room for. Less than this is worth a word even so.
const USUAL: u32 = 1000;

/// A client's connection and the upstream's.
const FILES_PER_CLIENT: u64 = 2;

/// Connections of each door.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Connections {
    pub(super) proxy: u32,
    pub(super) api: u32,
    pub(super) resp: u32,
    pub(super) rls: u32,
}

impl Connections {
    /// What a policy asks for.
    pub(super) fn wanted(settings: &Settings) -> Self {
        let most = |limits: Option<DoorLimits>| limits.map_or(0, |limits| limits.max_connections);
        Self {
            proxy: most(settings.proxy.as_ref().map(|door| door.limits)),
            api: most(settings.api.as_ref().map(|door| door.limits)),
            resp: most(settings.resp.as_ref().map(|door| door.limits)),
            rls: most(settings.rls.as_ref().map(|door| door.limits)),
        }
    }

    /// Files for those, and for everything else.
    fn files(&self) -> u64 {
        let ours = u64::from(self.api) + u64::from(self.resp) + u64::from(self.rls);
        u64::from(self.proxy) * FILES_PER_CLIENT + ours + OWN_FILES
    }
}

/// Connections served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) connections: Connections,
    /// The limit of open files that leaves less room than was asked for.
    short: Option<u64>,
}

/// Makes room for what is wanted, as far as the system lets this process.
pub(super) fn make_room(wanted: Connections) -> Room {
    divide(wanted, raise(wanted.files()))
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

/// Divides `limit` files, if there is a limit, among the doors: the API has some that nobody else gets, and
/// of what it leaves none of the others may have more connections than another one lacks.
fn divide(wanted: Connections, limit: Option<u64>) -> Room {
    let Some(files) = limit.filter(|files| *files < wanted.files()) else {
        return Room {
            connections: wanted,
            short: None,
        };
    };
    let share = u32::try_from((files / 8).max(LEAST_API)).unwrap_or(u32::MAX);
    let mut connections = Connections {
        api: wanted.api.min(share),
        ..wanted
    };
    let mut left = files.saturating_sub(OWN_FILES + u64::from(connections.api));
    let mut doors = [
        (&mut connections.proxy, FILES_PER_CLIENT),
        (&mut connections.resp, 1),
        (&mut connections.rls, 1),
    ];
    // Who wants least leaves most to the others.
    doors.sort_by_key(|(wanted, _)| **wanted);
    let used = doors.iter().filter(|(wanted, _)| **wanted > 0);
    let mut files_each: u64 = used.map(|(_, files)| files).sum();
    for (door, files) in doors.into_iter().filter(|(wanted, _)| **wanted > 0) {
        let share = u32::try_from(left / files_each).unwrap_or(u32::MAX);
        *door = share.clamp(1, *door);
        left = left.saturating_sub(u64::from(*door) * files);
        files_each -= files;
    }
    Room {
        connections,
        short: Some(files),
    }
}

/// What is said of a door that gets less than it was told.
struct Door {
    section: &'static str,
    wanted: u32,
    granted: u32,
    default: u32,
    /// What is little even for who asked for nothing.
    little: u32,
    beyond: &'static str,
}

impl Door {
    fn is_worth_a_word(&self) -> bool {
        self.granted < self.wanted && (self.wanted != self.default || self.granted < self.little)
    }
}

impl Room {
    /// Tells when it is less than was asked for.
    pub(super) fn report(&self, wanted: Connections) {
        let Some(limit) = self.short else { return };
        let needed = wanted.files();
        for door in self
            .doors(wanted)
            .iter()
            .filter(|door| door.is_worth_a_word())
        {
            let Door {
                section,
                wanted,
                granted,
                beyond,
                ..
            } = door;
            tracing::warn!(
                "max_connections = {wanted} of {section} does not fit the limit of {limit} open files: \
                 {granted} are served at once, more {beyond}; allow {needed} files (ulimit -n, \
                 LimitNOFILE=) or set max_connections = {granted}"
            );
        }
    }

    fn doors(&self, wanted: Connections) -> [Door; 4] {
        let door = |section, wanted, granted, beyond| Door {
            section,
            wanted,
            granted,
            default: DoorLimits::default().max_connections,
            little: USUAL,
            beyond,
        };
        let own = &self.connections;
        [
            door("[proxy]", wanted.proxy, own.proxy, "wait"),
            Door {
                default: DoorLimits::OF_API.max_connections,
                little: 0,
                ..door("[api]", wanted.api, own.api, "wait")
            },
            door("[resp]", wanted.resp, own.resp, "are turned away"),
            door("[rls]", wanted.rls, own.rls, "are turned away"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn wanted(proxy: u32) -> Connections {
        Connections {
            proxy,
            api: 1024,
            resp: 0,
            rls: 0,
        }
    }

    fn divided(proxy: u32, resp: u32, rls: u32, limit: u64) -> ([u32; 3], bool) {
        let wanted = Connections {
            resp,
            rls,
            ..wanted(proxy)
        };
        let Room { connections, short } = divide(wanted, Some(limit));
        let Connections {
            proxy,
            api,
            resp,
            rls,
        } = connections;
        let files = Connections {
            proxy,
            api,
            resp,
            rls,
        }
        .files();
        assert!(files <= limit, "{files} of {limit}");
        ([proxy, resp, rls], short.is_some())
    }

    #[test]
    fn no_door_has_more_connections_than_another_one_lacks() {
        assert_eq!(divided(0, 10_000, 0, 1 << 20), ([0, 10_000, 0], false));
        assert_eq!(divided(0, 10_000, 0, 1024), ([0, 880, 0], true));
        assert_eq!(divided(10_000, 10_000, 0, 1024), ([293, 294, 0], true));
        assert_eq!(divided(10_000, 10, 0, 1024), ([435, 10, 0], true));
        assert_eq!(divided(10, 10_000, 0, 1024), ([10, 860, 0], true));
        assert_eq!(divided(0, 10_000, 10_000, 1024), ([0, 440, 440], true));
        assert_eq!(divided(10_000, 100, 10_000, 1024), ([260, 100, 260], true));
        let all = ([10_000, 10_000, 10_000], false);
        assert_eq!(divided(10_000, 10_000, 10_000, 1 << 20), all);
    }

    #[test]
    fn what_fits_is_granted() {
        for limit in [None, Some(1 << 20), Some(wanted(10_000).files())] {
            let room = divide(wanted(10_000), limit);
            assert_eq!((room.connections, room.short), (wanted(10_000), None));
        }
    }

    #[test]
    fn what_does_not_fit_leaves_room_for_the_api() {
        for (limit, proxy, api) in [(64, 16, 16), (256, 104, 32), (1024, 440, 128), (16, 1, 16)] {
            let Room { connections, short } = divide(wanted(10_000), Some(limit));
            assert_eq!(
                (connections.proxy, connections.api),
                (proxy, api),
                "{limit}"
            );
            assert_eq!(short, Some(limit));
            assert!(connections.files() <= limit || limit == 16, "{limit}");
        }
        // Without an API its share is nobody's.
        let alone = Connections {
            api: 0,
            ..wanted(10_000)
        };
        assert_eq!(divide(alone, Some(64)).connections.proxy, 24);
    }

    #[test]
    fn a_default_that_nobody_chose_is_not_complained_about() {
        let told = |wanted: Connections, limit| {
            let doors = divide(wanted, Some(limit)).doors(wanted);
            let told = doors.iter().filter(|door| door.is_worth_a_word());
            told.map(|door| door.section).collect::<Vec<_>>()
        };
        assert_eq!(told(wanted(10_000), 20_000), [""; 0]);
        assert_eq!(told(wanted(10_000), 1024), ["[proxy]"]);
        assert_eq!(told(wanted(10_001), 20_000), ["[proxy]"]);
        let both = |rls, api| Connections {
            api,
            rls,
            ..wanted(0)
        };
        assert_eq!(told(both(10_000, 1024), 1024), ["[rls]"]);
        assert_eq!(told(both(10, 2048), 1024), ["[api]"]);
    }
}
