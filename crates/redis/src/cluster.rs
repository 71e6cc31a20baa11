//! A cluster: who has which slot, and a line to each of them.
//!
//! Nodes are asked for the map of slots at the start, now and then, and whenever one answers that a
//! slot is not its own, or does not answer. A call that was sent to the wrong node goes on to the right
//! one: nothing of it has been done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use redis::{Client, Cmd, ConnectionInfo, FromRedisValue as _, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::deployment::at;
use crate::line::{Health, Line};
use crate::names::Names;
use crate::queue::{Job, Queue};
use crate::slots::SLOTS;
use crate::trouble::{Redirection, Trouble, TroubleKind};
use crate::way::{Way, if_sentinel};

/// How often the map is looked at when all is well, and when it is not.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// What a server says of a cluster that it is no part of.
const NO_CLUSTER: &str = "cluster support disabled";
/// The least time that a node has to tell the map.
const LEAST_TO_TELL: Duration = Duration::from_millis(500);

/// One primary.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) line: Line,
    pub(crate) queue: Queue,
}

/// All primaries.
pub(crate) struct Cluster {
    this: Weak<Self>,
    seeds: Vec<ConnectionInfo>,
    names: Names,
    timeout: Duration,
    known: Mutex<Known>,
    /// Why the map was not told when it was last asked for.
    untold: Mutex<Option<Trouble>>,
    /// Counts the maps that were read; the first makes the cluster known.
    maps: watch::Sender<u64>,
    doubt: tokio::sync::Notify,
    runtime: tokio::runtime::Handle,
}

#[derive(Default)]
struct Known {
    /// By their first slot: the last one, and who has them.
    ranges: Vec<(u16, u16, String)>,
    nodes: HashMap<String, Node>,
}

impl Cluster {
    /// Needs to be called on a runtime.
    pub(crate) fn open(seeds: Vec<ConnectionInfo>, names: Names, timeout: Duration) -> Arc<Self> {
        let cluster = Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            seeds,
            names,
            timeout,
            known: Mutex::default(),
            untold: Mutex::default(),
            maps: watch::channel(0).0,
            doubt: tokio::sync::Notify::new(),
            runtime: tokio::runtime::Handle::current(),
        });
        tokio::spawn(watch_over(Arc::downgrade(&cluster)));
        cluster
    }

    /// Who has a slot.
    pub(crate) fn node_of(&self, slot: u16) -> Option<Node> {
        let known = self.known();
        let after = known.ranges.partition_point(|(first, ..)| *first <= slot);
        let (_, last, node) = known.ranges.get(after.checked_sub(1)?)?;
        let node = (slot <= *last)
            .then(|| known.nodes.get(node).cloned())
            .flatten();
        drop(known);
        if node.is_none() {
            self.look_again();
        }
        node
    }

    /// All who have slots.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        self.known().nodes.values().cloned().collect()
    }

    /// Waits for the first map; not when all have just been asked and nobody told it.
    pub(crate) async fn known_by(&self, deadline: Instant) -> bool {
        if !self.is_known() && self.untold().is_some() {
            return false;
        }
        let mut maps = self.maps.subscribe();
        let known = maps.wait_for(|maps| *maps > 0);
        tokio::time::timeout_at(deadline, known)
            .await
            .is_ok_and(|known| known.is_ok())
    }

    pub(crate) fn is_known(&self) -> bool {
        *self.maps.borrow() > 0
    }

    /// The map may not be right any more.
    pub(crate) fn look_again(&self) {
        self.doubt.notify_one();
    }

    /// Sends jobs on to the node that was named, and looks at the map.
    pub(crate) fn redirect(&self, jobs: Vec<Job>, to: &Redirection) {
        if !to.asking {
            self.look_again();
        }
        let node = self.node(&mut self.known(), &to.node);
        for job in jobs {
            match &node {
                Some(node) => node.queue.forward(job, to.asking),
                None => job.fail(crate::queue::NOT_SENT),
            }
        }
    }

    /// Why it is not known who has which slot.
    pub(crate) fn trouble(&self) -> Trouble {
        self.untold().clone().unwrap_or_else(no_map)
    }

    fn untold(&self) -> std::sync::MutexGuard<'_, Option<Trouble>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node at `host:port`, opened if it is new.
    fn node(&self, known: &mut Known, address: &str) -> Option<Node> {
        if let Some(node) = known.nodes.get(address) {
            return Some(node.clone());
        }
        let (host, port) = address.rsplit_once(':')?;
        let info = at(self.seeds.first()?, host, port.parse().ok()?);
        let _on_runtime = self.runtime.enter();
        let way = Way::node(Client::open(info).ok()?);
        let line = Line::keep(way, self.names.clone(), self.timeout);
        let queue = Queue::open(line.clone(), self.timeout, Some(Weak::clone(&self.this)));
        let node = Node { line, queue };
        known.nodes.insert(address.to_owned(), node.clone());
        Some(node)
    }

    /// Asks for the map: those who have slots, and then those that were named at first.
    async fn look(&self) -> bool {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOTS");
        let patience = LEAST_TO_TELL.max(self.timeout);
        for node in self.nodes() {
            if node.line.health() != Health::Up {
                continue;
            }
            if let Ok(said) = node.line.send(&command, Instant::now() + patience).await
                && self.learn(&said, None)
            {
                return true;
            }
        }
        let mut told = None;
        for seed in &self.seeds {
            let trouble = match timeout(patience, ask(seed, &command)).await {
                Ok(Ok(said)) if self.learn(&said, Some(seed)) => return true,
                Ok(Ok(_)) => no_map(),
                Ok(Err(trouble)) => trouble,
                Err(_) => Trouble::hangs(),
            };
            told = Some(trouble.or(told));
        }
        *self.untold() = told;
        false
    }

    fn learn(&self, said: &Value, teller: Option<&ConnectionInfo>) -> bool {
        let Some(mut ranges) = read_map(said, teller) else {
            return false;
        };
        ranges.sort_unstable();
        let mut known = self.known();
        known
            .nodes
            .retain(|address, _| ranges.iter().any(|(_, _, node)| node == address));
        for (_, _, address) in &ranges {
            let _ = self.node(&mut known, address);
        }
        known.ranges = ranges;
        drop(known);
        self.maps.send_modify(|maps| *maps += 1);
        true
    }

    /// Whether every slot has a node that decides.
    fn is_well(&self) -> bool {
        let known = self.known();
        let slots: u32 = known
            .ranges
            .iter()
            .map(|(first, last, _)| u32::from(last - first) + 1)
            .sum();
        slots == u32::from(SLOTS)
            && known
                .nodes
                .values()
                .all(|node| node.line.health() == Health::Up)
    }
}

/// Asks a server that may be anything.
async fn ask(seed: &ConnectionInfo, command: &Cmd) -> Result<Value, Trouble> {
    let way = Way::straight(Client::open(seed.clone())?);
    let mut connection = way.go().await?;
    let said = connection.send_packed_command(command).await;
    let trouble = match said.and_then(Value::extract_error) {
        Ok(said) => return Ok(said),
        Err(error) => Trouble::from(error),
    };
    if trouble.text.contains(NO_CLUSTER) {
        let place = seed.addr();
        return Err(Trouble::misnamed(trouble.text)
            .after(&format!("it is no Cluster, write redis://{place}")));
    }
    Err(if trouble.is_unknown_command() {
        if_sentinel(&mut connection, trouble).await
    } else if trouble.kind == TroubleKind::Forbidden {
        trouble.after("it lacks +cluster|slots")
    } else {
        trouble
    })
}

fn no_map() -> Trouble {
    Trouble {
        kind: TroubleKind::Unreachable,
        text: "no node of the cluster tells who has which slot".to_owned(),
    }
}

/// The answer to `CLUSTER SLOTS`. Nodes that do not know their own address have none: they are where
/// they were asked.
fn read_map(said: &Value, teller: Option<&ConnectionInfo>) -> Option<Vec<(u16, u16, String)>> {
    let Value::Array(ranges) = said else {
        return None;
    };
    let read = |range: &Value| {
        let Value::Array(parts) = range else {
            return None;
        };
        let first = u16::from_redis_value(parts.first()?.clone()).ok()?;
        let last = u16::from_redis_value(parts.get(1)?.clone()).ok()?;
        let Value::Array(primary) = parts.get(2)? else {
            return None;
        };
        let host = String::from_redis_value(primary.first()?.clone()).unwrap_or_default();
        let port = u16::from_redis_value(primary.get(1)?.clone()).ok()?;
        let asked = teller.map(|teller| teller.addr().to_string());
        let asked = asked.as_deref().and_then(|asked| asked.rsplit_once(':'));
        let host = if host.is_empty() {
            asked?.0.to_owned()
        } else {
            host
        };
        (first <= last).then(|| (first, last, format!("{host}:{port}")))
    };
    ranges.iter().map(read).collect()
}

async fn watch_over(cluster: Weak<Cluster>) {
    loop {
        let Some(cluster) = cluster.upgrade() else {
            return;
        };
        let told = cluster.look().await;
        let pause = if told && cluster.is_well() {
            LOOK_EVERY
        } else {
            LOOK_AGAIN
        };
        let doubt = async {
            cluster.doubt.notified().await;
            sleep(LOOK_AGAIN).await;
        };
        let _ = timeout(pause, doubt).await;
    }
}
