//! Limits of descriptors as rules: each is one, with a name, a key and a counter as all others have.

use jeton_core::Anchor;

use super::limit::{Descriptor, Limit, Per};
use super::metric::segments;
use super::names::Names;
use super::path::DescriptorPath;
use super::tree::{Descriptors, Telling};
use crate::key::KeyPart;
use crate::rule::{Allowance, Mode, Rule, Terms};
use crate::setting::Setting;

/// The descriptors of one domain.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    pub(crate) name: String,
    pub(crate) descriptors: Vec<Descriptor>,
    /// How many files speak of it.
    pub(crate) files: usize,
}

/// The rule that counts limits which requests bring.
const OWN: &str = "rls:limits of requests";

/// The descriptors of all domains, and their limits as rules, the first of which has the index `first`.
pub(crate) fn compile(domains: &[Domain], first: usize) -> (Descriptors, Vec<Rule>) {
    let mut builder = Builder {
        tree: Descriptors::default(),
        rules: Vec::new(),
        names: Names::of(domains),
        first,
    };
    for domain in domains {
        let branch = builder.branch(&domain.name, &domain.descriptors, &mut Vec::new());
        builder.tree.domain(&domain.name, branch);
        builder.tree.files += domain.files;
    }
    // What it allows is what a request says; what it is called is for metrics and logs.
    builder.tree.own = Some(first + builder.rules.len());
    let own = Rule::new(OWN.to_owned(), vec![KeyPart::Global], Allowance::Unlimited);
    builder.rules.push(own);
    (builder.tree, builder.rules)
}

struct Builder {
    tree: Descriptors,
    rules: Vec<Rule>,
    names: Names,
    first: usize,
}

impl Builder {
    fn branch<'d>(
        &mut self,
        domain: &str,
        descriptors: &'d [Descriptor],
        path: &mut Vec<&'d Descriptor>,
    ) -> usize {
        let branch = self.tree.branch();
        for descriptor in descriptors {
            path.push(descriptor);
            let limit = descriptor.limit.as_ref();
            let limit = limit.map(|limit| self.limit(domain, path, limit));
            let below = &descriptor.descriptors;
            let below = (!below.is_empty()).then(|| self.branch(domain, below, path));
            self.tree.add(branch, descriptor, limit, below);
            path.pop();
        }
        branch
    }

    fn limit(&mut self, domain: &str, path: &[&Descriptor], limit: &Limit) -> usize {
        let allowance = match limit.per {
            Per::Unlimited => Allowance::Unlimited,
            Per::Unit { requests: 0, .. } => Allowance::Deny,
            Per::Unit { requests, unit } => Allowance::Quota(Terms::FixedWindow {
                limit: u64::from(requests),
                window: unit.span(),
                anchor: Anchor::Epoch,
            }),
        };
        let name = self.names.name(domain, path);
        let mut rule = Rule::new(name, key(path), allowance);
        rule.descriptor = Some(DescriptorPath::of(domain, path));
        rule.matches.domains = vec![Setting::literal(domain.to_owned())];
        if let Allowance::Quota(_) = allowance {
            rule.algorithm = Some("fixed-window");
        }
        if limit.shadow {
            rule.mode = Mode::Shadow;
        }
        self.rules.push(rule);
        let index = self.first + self.rules.len() - 1;
        self.tree.limit_of(limit, index, segments(path))
    }
}

/// What tells counters of a limit apart; one counter for all if nothing does.
fn key(path: &[&Descriptor]) -> Vec<KeyPart> {
    let mut parts = Vec::new();
    for descriptor in path {
        let times = match Telling::of(descriptor) {
            Telling::Nothing => 0,
            Telling::Value => 1,
            Telling::Both => 2,
        };
        let part = || KeyPart::Descriptor(descriptor.key.clone());
        parts.extend(std::iter::repeat_with(part).take(times));
    }
    if parts.is_empty() {
        parts.push(KeyPart::Global);
    }
    parts
}
