//! Where a policy is served, and to whom, in words.

use serde::Serialize;

use crate::compiled::Policy;
use crate::envoy::Descriptors;
use crate::settings::{Api, DoorLimits, Listen, Proxy, Resp, Rls};
use crate::units::grouped;

/// A door in words.
///
/// ```
/// use jeton_policy::{DoorWords, NoReferences, Policy, Source};
/// let text = "[rls]\nlisten = \"127.0.0.1:8081\"\n";
/// let policy = Policy::load(&Source::new("jeton.toml", text), &NoReferences)?.policy;
/// let doors = DoorWords::all(&policy);
/// assert_eq!((doors[0].door, &doors[0].listen[..]), ("rls", "127.0.0.1:8081"));
/// assert!(doors[0].meaning.starts_with("Envoy at 127.0.0.1:8081, open to this machine"));
/// # Ok::<(), jeton_policy::Report>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DoorWords {
    /// The section: `proxy`, `api`, `rls` or `resp`.
    pub door: &'static str,
    /// Where it listens.
    pub listen: String,
    /// Who finds what there.
    pub meaning: String,
}

impl DoorWords {
    /// The doors of a policy.
    pub fn all(policy: &Policy) -> Vec<Self> {
        let settings = policy.settings();
        let new = |door, listen: String, meaning| Self {
            door,
            listen,
            meaning,
        };
        let proxy = settings.proxy.as_ref();
        let proxy = proxy.map(|door| new("proxy", door.listen.to_string(), of_proxy(door)));
        let api = settings.api.as_ref();
        let api = api.map(|door| new("api", door.listen.to_string(), of_api(door)));
        let rls = settings.rls.as_ref().map(|door| {
            let meaning = of_rls(door, policy.descriptors());
            new("rls", door.listen.to_string(), meaning)
        });
        let resp = settings.resp.as_ref();
        let resp = resp.map(|door| new("resp", door.listen.to_string(), of_resp(door)));
        [proxy, api, rls, resp].into_iter().flatten().collect()
    }
}

fn of_proxy(proxy: &Proxy) -> String {
    format!(
        "clients at {}, in front of {}",
        proxy.listen, proxy.upstream
    )
}

fn of_api(api: &Api) -> String {
    let who = match (&api.token, &api.admin_token) {
        (None, None) => "open to this machine",
        (Some(_), None) => "for callers with the token",
        (None, Some(_)) => "open to this machine, orders for operators",
        (Some(_), Some(_)) => "for callers with the token, orders for operators",
    };
    format!("callers of the API at {}, {who}", api.listen)
}

/// What Envoy finds.
fn of_rls(rls: &Rls, descriptors: &Descriptors) -> String {
    let is_beyond = match rls.listen.get() {
        Listen::Tcp(address) => !address.ip().to_canonical().is_loopback(),
        Listen::Unix(_) => false,
    };
    let client_ca = rls.tls.as_ref().and_then(|tls| tls.client_ca.as_ref());
    let who = match client_ca {
        Some(ca) => format!("for callers with a certificate of {}", ca.display()),
        None if is_beyond => {
            "open: everybody who reaches it may ask, and spend what clients have left".to_owned()
        }
        None => "open to this machine".to_owned(),
    };
    let by_tls = if rls.tls.is_some() { " by TLS" } else { "" };
    let counted = |count: usize, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {what}{plural}", grouped(count as u64))
    };
    let files = match &rls.envoy_config {
        None => "no files of descriptors".to_owned(),
        Some(folder) => format!(
            "{} in {folder}, with {} in {}",
            counted(descriptors.files(), "file"),
            counted(descriptors.limits().len(), "limit"),
            counted(descriptors.domains(), "domain")
        ),
    };
    let limits = of_limits(rls.limits);
    format!("Envoy at {}{by_tls}, {who}; {files}; {limits}", rls.listen)
}

/// What Redis clients find.
fn of_resp(resp: &Resp) -> String {
    let who = match (&resp.token, &resp.admin_token) {
        (None, None) => "open to this machine",
        (Some(_), None) => "for clients with the token",
        (None, Some(_)) => "open to this machine, resets for operators",
        (Some(_), Some(_)) => "for clients with the token, resets for operators",
    };
    let limits = of_limits(resp.limits);
    format!("Redis clients at {}, {who}; {limits}", resp.listen)
}

fn of_limits(limits: DoorLimits) -> String {
    let DoorLimits {
        max_connections,
        max_in_flight,
    } = limits;
    format!("at most {max_connections} connections, {max_in_flight} decisions at once")
}
