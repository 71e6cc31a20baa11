//! Why a policy that loads cannot be served.

use std::fmt;
use std::net::SocketAddr;

use jeton::SettingsError;

use crate::proxy::{BindError, UpstreamError};

/// Why a policy that loads cannot be served; says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It has neither a proxy nor an API.
    NothingToServe,
    /// The API could be reached by everybody.
    OpenApi {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// The upstream cannot be served.
    Upstream(UpstreamError),
    /// The table cannot be made.
    Table(SettingsError),
    /// An address cannot be had.
    Bind(BindError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToServe => f.write_str(
                "the policy names nothing to serve; add [proxy] with `listen` and `upstream`, \
                 [api] with `listen`, or both",
            ),
            Self::OpenApi { address } => write!(
                f,
                "the API would listen on {address}, beyond this machine, where it needs a \
                 `token`; tokens come with a later version, so listen on a loopback address such \
                 as 127.0.0.1:{}",
                address.port()
            ),
            Self::Upstream(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
            Self::Bind(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NothingToServe | Self::OpenApi { .. } => None,
            Self::Upstream(error) => Some(error),
            Self::Table(error) => Some(error),
            Self::Bind(error) => Some(error),
        }
    }
}

impl From<SettingsError> for StartError {
    fn from(error: SettingsError) -> Self {
        Self::Table(error)
    }
}

impl From<BindError> for StartError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}
