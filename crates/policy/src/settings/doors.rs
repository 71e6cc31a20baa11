//! Doors for clients of other systems.

use std::time::Duration;

use crate::Setting;
use crate::secret::Secret;
use crate::settings::Listen;

/// How much a door does at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorLimits {
    /// Connections held at once. Default 10 000, of `[api]` 1024.
    pub max_connections: u32,
    /// Decisions that may be out at once; the outage rule answers those beyond. Default 10 000.
    pub max_in_flight: u32,
}

impl DoorLimits {
    pub(crate) const DEFAULT: Self = Self {
        max_connections: 10_000,
        max_in_flight: 10_000,
    };

    /// The defaults of the API, whose callers are few.
    pub const OF_API: Self = Self {
        max_connections: 1024,
        ..Self::DEFAULT
    };
}

impl Default for DoorLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// `[resp]`: decisions for Redis clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resp {
    /// Where clients connect.
    pub listen: Setting<Listen>,
    /// The password of clients; none on loopback only.
    pub token: Option<Secret>,
    /// The password of operators, who may reset.
    pub admin_token: Option<Secret>,
    /// How much it does at once.
    pub limits: DoorLimits,
    /// How long a connection may stand unused. Default 5 min.
    pub idle_timeout: Duration,
}

impl Resp {
    /// A door with the default bounds.
    pub const fn new(listen: Setting<Listen>) -> Self {
        Self {
            listen,
            token: None,
            admin_token: None,
            limits: DoorLimits::DEFAULT,
            idle_timeout: Duration::from_secs(300),
        }
    }
}
