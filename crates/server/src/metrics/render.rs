//! `/metrics` as `OpenMetrics` text.

use std::fmt;
use std::sync::Arc;

use jeton::disk::Figures;
use jeton::policy::{BROUGHT, Policy};
use jeton::{Event, Gate, RuleOutcome, Tally};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::{Registry, Unit};

use super::{Metrics, doors};
use crate::store::{Backend, Kept, kept};

/// The media type of [`render`]'s text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is counted beside the rules.
const EVENTS: [(&str, &str, Event); 5] = [
    (
        "jeton_unmatched",
        "Requests that no rule matched",
        Event::Unmatched,
    ),
    (
        "jeton_degraded_decisions",
        "Requests that the store gave no decision about: `on_failure` spoke",
        Event::Degraded,
    ),
    (
        "jeton_settled",
        "Charges that were put right when their cost became known",
        Event::Settled,
    ),
    (
        "jeton_settle_lost",
        "Charges that stay as they were: the store did not answer when their cost became known",
        Event::SettleLost,
    ),
    (
        "jeton_clipped_units",
        "Units that were used and found no room, not even as debt",
        Event::UnitsClipped,
    ),
];

/// No labels.
type Bare = [(&'static str, &'static str); 0];

/// Everything as text.
///
/// # Errors
/// None in practice: writing to a `String` does not fail.
pub fn render(metrics: &Arc<Metrics>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Reading(Arc::clone(metrics))));
    let mut out = String::with_capacity(4 << 10);
    text::encode(&mut out, &registry)?;
    Ok(out)
}

#[derive(Debug)]
struct Reading(Arc<Metrics>);

impl Collector for Reading {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Self(metrics) = self;
        rules(metrics, &mut encoder)?;
        store(metrics, &mut encoder)?;
        metrics.descriptors.encode(&mut encoder)?;
        service(metrics, &mut encoder)?;
        doors::encode(&metrics.doors(), &mut encoder)
    }
}

fn rules(metrics: &Metrics, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (policy, tally) = in_force(&metrics.gate);
    let help = "Decisions of each rule: allowed (and charged), denied, withheld (it allowed and \
                another rule denied); without a vote: shadow_denied, marked (the upstream was \
                told), trial_allowed and trial_denied (by its trial setting)";
    let mut family =
        encoder.encode_descriptor("jeton_decisions", help, None, MetricType::Counter)?;
    for (index, rule) in policy.rules().iter().enumerate() {
        for outcome in RuleOutcome::ALL {
            let labels = [("rule", rule.name()), ("outcome", outcome.word())];
            counter(
                &mut family.encode_family(&labels)?,
                tally.rule(index, outcome),
            )?;
        }
    }

    // Quotas that callers bring have no rule in the policy, and a name that none of its rules has.
    if policy.settings().resp.is_some() {
        for outcome in RuleOutcome::ALL {
            let labels = [("rule", BROUGHT), ("outcome", outcome.word())];
            let mut encoder = family.encode_family(&labels)?;
            counter(&mut encoder, tally.brought(outcome))?;
        }
    }

    for (name, help, event) in EVENTS {
        let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        counter(&mut encoder, tally.event(event))?;
    }

    let help = "Limit or burst of each rule that counts";
    let mut family =
        encoder.encode_descriptor("jeton_rule_limit", help, None, MetricType::Gauge)?;
    for rule in policy.rules() {
        if let Some(quota) = rule.quota() {
            let labels = [("rule", rule.name())];
            family
                .encode_family(&labels)?
                .encode_gauge(&i64::from(quota.limit()))?;
        }
    }

    let timing = metrics.decisions.snapshot();
    let help = "Time from the question to the answer";
    let unit = Unit::Seconds;
    let mut histogram =
        encoder.encode_descriptor("jeton_decision", help, Some(&unit), MetricType::Histogram)?;
    histogram.encode_histogram::<Bare>(timing.sum_s, timing.count, &timing.buckets, None)
}

/// A policy with the counters of its own rules, whatever is swapped meanwhile.
pub(crate) fn in_force(gate: &Gate) -> (Arc<Policy>, Arc<Tally>) {
    loop {
        let (policy, tally) = (gate.policy(), gate.tally());
        if Arc::ptr_eq(&policy, &gate.policy()) {
            return (policy, tally);
        }
    }
}

fn store(metrics: &Metrics, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Answers that the store did not give, by reason: decisions, and looks at what \
                operators have set";
    let mut family =
        encoder.encode_descriptor("jeton_store_errors", help, None, MetricType::Counter)?;
    for (reason, count) in metrics.gate.tally().store_errors() {
        counter(
            &mut family.encode_family(&[("reason", reason.word())])?,
            count,
        )?;
    }

    let degraded = i64::from(metrics.degraded().is_some());
    let help = "1 if the store gave no answer when it was last asked";
    gauge(encoder, "jeton_degraded", help, degraded)?;

    let help = "Where states are kept";
    encoder
        .encode_descriptor("jeton_store", help, None, MetricType::Info)?
        .encode_info(&[("kind", metrics.store().word())])?;
    if let Backend::Redis(store) = metrics.store() {
        let help = "Decisions on which the server and this process did not concur: always 0, or a \
                    fault of ours";
        let mut disagreements = encoder.encode_descriptor(
            "jeton_store_disagreements",
            help,
            None,
            MetricType::Counter,
        )?;
        counter(&mut disagreements, store.disagreements())?;
    }
    if let Backend::Disk(kept) = metrics.store() {
        disk(kept, encoder)?;
    }
    in_memory(metrics, encoder)
}

/// How a disk is doing.
fn disk(kept: &Kept, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "1 for how the disk is doing: up; behind, so that decisions wait for it; or why it keeps \
                nothing: full, read_only, damaged, io";
    let mut family =
        encoder.encode_descriptor("jeton_disk_health", help, None, MetricType::Gauge)?;
    let health = kept::word(kept.health());
    for word in kept::WORDS {
        family
            .encode_family(&[("state", word)])?
            .encode_gauge(&i64::from(word == health))?;
    }

    let Figures {
        batches,
        writing,
        pending,
        bytes,
        ..
    } = kept.figures();
    let help = "Batches of changes that have been brought to the disk, with one sync each";
    let mut counted =
        encoder.encode_descriptor("jeton_disk_batches", help, None, MetricType::Counter)?;
    counter(&mut counted, batches)?;

    let help = "Time that these batches took";
    let unit = Unit::Seconds;
    let none: Option<&Exemplar<Bare, f64>> = None;
    encoder
        .encode_descriptor("jeton_disk_batch", help, Some(&unit), MetricType::Counter)?
        .encode_counter(&writing.as_secs_f64(), none)?;

    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let help = "States that have changed and are not on disk yet";
    gauge(encoder, "jeton_disk_pending", help, whole(pending))?;
    let help = "Size of the file that holds the states";
    gauge(encoder, "jeton_disk_bytes", help, whole(bytes))
}

/// What this process holds itself: all, or its shares while the store is away.
fn in_memory(metrics: &Metrics, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let own = match metrics.store() {
        Backend::Memory(table) => Some(table.stats()),
        Backend::Disk(kept) => Some(kept.stats()),
        Backend::Redis(_) => None,
    };
    let local = metrics.gate.local_stats();
    let tables = [own, local].into_iter().flatten();
    let (keys, overflowed) = tables.fold((0, 0), |(keys, overflowed), table| {
        (keys + table.keys, overflowed + table.overflowed)
    });
    let keys = i64::try_from(keys).unwrap_or(i64::MAX);
    gauge(encoder, "jeton_keys", "States held in memory", keys)?;

    let help = "Charges that found no room in memory";
    let mut overflow =
        encoder.encode_descriptor("jeton_overflow", help, None, MetricType::Counter)?;
    counter(&mut overflow, overflowed)
}

fn service(metrics: &Metrics, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "1 if the policy file, as last read, is in force";
    let is_ok = i64::from(metrics.refusal().is_none());
    gauge(encoder, "jeton_config_ok", help, is_ok)?;
    let generation = i64::try_from(metrics.generation()).unwrap_or(i64::MAX);
    let help = "Policies that have been in force, the present one included";
    gauge(encoder, "jeton_config_generation", help, generation)?;
    encoder
        .encode_descriptor("jeton_build", "This program", None, MetricType::Info)?
        .encode_info(&[("version", env!("CARGO_PKG_VERSION"))])
}

pub(super) fn counter(encoder: &mut MetricEncoder<'_>, value: u64) -> fmt::Result {
    let exemplar: Option<&Exemplar<Bare, f64>> = None;
    encoder.encode_counter(&value, exemplar)
}

/// A count as gauges have it.
pub(super) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> fmt::Result {
    encoder
        .encode_descriptor(name, help, None, MetricType::Gauge)?
        .encode_gauge(&value)
}
