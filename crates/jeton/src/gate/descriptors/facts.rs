//! Descriptors as facts.

use std::net::IpAddr;

use jeton_policy::{Facts, KeyPart, Rule};

use super::{Descriptor, DescriptorRequest};

/// What the descriptors of a request tell rules: all of their entries, the first of a name before
/// others; and the client's address, if Envoy was told to send it.
pub(super) struct DescriptorFacts<'a>(pub(super) &'a DescriptorRequest<'a>);

/// Names under which Envoy sends the client's address, whole or as a network.
const ADDRESSES: [&str; 2] = ["remote_address", "masked_remote_address"];

impl Facts for DescriptorFacts<'_> {
    fn client_ip(&self) -> Option<IpAddr> {
        let mut found = ADDRESSES.iter().filter_map(|name| self.descriptor(name));
        found.find_map(|text| text.split('/').next()?.parse().ok())
    }

    fn method(&self) -> Option<&str> {
        None
    }

    fn host(&self) -> Option<&str> {
        None
    }

    fn path(&self) -> Option<&str> {
        None
    }

    fn query(&self) -> Option<&str> {
        None
    }

    fn header(&self, _: &str, _: &mut dyn FnMut(&[u8])) {}

    fn domain(&self) -> Option<&str> {
        Some(self.0.domain)
    }

    fn descriptor(&self, name: &str) -> Option<&str> {
        let mut entries = self.0.descriptors.iter().flat_map(|one| one.entries);
        entries
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }
}

/// Whether a rule speaks of a descriptor: it has all entries that the rule's key names. A rule that
/// names none speaks of all descriptors.
pub(super) fn speaks_of(rule: &Rule, descriptor: &Descriptor<'_>) -> bool {
    let has = |name: &str| descriptor.entries.iter().any(|(key, _)| *key == name);
    rule.key.iter().all(|part| match part {
        KeyPart::Descriptor(name) => has(name),
        KeyPart::ClientIp(_) => ADDRESSES.into_iter().any(has),
        _ => true,
    })
}
