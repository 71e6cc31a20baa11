//! What a policy says of listeners and upstreams, in the proxy's own terms.

use jeton::policy::{Listen, Proxy};

use super::StartError;
use crate::proxy::{Address, Settings};

/// An address of a policy.
pub fn address_of(listen: &Listen) -> Address {
    match listen {
        Listen::Tcp(address) => Address::Tcp(*address),
        Listen::Unix(path) => Address::Unix(path.clone()),
    }
}

/// The settings for a `[proxy]`.
///
/// # Errors
/// [`StartError::Upstream`] for a URL that the proxy cannot serve.
pub fn proxy_settings(proxy: &Proxy) -> Result<Settings, StartError> {
    let upstream = proxy
        .upstream
        .get()
        .to_string()
        .parse()
        .map_err(StartError::Upstream)?;
    let mut settings = Settings::new(address_of(proxy.listen.get()), upstream);
    let connections = proxy.limits.max_connections;
    settings.limits.connections = usize::try_from(connections).unwrap_or(usize::MAX);
    settings.timeouts.head = proxy.header_timeout;
    settings.timeouts.idle = proxy.idle_timeout;
    settings.timeouts.write = proxy.idle_timeout;
    settings.timeouts.connect = proxy.connect_timeout;
    settings.timeouts.response = proxy.response_timeout;
    Ok(settings)
}
