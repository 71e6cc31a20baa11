//! Keys that a caller names in text: `{"rule": "api", "key": "alice"}`.

use std::fmt;
use std::net::IpAddr;

use jeton_core::Micros;
use jeton_wire::client_ip::AddressKey;

use super::allowed::Allowed;
use super::charge::{Charge, Counter, Source};
use super::encode::{bound, push_address, push_text, push_with};
use super::orders::Orders;
use super::policy::{CompiledRule, Policy};
use super::verdict::DenyReason;
use crate::facts::Facts;
use crate::key::KeyPart;
use crate::matching::Matched;
use crate::request::{Request, normal_host};
use crate::value::push_line;

/// Why texts are no key of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NamedKeyError {
    /// Another number of parts than the rule's key has.
    Parts {
        /// How many texts were given.
        given: usize,
        /// How many parts the key has.
        wanted: usize,
    },
}

impl fmt::Display for NamedKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Parts { given, wanted } = self;
        let plural = if *wanted == 1 { "" } else { "s" };
        write!(
            f,
            "the key of this rule has {wanted} part{plural}, not {given}"
        )?;
        if *wanted > 1 {
            f.write_str("; write an array of texts")
        } else {
            Ok(())
        }
    }
}

impl std::error::Error for NamedKeyError {}

/// What became of a charge that a caller names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Named {
    /// It was handed over, and the one of the terms on trial after it.
    Charged,
    /// Nothing counts: the rule, the plan or the override is `"unlimited"`.
    Unlimited,
    /// A rule with a vote refuses whatever has been used.
    Denied(DenyReason),
    /// A rule without a vote would: to be counted only.
    ShadowDenied(DenyReason),
    /// An operator blocks the key; `None`: until somebody lifts it.
    BlockedUntil(Option<Micros>),
    /// The rule has no plan of that name. Nothing is charged.
    UnknownPlan,
}

impl Policy {
    /// The charge that a caller names by rule, plan and key ([`CompiledRule::named_key`] writes
    /// keys), as a request would be charged that came to this rule; its trial comes after it.
    pub fn name_charge<'a>(
        &'a self,
        orders: &'a Orders,
        now: Micros,
        rule: usize,
        plan: Option<&str>,
        key: &'a [u8],
        out: &mut impl FnMut(Charge<'a>),
    ) -> Named {
        let Some(compiled) = self.rules().get(rule) else {
            return Named::Unlimited;
        };
        let plan = match plan.map(|name| compiled.plan(name.as_bytes())) {
            None => None,
            Some(None) => return Named::UnknownPlan,
            Some(found) => found,
        };
        let mode = orders.mode(rule).unwrap_or(compiled.mode());
        let of_key = orders.of_key(rule, key);
        let denied = if mode.has_vote() {
            Named::Denied
        } else {
            Named::ShadowDenied
        };
        match of_key.and_then(|set| set.blocked(now)) {
            Some(until) if mode.has_vote() => return Named::BlockedUntil(until),
            Some(_) => return Named::ShadowDenied(DenyReason::Block),
            None => {}
        }
        let altered = of_key.and_then(|set| set.altered(now));
        let of_plan = plan.and_then(|plan| compiled.plan_allowed(plan));
        let (allowed, reason) = match (altered, of_plan) {
            (Some(altered), _) => (&altered.allowed, DenyReason::Override),
            (None, Some(allowed)) => (allowed, DenyReason::Plan),
            (None, None) => (compiled.allowed(), DenyReason::Word),
        };
        let quota = match allowed {
            Allowed::Unlimited => return Named::Unlimited,
            Allowed::Deny => return denied(reason),
            Allowed::Quota(quota) => quota,
        };
        let own = compiled.charge(Source {
            rule,
            counter: Counter::Requests,
            key,
            quota,
            mode,
            cost: compiled.default_cost(),
            plan: plan
                .filter(|_| altered.is_none())
                .and_then(|plan| compiled.plan_name(plan)),
            overridden: altered.is_some(),
        });
        out(own);
        self.trial(&own).into_iter().for_each(out);
        Named::Charged
    }
}

impl CompiledRule {
    /// Appends the key that a caller names, one text per part, in the form that a door would give
    /// it: addresses are cut to their prefix, hosts, paths and credentials made normal. A text that
    /// is no address stands for itself. `global` has one counter, whatever it is called.
    ///
    /// # Errors
    /// [`NamedKeyError`] for another number of texts than parts; then nothing is appended.
    pub fn named_key(&self, texts: &[&str], out: &mut Vec<u8>) -> Result<(), NamedKeyError> {
        let parts = &self.rule().key;
        let start = out.len();
        match parts.as_slice() {
            [] | [KeyPart::Global] if texts.len() <= 1 => return Ok(()),
            _ if texts.len() == parts.len() => {}
            _ => {
                return Err(NamedKeyError::Parts {
                    given: texts.len(),
                    wanted: parts.len(),
                });
            }
        }
        for (part, text) in parts.iter().zip(texts) {
            self.push_named(part, text, out);
        }
        bound(out, start);
        Ok(())
    }

    /// The first text that is meant as a client's address and is none: a network, a slip of the
    /// fingers. No request has such a key.
    pub fn mistaken_address<'t>(&self, texts: &[&'t str]) -> Option<&'t str> {
        let prefix = self.lens().prefix;
        let looks_like_one = |text: &str| {
            let address = |byte: u8| byte.is_ascii_hexdigit() || b".:/".contains(&byte);
            text.contains(['.', ':', '/']) && text.bytes().all(address)
        };
        let parts = self.rule().key.iter().zip(texts);
        let mut of_clients = parts.filter(|(part, _)| matches!(part, KeyPart::ClientIp(_)));
        let mistaken =
            |text: &str| looks_like_one(text) && AddressKey::parse(text, prefix).is_none();
        of_clients.find_map(|(_, text)| mistaken(text).then_some(*text))
    }

    fn push_named(&self, part: &KeyPart, text: &str, out: &mut Vec<u8>) {
        let lens = self.lens();
        match part {
            KeyPart::ClientIp(own) => match AddressKey::parse(text, own.unwrap_or(lens.prefix)) {
                Some(address) => push_address(address.network(), out),
                None => push_text(text.as_bytes(), out),
            },
            KeyPart::Host => push_text(normal_host(text).as_bytes(), out),
            KeyPart::Header(name) => {
                push_with(out, |out| {
                    push_line(name, text.as_bytes(), out);
                    true
                });
            }
            KeyPart::Path if text.starts_with('/') => {
                let facts = PathOnly(text);
                let request = Request::new(&facts);
                let matched = self.rule().matches.path(&request);
                let matched = matched.unwrap_or(Matched::EVERY);
                let path = matched.path(&request, lens.match_case);
                push_text(path.unwrap_or(text).as_bytes(), out);
            }
            _ => push_text(text.as_bytes(), out),
        }
    }
}

/// Facts of which only the path is known.
struct PathOnly<'a>(&'a str);

impl Facts for PathOnly<'_> {
    fn client_ip(&self) -> Option<IpAddr> {
        None
    }

    fn method(&self) -> Option<&str> {
        None
    }

    fn host(&self) -> Option<&str> {
        None
    }

    fn path(&self) -> Option<&str> {
        Some(self.0)
    }

    fn query(&self) -> Option<&str> {
        None
    }

    fn header(&self, _: &str, _: &mut dyn FnMut(&[u8])) {}
}
