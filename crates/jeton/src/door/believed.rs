//! Fields that a trusted proxy writes for us, and one that we write for the service.

use std::net::IpAddr;

use http::request::Parts;
use http::{HeaderName, HeaderValue};
use jeton_policy::Policy;
use jeton_wire::client_ip::Source;

use crate::Answered;

/// What the service is told of rules in mode `mark` that would have refused: their names, by comma.
pub const LIMITED: HeaderName = HeaderName::from_static("x-jeton-limited");

/// Takes out of a head the fields that name a plan or a cost ([`Policy::believed_headers`]), unless
/// `peer` is one whose words about clients `[client_ip]` believes.
pub fn disbelieve(policy: &Policy, head: &mut Parts, peer: Option<IpAddr>) {
    let finder = &policy.settings().client_ip.finder;
    if finder.source != Source::None && finder.trust.believes(peer) {
        return;
    }
    for name in policy.believed_headers() {
        head.headers.remove(name);
    }
}

/// Tells the service which rules in mode `mark` would have refused this request, and takes out
/// what anybody else says of that.
pub fn mark(answered: &Answered, head: &mut Parts) {
    head.headers.remove(LIMITED);
    let mut names = answered.marked();
    let Some(first) = names.next() else {
        return;
    };
    let list = names.fold(first.to_owned(), |list, name| list + ", " + name);
    // Names of rules are printable ASCII.
    if let Ok(list) = HeaderValue::from_str(&list) {
        head.headers.insert(LIMITED, list);
    }
}
