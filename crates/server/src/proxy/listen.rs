//! Addresses to listen on, and what can go wrong with them.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tokio::net::{TcpListener, UnixListener};

/// `address:port`, or `unix:/path` for a Unix socket.
///
/// ```
/// use jeton_server::proxy::Address;
///
/// assert_eq!("127.0.0.1:0".parse::<Address>()?.to_string(), "127.0.0.1:0");
/// assert_eq!("unix:/run/jeton.sock".parse::<Address>()?.to_string(), "unix:/run/jeton.sock");
/// # Ok::<(), jeton_server::proxy::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP socket; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// Text that is no [`Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is no address to listen on; write one like 127.0.0.1:8080, [::]:8080 or \
             unix:/run/jeton.sock",
            self.0
        )
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.strip_prefix("unix:") {
            Some(path) if path.starts_with('/') => Ok(Self::Unix(path.into())),
            Some(_) => Err(AddressError(text.to_owned())),
            None => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| AddressError(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Why the proxy cannot listen; names the address and what to do.
#[derive(Debug)]
pub struct BindError {
    address: Address,
    source: io::Error,
}

impl BindError {
    /// The address that was asked for.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether somebody else listens there.
    pub fn is_in_use(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, source } = self;
        write!(f, "cannot listen on {address}: ")?;
        match source.kind() {
            io::ErrorKind::AddrInUse => f.write_str(
                "it is in use; stop the program that listens there, or choose another with \
                 `listen`",
            ),
            io::ErrorKind::PermissionDenied => f.write_str(
                "not permitted; choose a port from 1024 up or a folder you may write to",
            ),
            io::ErrorKind::AddrNotAvailable => f.write_str(
                "this machine has no such address; use one of its own, or 0.0.0.0 for all",
            ),
            io::ErrorKind::NotFound => f.write_str("its folder does not exist; create it first"),
            io::ErrorKind::AlreadyExists => {
                f.write_str("a file that is not a socket is in its place; move it away")
            }
            _ => source.fmt(f),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        _file: SocketFile,
    },
}

/// Removes the socket's file when the listener goes.
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::debug!(%error, path = %self.0.display(), "socket file not removed");
        }
    }
}

/// Opens the listener; gives it with the address it got.
pub(crate) fn open(address: &Address) -> Result<(Listener, Address), BindError> {
    let opened = match address {
        Address::Tcp(address) => open_tcp(*address),
        Address::Unix(path) => open_unix(path),
    };
    opened.map_err(|source| BindError {
        address: address.clone(),
        source,
    })
}

fn open_tcp(address: SocketAddr) -> io::Result<(Listener, Address)> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    Ok((
        Listener::Tcp(TcpListener::from_std(listener)?),
        Address::Tcp(bound),
    ))
}

fn open_unix(path: &Path) -> io::Result<(Listener, Address)> {
    clear_stale_socket(path)?;
    let listener = UnixListener::bind(path)?;
    Ok((
        Listener::Unix {
            listener,
            _file: SocketFile(path.to_owned()),
        },
        Address::Unix(path.to_owned()),
    ))
}

/// A crashed process leaves its file behind: nobody answers there, so it may be replaced.
fn clear_stale_socket(path: &Path) -> io::Result<()> {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_none_are_refused_with_an_example() {
        for text in [
            "",
            "8080",
            ":8080",
            "localhost",
            "unix:",
            "unix:relative",
            "1.2.3.4:99999",
        ] {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains("127.0.0.1:8080"), "{error}");
        }
    }
}
