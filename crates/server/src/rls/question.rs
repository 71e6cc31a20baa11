//! A message, read for the gate.

use jeton::policy::Unit;
use jeton::{Cost, Descriptor, DescriptorRequest, Hits};
use smallvec::SmallVec;

use super::messages::{RateLimitDescriptor, RateLimitRequest};

/// More descriptors, or entries in one, than any filter sends.
const MOST: usize = 64;

/// Why a request cannot be decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    Domain,
    NoDescriptors,
    TooMany,
    Unit,
}

impl Malformed {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Domain => "the rate limit domain must not be empty",
            Self::NoDescriptors => "the list of rate limit descriptors must not be empty",
            Self::TooMany => "more than 64 descriptors, or entries in one of them",
            Self::Unit => "the unit of a limit is none of SECOND, MINUTE, HOUR, DAY, MONTH, YEAR",
        }
    }
}

type Entries<'a> = SmallVec<[(&'a str, &'a str); 16]>;

/// Reads a message, and hands it over.
pub(super) fn read<R>(
    message: &RateLimitRequest,
    then: impl FnOnce(&DescriptorRequest<'_>) -> R,
) -> Result<R, Malformed> {
    let RateLimitRequest {
        domain,
        descriptors,
        hits_addend,
    } = message;
    if domain.is_empty() {
        return Err(Malformed::Domain);
    }
    if descriptors.is_empty() {
        return Err(Malformed::NoDescriptors);
    }
    if descriptors.len() > MOST || descriptors.iter().any(|one| one.entries.len() > MOST) {
        return Err(Malformed::TooMany);
    }
    let entries = descriptors.iter().flat_map(|one| &one.entries);
    let entries: Entries<'_> = entries
        .map(|entry| (entry.key.as_str(), entry.value.as_str()))
        .collect();
    let mut asked: SmallVec<[Descriptor<'_>; 4]> = SmallVec::new();
    let mut rest = entries.as_slice();
    for descriptor in descriptors {
        let (own, behind) = rest.split_at(descriptor.entries.len().min(rest.len()));
        rest = behind;
        asked.push(Descriptor {
            entries: own,
            limit: own_limit(descriptor)?,
            hits: hits(descriptor, *hits_addend),
        });
    }
    Ok(then(&DescriptorRequest {
        domain,
        descriptors: &asked,
        cost: (*hits_addend > 0).then(|| Cost::new(u64::from(*hits_addend))),
    }))
}

fn own_limit(descriptor: &RateLimitDescriptor) -> Result<Option<(u32, Unit)>, Malformed> {
    let Some(limit) = descriptor.limit else {
        return Ok(None);
    };
    // The type of a limit that a request brings has no week (`envoy.type.v3.RateLimitUnit`).
    let unit = Unit::of_number(limit.unit).filter(|unit| *unit != Unit::Week);
    let unit = unit.ok_or(Malformed::Unit)?;
    Ok(Some((limit.requests_per_unit, unit)))
}

/// What a descriptor says of its units; negative ones are given back.
fn hits(descriptor: &RateLimitDescriptor, of_request: u32) -> Option<Hits> {
    let own = descriptor.hits_addend.map(Cost::new);
    if descriptor.is_negative_hits {
        let units = own.unwrap_or(Cost::new(u64::from(of_request.max(1))));
        return Some(Hits::Refund(units));
    }
    own.map(Hits::Take)
}
