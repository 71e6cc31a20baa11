//! What a door knows of a request.

use std::net::IpAddr;

/// What a door knows of a request. What it does not know is `None`, which matches no `match` and
/// is a missing key part.
///
/// Values are handed over as they were received: normal forms are made here, once per request,
/// so that every door counts alike.
pub trait Facts {
    /// Who the client is, already found through `[client_ip]`.
    fn client_ip(&self) -> Option<IpAddr>;

    /// The method, such as `GET`.
    fn method(&self) -> Option<&str>;

    /// The host as the client named it (`Host` or `:authority`), with or without port.
    fn host(&self) -> Option<&str>;

    /// The path as it was received. A query in it is ignored.
    fn path(&self) -> Option<&str>;

    /// The query, without its question mark.
    fn query(&self) -> Option<&str>;

    /// Hands each line of a header field to `each`, in the order received. `name` is in lower
    /// case.
    fn header(&self, name: &str, each: &mut dyn FnMut(&[u8]));

    /// The domain of a request to the Envoy rate limit service.
    fn domain(&self) -> Option<&str> {
        None
    }

    /// A fact that has a name only: an entry of an Envoy descriptor, a field of a request to the
    /// decision API.
    fn descriptor(&self, name: &str) -> Option<&str> {
        let _ = name;
        None
    }
}
