//! What a limit is counted by where its file wants values of requests in metrics: `value_to_metric` and
//! `detailed_metric`.

use std::fmt::Write;

use super::limit::Descriptor;
use super::tree::DescriptorLimit;

/// One entry of a descriptor, as a metric shows it.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    key: Box<str>,
    shown: Shown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// The key alone.
    Key,
    /// What stands in the file.
    Written(Box<str>),
    /// What the request says.
    Asked,
}

/// How a path of descriptors is counted; none if no value of a request takes part.
pub(super) fn segments(path: &[&Descriptor]) -> Option<Box<[Segment]>> {
    let detailed = path
        .last()
        .and_then(|last| last.limit.as_ref())
        .is_some_and(|limit| limit.detailed);
    let segment = |descriptor: &&Descriptor| {
        let shown = match &descriptor.value {
            Some(value) if descriptor.shares || !value.contains('*') => {
                Shown::Written(value.as_str().into())
            }
            _ if descriptor.value_to_metric || detailed => Shown::Asked,
            Some(value) => Shown::Written(value.as_str().into()),
            None => Shown::Key,
        };
        Segment {
            key: descriptor.key.as_str().into(),
            shown,
        }
    };
    let segments: Box<[Segment]> = path.iter().map(segment).collect();
    let asked = segments.iter().any(|one| one.shown == Shown::Asked);
    asked.then_some(segments)
}

impl DescriptorLimit {
    /// Whether [`DescriptorLimit::metric`] has anything to say.
    pub const fn is_named(&self) -> bool {
        self.metric.is_some()
    }

    /// What a descriptor of this limit is counted by, if its file wants values of requests in metrics:
    /// `domain.key_value.key_value`.
    pub fn metric(&self, domain: &str, entries: &[(&str, &str)]) -> Option<String> {
        let segments = self.metric.as_deref()?;
        let mut name = domain.to_owned();
        for (Segment { key, shown }, (_, value)) in segments.iter().zip(entries) {
            let value = match shown {
                Shown::Key => "",
                Shown::Written(value) => value,
                Shown::Asked => value,
            };
            let joint = if value.is_empty() { "" } else { "_" };
            // Writing to a text does not fail.
            let _ = write!(name, ".{key}{joint}{value}");
        }
        Some(name)
    }
}
