//! `[rls]`: the Envoy rate limit service.

use std::path::PathBuf;

use jeton_core::OnDeny;

use super::{DoorLimits, Listen};
use crate::setting::Setting;

/// `[rls]`: the Envoy rate limit service.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a word of the policy"
)]
pub struct Rls {
    /// Where Envoy connects: gRPC, and `/json` over HTTP.
    pub listen: Setting<Listen>,
    /// What it proves itself and knows its callers by; none for plain text.
    pub tls: Option<Tls>,
    /// Whether everybody who reaches it may ask, beyond this machine too.
    pub open: bool,
    /// Connections, and requests decided at once.
    pub limits: DoorLimits,
    /// The folder of files of descriptors.
    pub envoy_config: Option<Setting<String>>,
    /// Whether several files may speak of one domain.
    pub merge_domains: bool,
    /// What a denial costs: nothing, as for every rule; or what is left of that limit, and then also what
    /// limits beside it allow, as the reference service has it.
    pub on_deny: OnDeny,
    /// Whether limits of descriptors never refuse.
    pub shadow_mode: bool,
    /// Whether a request is refused only if all limits of descriptors refuse it.
    pub quota_mode: bool,
    /// Whether answers tell other filters of Envoy what was asked, and the metadata of limits.
    pub dynamic_metadata: bool,
}

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The chain of certificates that it shows.
    pub cert: PathBuf,
    /// The private key to it.
    pub key: PathBuf,
    /// Whose certificates callers have to show; none if everybody may ask.
    pub client_ca: Option<PathBuf>,
}

impl Rls {
    /// A service with every default.
    pub fn new(listen: Setting<Listen>) -> Self {
        Self {
            listen,
            tls: None,
            open: false,
            limits: DoorLimits::default(),
            envoy_config: None,
            merge_domains: false,
            on_deny: OnDeny::Keep,
            shadow_mode: false,
            quota_mode: false,
            dynamic_metadata: false,
        }
    }
}
