//! Why a request would pass, or not: charges nothing.

use std::hash::{BuildHasher, Hasher, RandomState};

use jeton_policy::{Facts, Fingerprints, Secret, StoreKind};

use super::Gate;
use crate::{Answered, Verb};

/// Why a request would pass, or not.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// What each rule of the policy makes of the request.
    pub policy: jeton_policy::Explained,
    /// What it would be answered now: the present state of every counter that it would be charged
    /// to.
    pub answered: Answered,
}

impl Gate {
    /// Why a request would pass now, or not. Charges nothing, creates no key, touches no meter.
    pub fn explain(&self, facts: &dyn Facts) -> impl Future<Output = Explained> + Send + use<> {
        let live = self.0.live.load_full();
        let now = self.0.clock.now();
        let fingerprints = &self.0.fingerprints;
        let policy = live.policy.explain(facts, &live.orders, now, fingerprints);
        let check = Verb::Check;
        let deciding = self.ask_under(&live, facts, false, |live, charges, reading, answers| {
            let charges = charges.map(|charge| (charge, charge.cost)).collect();
            self.carry_out(live, charges, check, reading, answers)
        });
        async move {
            Explained {
                policy,
                answered: deciding.wait().await,
            }
        }
    }
}

/// What a secret is for, so that it does not stand for two things.
const FINGERPRINTS: &[u8] = b"jeton fingerprints\0";

/// Nodes that share a secret show one key alike, so that it can be followed from node to node.
pub(super) fn fingerprints(store: &StoreKind) -> Fingerprints {
    let shared: Option<&Secret> = match store {
        StoreKind::Redis(redis) => redis.key_secret.as_ref(),
        _ => None,
    };
    match shared {
        Some(secret) => Fingerprints::new(&[FINGERPRINTS, secret.expose().as_bytes()].concat()),
        None => Fingerprints::new(&random()),
    }
}

/// What the standard library seeds its own hash maps with.
fn random() -> [u8; 16] {
    let half = || RandomState::new().build_hasher().finish().to_le_bytes();
    let mut bytes = [0; 16];
    let halves = [half(), half()].into_iter().flatten();
    bytes
        .iter_mut()
        .zip(halves)
        .for_each(|(to, from)| *to = from);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_policy::Redis;

    fn shown(key_secret: Option<&str>) -> String {
        let mut redis = Redis::new(Secret::new("redis://127.0.0.1".to_owned()));
        redis.key_secret = key_secret.map(|secret| Secret::new(secret.to_owned()));
        fingerprints(&StoreKind::Redis(redis)).of(b"k").to_string()
    }

    #[test]
    fn nodes_with_one_secret_show_a_key_alike_and_others_do_not() {
        // printf 'k' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf 'jeton fingerprints\0pepper' | sha256sum)
        assert_eq!(shown(Some("pepper")), "#98b44f37");
        assert_ne!(shown(Some("pepper")), shown(Some("salt")));
        // By chance alike once in 2^32 runs.
        assert_ne!(shown(None), shown(None));
    }
}
