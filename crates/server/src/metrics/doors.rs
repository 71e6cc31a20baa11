//! Doors whose connections and decisions are counted.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::render::{counter, whole};
use crate::doors::Doorkeeper;

/// The doors that have come up.
#[derive(Debug, Default)]
pub(super) struct Doors(Mutex<Vec<Arc<Doorkeeper>>>);

impl Doors {
    pub(super) fn append(&self, door: Arc<Doorkeeper>) {
        self.lock().push(door);
    }

    pub(super) fn all(&self) -> Vec<Arc<Doorkeeper>> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Doorkeeper>>> {
        // Nobody leaves a list of doors half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that a door counts: its name and its meaning.
type Count = (
    &'static str,
    &'static str,
    MetricType,
    fn(&Doorkeeper) -> u64,
);

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

const COUNTS: [Count; 4] = [
    (
        "jeton_door_connections",
        "Connections of a door",
        MetricType::Gauge,
        |door| number(door.connections()),
    ),
    (
        "jeton_door_in_flight",
        "Decisions of a door that are out",
        MetricType::Gauge,
        |door| number(door.in_flight()),
    ),
    (
        "jeton_door_turned_away",
        "Connections beyond `max_connections`",
        MetricType::Counter,
        Doorkeeper::turned_away,
    ),
    (
        "jeton_door_shed",
        "Decisions beyond `max_in_flight`: `on_failure` spoke, and the store was not asked",
        MetricType::Counter,
        Doorkeeper::shed,
    ),
];

pub(super) fn encode(
    doors: &[Arc<Doorkeeper>],
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    if doors.is_empty() {
        return Ok(());
    }
    for (name, help, kind, count) in COUNTS {
        let mut family = encoder.encode_descriptor(name, help, None, kind)?;
        for door in doors {
            let labels = [("door", door.door())];
            let mut encoder = family.encode_family(&labels)?;
            match kind {
                MetricType::Counter => counter(&mut encoder, count(door))?,
                _ => encoder.encode_gauge(&whole(count(door)))?,
            }
        }
    }
    Ok(())
}
