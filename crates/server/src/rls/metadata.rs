//! What other filters of Envoy are told: what was asked, and the metadata of limits that let it pass.

use std::collections::HashMap;

use jeton::policy::{Metadata, Unit};
use jeton::{Ruled, Standing};

use super::messages::{Kind, ListValue, RateLimitDescriptor, RateLimitRequest, Struct, Value};

pub(super) fn of(request: &RateLimitRequest, ruled: &Ruled) -> Struct {
    let mut fields = HashMap::from([("domain".to_owned(), text(&request.domain))]);
    let descriptors = request.descriptors.iter().map(descriptor);
    fields.insert("descriptors".to_owned(), list(descriptors));
    if request.hits_addend > 0 {
        fields.insert("hitsAddend".to_owned(), number(request.hits_addend.into()));
    }
    if let Some(metadata) = passed(ruled) {
        fields.insert("metadata".to_owned(), value(&metadata));
    }
    Struct { fields }
}

/// The metadata of limits that let their descriptors pass, together.
fn passed(ruled: &Ruled) -> Option<Metadata> {
    let limits = ruled.answered.policy().descriptors().limits();
    let counted = |standing: &Standing| matches!(standing, Standing::Decided { .. });
    let passed = ruled.descriptors.iter();
    let passed = passed.filter(|one| !one.over && counted(&one.standing));
    let own = passed.filter_map(|one| limits.get(one.limit?)?.metadata.as_ref());
    let mut all = Metadata::Map(Vec::new());
    own.for_each(|metadata| all.merge(metadata));
    let is_empty = matches!(&all, Metadata::Map(entries) if entries.is_empty());
    (!is_empty).then_some(all)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a number of a Struct is a double"
)]
fn descriptor(one: &RateLimitDescriptor) -> Value {
    let entries = one.entries.iter();
    let entries = entries.map(|entry| text(&format!("{}={}", entry.key, entry.value)));
    let mut fields = HashMap::from([("entries".to_owned(), list(entries))]);
    if let Some(limit) = one.limit {
        let unit = Unit::of_number(limit.unit).map_or("UNKNOWN", Unit::word);
        let unit = unit.to_ascii_uppercase();
        let shown = format!("requests_per_unit:{} unit:{unit}", limit.requests_per_unit);
        fields.insert("limit".to_owned(), text(&shown));
    }
    if let Some(hits) = one.hits_addend {
        fields.insert("hitsAddend".to_owned(), number(hits as f64));
    }
    Kind::Map(Struct { fields }).into()
}

fn value(metadata: &Metadata) -> Value {
    match metadata {
        Metadata::Null => Kind::Null(0).into(),
        Metadata::Flag(flag) => Kind::Flag(*flag).into(),
        Metadata::Number(own) => number(*own),
        Metadata::Text(own) => text(own),
        Metadata::List(items) => list(items.iter().map(value)),
        Metadata::Map(entries) => {
            let fields = entries.iter().map(|(name, own)| (name.clone(), value(own)));
            let fields = fields.collect();
            Kind::Map(Struct { fields }).into()
        }
    }
}

fn text(text: &str) -> Value {
    Kind::Text(text.to_owned()).into()
}

fn number(number: f64) -> Value {
    Kind::Number(number).into()
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    let values = values.collect();
    Kind::List(ListValue { values }).into()
}
