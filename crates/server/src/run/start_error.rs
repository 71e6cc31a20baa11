//! Why a policy that loads cannot be served.

use std::fmt;

use crate::proxy::{BindError, UpstreamError};
use crate::rls::{self, TlsError};
use crate::store::OpenError;

/// Why a policy that loads cannot be served; says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It has no door.
    NothingToServe,
    /// The upstream cannot be served.
    Upstream(UpstreamError),
    /// The store can never decide.
    Store(OpenError),
    /// An address cannot be had.
    Bind(BindError),
    /// What the door for Envoy shows or asks for is not there.
    Tls(TlsError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToServe => f.write_str(
                "the policy names nothing to serve; add [proxy] with `listen` and `upstream`, or [api], \
                 [rls] or [resp] with `listen`",
            ),
            Self::Upstream(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Bind(error) => error.fmt(f),
            Self::Tls(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NothingToServe => None,
            Self::Upstream(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Bind(error) => Some(error),
            Self::Tls(error) => Some(error),
        }
    }
}

impl From<OpenError> for StartError {
    fn from(error: OpenError) -> Self {
        Self::Store(error)
    }
}

impl From<BindError> for StartError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}

impl From<rls::OpenError> for StartError {
    fn from(error: rls::OpenError) -> Self {
        match error {
            rls::OpenError::Bind(error) => Self::Bind(error),
            rls::OpenError::Tls(error) => Self::Tls(error),
        }
    }
}
