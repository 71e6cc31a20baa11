//! What requests show of a misconfiguration, said once each.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use http::request::Parts;
use jeton::policy::{KeyPart, OneAddress, Policy, RuntimeWarning};
use jeton::wire::client_ip::{Client, Origin};

/// Looks at how clients were found, and logs what is odd about it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// A bit for each warning that was said.
    said: AtomicU8,
    one_address: Mutex<OneAddress>,
}

impl Watch {
    /// Takes note of the client of one request.
    pub(super) fn saw(&self, client: &Client, policy: &Policy, head: &Parts) {
        match (client.origin, client.address) {
            (_, None) => self.no_address(policy),
            (Origin::HeaderNotInUse, Some(address)) => {
                self.say(RuntimeWarning::HeaderNotRead);
                self.crowd(address, policy, head);
            }
            (Origin::PeerNotTrusted, Some(address)) => self.crowd(address, policy, head),
            _ => {}
        }
    }

    fn no_address(&self, policy: &Policy) {
        if self.was_said(RuntimeWarning::NoClientAddress) {
            return;
        }
        let by_address = |part: &KeyPart| matches!(part, KeyPart::ClientIp(_));
        let mut keys = policy.rules().iter().map(|rule| &rule.rule().key);
        if keys.any(|key| key.iter().any(by_address)) {
            self.say(RuntimeWarning::NoClientAddress);
        }
    }

    fn crowd(&self, address: IpAddr, policy: &Policy, head: &Parts) {
        if self.was_said(RuntimeWarning::OneAddress) {
            return;
        }
        let header = policy.settings().client_ip.finder.source.header();
        let Some(named) = head.headers.get(header) else {
            return;
        };
        let (warning, settled) = {
            let mut watch = self
                .one_address
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            (watch.saw(address, named.as_bytes()), watch.is_settled())
        };
        match warning {
            Some(warning) => self.say(warning),
            // Several addresses are not one: nothing is left to say.
            None if settled => {
                self.note(RuntimeWarning::OneAddress);
            }
            None => {}
        }
    }

    fn say(&self, warning: RuntimeWarning) {
        if !self.note(warning) {
            tracing::warn!(code = warning.code().id(), "{warning}");
        }
    }

    /// Whether it had been noted before.
    fn note(&self, warning: RuntimeWarning) -> bool {
        self.was_said(warning) || self.said.fetch_or(bit(warning), Relaxed) & bit(warning) != 0
    }

    fn was_said(&self, warning: RuntimeWarning) -> bool {
        self.said.load(Relaxed) & bit(warning) != 0
    }
}

fn bit(warning: RuntimeWarning) -> u8 {
    RuntimeWarning::ALL
        .iter()
        .take_while(|other| **other != warning)
        .fold(1, |bit: u8, _| bit.rotate_left(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_has_a_bit_of_its_own() {
        let bits: Vec<u8> = RuntimeWarning::ALL.into_iter().map(bit).collect();
        assert!(bits.iter().all(|bit| bit.is_power_of_two()));
        let all = bits.iter().fold(0, |all, bit| all | bit);
        assert_eq!(all.count_ones() as usize, bits.len());
    }

    #[test]
    fn a_warning_is_noted_once() {
        let watch = Watch::default();
        assert!(!watch.note(RuntimeWarning::OneAddress));
        assert!(watch.note(RuntimeWarning::OneAddress));
        assert!(!watch.was_said(RuntimeWarning::HeaderNotRead));
    }
}
