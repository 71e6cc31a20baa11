//! What the upstream is told about the client: `X-Forwarded-For`, `-Proto`, `-Host`, and `Via`.

use bytes::{BufMut, BytesMut};
use http::header::{self, Entry, HeaderMap, HeaderName, HeaderValue};

use super::admission::Peer;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What does not change during a connection.
pub(super) struct Forwarding {
    /// The peer's address as a field value; none behind a Unix socket.
    address: Option<HeaderValue>,
}

impl Forwarding {
    pub(super) fn new(peer: Peer) -> Self {
        let address = peer
            .ip()
            .and_then(|ip| HeaderValue::try_from(ip.to_string()).ok());
        Self { address }
    }

    /// Writes the fields; those of a peer that `is_trusted` stand, where it sets them.
    pub(super) fn apply(&self, headers: &mut HeaderMap, is_trusted: bool) {
        if let Some(address) = &self.address {
            append_address(headers, address);
        }
        if !(is_trusted && headers.contains_key(&X_FORWARDED_PROTO)) {
            headers.insert(X_FORWARDED_PROTO.clone(), HeaderValue::from_static("http"));
        }
        if is_trusted && headers.contains_key(&X_FORWARDED_HOST) {
            return;
        }
        match headers.get(header::HOST).cloned() {
            Some(host) => headers.insert(X_FORWARDED_HOST.clone(), host),
            None => headers.remove(&X_FORWARDED_HOST),
        };
    }
}

/// Many servers read one line only, so that the list goes on as one.
fn append_address(headers: &mut HeaderMap, address: &HeaderValue) {
    match headers.entry(&X_FORWARDED_FOR) {
        Entry::Vacant(entry) => {
            entry.insert(address.clone());
        }
        Entry::Occupied(mut entry) => {
            let mut joined = BytesMut::new();
            for line in entry.iter() {
                joined.put_slice(line.as_bytes());
                joined.put_slice(b", ");
            }
            joined.put_slice(address.as_bytes());
            if let Ok(value) = HeaderValue::from_maybe_shared(joined.freeze()) {
                entry.insert(value);
            }
        }
    }
}

/// Appends `1.1 pseudonym` to `Via`.
pub(super) fn append_via(headers: &mut HeaderMap, via: Option<&HeaderValue>) {
    if let Some(via) = via {
        headers.append(header::VIA, via.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(is_trusted: bool, fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for &(name, value) in fields {
            headers.append(name, HeaderValue::from_static(value));
        }
        let peer = Peer::tcp("[::ffff:192.0.2.7]:4000".parse().unwrap());
        Forwarding::new(peer).apply(&mut headers, is_trusted);
        headers
    }

    #[test]
    fn a_first_hop_writes_all_three() {
        let headers = applied(false, &[("host", "api.example:8080")]);
        assert_eq!(headers["x-forwarded-for"], "192.0.2.7");
        assert_eq!(headers["x-forwarded-proto"], "http");
        assert_eq!(headers["x-forwarded-host"], "api.example:8080");
    }

    #[test]
    fn the_list_is_joined_and_appended_to() {
        let headers = applied(
            false,
            &[
                ("x-forwarded-for", "198.51.100.1"),
                ("x-forwarded-for", "203.0.113.9, 10.0.0.1"),
            ],
        );
        let lines: Vec<_> = headers.get_all("x-forwarded-for").iter().collect();
        assert_eq!(lines, ["198.51.100.1, 203.0.113.9, 10.0.0.1, 192.0.2.7"]);
    }

    #[test]
    fn scheme_and_host_are_believed_from_trusted_peers_only() {
        let claimed = [
            ("host", "a"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "public"),
        ];
        let headers = applied(true, &claimed);
        assert_eq!(
            (&headers["x-forwarded-proto"], &headers["x-forwarded-host"]),
            (
                &HeaderValue::from_static("https"),
                &HeaderValue::from_static("public")
            )
        );
        let headers = applied(false, &claimed);
        assert_eq!(
            (&headers["x-forwarded-proto"], &headers["x-forwarded-host"]),
            (
                &HeaderValue::from_static("http"),
                &HeaderValue::from_static("a")
            )
        );
    }

    #[test]
    fn behind_a_unix_socket_nothing_is_invented() {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-host", HeaderValue::from_static("claimed"));
        Forwarding::new(Peer::unix()).apply(&mut headers, false);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["x-forwarded-proto"], "http");
    }
}
