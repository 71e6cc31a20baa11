//! The servers behind a store: one, or the nodes of a cluster.

use std::sync::Arc;
use std::time::Duration;

use jeton_core::{StoreError, When};
use redis::{Client, RedisError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::deployment::Deployment;
use crate::line::{Health, Line};
use crate::names::Names;
use crate::queue::{NOT_SENT, Queue};
use crate::reply::Told;
use crate::request::Request;
use crate::slots::slot_of;
use crate::trouble::Trouble;
use crate::way::Way;

/// For so long a cluster may take to tell who has which slot.
const FIRST_MAP: Duration = Duration::from_secs(2);

/// One server, or the nodes of a cluster.
#[derive(Clone)]
pub(crate) enum Servers {
    One(Line, Queue),
    Cluster(Arc<Cluster>),
}

impl Servers {
    /// Needs to be called on a runtime.
    pub(crate) fn open(
        deployment: Deployment,
        names: &Names,
        timeout: Duration,
    ) -> Result<Self, RedisError> {
        let way = match deployment {
            Deployment::One(info) => Way::straight(Client::open(info)?),
            Deployment::Sentinel {
                sentinels,
                name,
                primary,
            } => {
                let sentinels: Result<_, RedisError> =
                    sentinels.into_iter().map(Client::open).collect();
                Way::primary(sentinels?, name, primary)
            }
            Deployment::Cluster(seeds) => {
                let cluster = Cluster::open(seeds, names.clone(), timeout);
                return Ok(Self::Cluster(cluster));
            }
        };
        let line = Line::keep(way, names.clone(), timeout);
        Ok(Self::One(line.clone(), Queue::open(line, timeout, None)))
    }

    /// Whether one may fail while others decide.
    pub(crate) const fn are_several(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// Whether all keys of a request can be decided about in one step.
    pub(crate) fn decides_at_once(&self, request: &Request) -> bool {
        match self {
            Self::One(..) => true,
            Self::Cluster(_) => {
                let mut slots = request.packed.iter().map(|packed| slot_of(&packed.key));
                let first = slots.next();
                slots.all(|slot| Some(slot) == first)
            }
        }
    }

    /// Sends a request whose keys share a slot.
    pub(crate) fn send(
        &self,
        request: Arc<Request>,
        when: When,
    ) -> oneshot::Receiver<Result<Told, StoreError>> {
        match self {
            Self::One(_, queue) => queue.send(request, when, None),
            Self::Cluster(cluster) => {
                let slot = request
                    .packed
                    .first()
                    .map_or(0, |packed| slot_of(&packed.key));
                match cluster.node_of(slot) {
                    Some(node) => node.queue.send(request, when, Some(slot)),
                    None => unanswered(),
                }
            }
        }
    }

    /// The line to whoever has a key.
    pub(crate) fn line_of(&self, key: &[u8]) -> Result<Line, StoreError> {
        match self {
            Self::One(line, _) => Ok(line.clone()),
            Self::Cluster(cluster) => cluster
                .node_of(slot_of(key))
                .map(|node| node.line)
                .ok_or(NOT_SENT),
        }
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        match self {
            Self::One(line, _) => vec![line.clone()],
            Self::Cluster(cluster) => cluster.nodes().into_iter().map(|node| node.line).collect(),
        }
    }

    /// Waits until it is known who has which slot, if that is to be known.
    pub(crate) async fn known_by(&self, deadline: Instant) -> bool {
        match self {
            Self::One(..) => true,
            Self::Cluster(cluster) => cluster.known_by(deadline).await,
        }
    }

    pub(crate) fn are_known(&self) -> bool {
        match self {
            Self::One(..) => true,
            Self::Cluster(cluster) => cluster.is_known(),
        }
    }

    pub(crate) async fn ready(&self) -> Result<(), Trouble> {
        if let Self::Cluster(cluster) = self
            && !cluster.known_by(Instant::now() + FIRST_MAP).await
        {
            return Err(cluster.trouble());
        }
        for line in self.lines() {
            line.ready().await?;
        }
        Ok(())
    }

    /// What is wrong with the one that is worst off; else what a call to any of them met last.
    pub(crate) fn latest_trouble(&self) -> Option<Trouble> {
        match self.health() {
            Health::Down(trouble) => Some(trouble),
            _ => self.lines().iter().find_map(Line::latest_trouble),
        }
    }

    /// That of the one that is worst off.
    pub(crate) fn health(&self) -> Health {
        let health = self.lines().into_iter().map(|line| line.health());
        let rank = |health: &Health| match health {
            Health::Up => 0,
            Health::Connecting => 1,
            Health::Down(_) => 2,
        };
        match (health.max_by_key(rank), self) {
            (Some(health), _) => health,
            (None, Self::Cluster(cluster)) => Health::Down(cluster.trouble()),
            (None, Self::One(..)) => Health::Connecting,
        }
    }
}

fn unanswered() -> oneshot::Receiver<Result<Told, StoreError>> {
    let (answer, comes) = oneshot::channel();
    let _ = answer.send(Err(NOT_SENT));
    comes
}
