//! A cluster of three primaries with a replica each.

use super::{Server, Version, free_port, wait_until};

/// Three primaries, and a replica of each.
#[derive(Debug)]
pub struct Cluster {
    /// Primaries first, then their replicas in the same order.
    nodes: Vec<(Server, u16)>,
}

impl Cluster {
    /// How many primaries there are.
    pub const PRIMARIES: usize = 3;
    /// The last slot of each primary.
    pub const LAST_SLOTS: [u16; Self::PRIMARIES] = [5460, 10922, 16383];

    /// Starts one whose nodes take each other for dead after `node_timeout_ms`.
    pub fn start(version: Version, node_timeout_ms: u32) -> Self {
        Self::start_with(version, node_timeout_ms, "--port", &[])
    }

    /// Starts one with these settings beside the usual ones, each node's port under this name.
    pub fn start_with(
        version: Version,
        node_timeout_ms: u32,
        port_setting: &str,
        settings: &[&str],
    ) -> Self {
        let node_timeout = node_timeout_ms.to_string();
        let node = |_| {
            let port = free_port();
            let text = port.to_string();
            let usual = [
                port_setting,
                &text,
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                &node_timeout,
                "--cluster-replica-validity-factor",
                "0",
                "--repl-diskless-sync-delay",
                "0",
            ];
            (Server::start(version, &[&usual, settings].concat()), port)
        };
        let cluster = Self {
            nodes: (0..2 * Self::PRIMARIES).map(node).collect(),
        };
        cluster.meet();
        cluster
    }

    /// A node: primaries first, then their replicas in the same order.
    pub fn node(&self, number: usize) -> &Server {
        &self.nodes[number].0
    }

    /// The port of a node.
    pub fn port(&self, number: usize) -> u16 {
        self.nodes[number].1
    }

    /// Its first two nodes, for a URL: `127.0.0.1:PORT,127.0.0.1:PORT`.
    pub fn hosts(&self) -> String {
        let hosts: Vec<String> = self.nodes[..2]
            .iter()
            .map(|(_, port)| format!("127.0.0.1:{port}"))
            .collect();
        hosts.join(",")
    }

    /// The number of the primary that has a slot.
    pub fn primary_of(slot: u16) -> usize {
        Self::LAST_SLOTS.partition_point(|last| *last < slot)
    }

    fn meet(&self) {
        let mut first = 0;
        for (node, last) in Self::LAST_SLOTS.iter().enumerate() {
            let (from, to) = (first.to_string(), last.to_string());
            let () = self
                .node(node)
                .ask(&["CLUSTER", "ADDSLOTSRANGE", &from, &to]);
            first = last + 1;
        }
        for (_, port) in &self.nodes[1..] {
            let port = port.to_string();
            let () = self.node(0).ask(&["CLUSTER", "MEET", "127.0.0.1", &port]);
        }
        let known = format!("cluster_known_nodes:{}", self.nodes.len());
        self.wait_until_all_say("the nodes know each other", &known);
        for node in 0..Self::PRIMARIES {
            let id: String = self.node(node).ask(&["CLUSTER", "MYID"]);
            let replica = self.node(Self::PRIMARIES + node);
            let () = replica.ask(&["CLUSTER", "REPLICATE", &id]);
        }
        self.wait_until_all_say("the cluster is well", "cluster_state:ok");
        let has_replica = |node| {
            let info: String = self.node(node).ask(&["INFO", "replication"]);
            info.contains("state=online")
        };
        wait_until("replicas follow", || (0..Self::PRIMARIES).all(has_replica));
    }

    fn wait_until_all_say(&self, what: &str, words: &str) {
        let says = |(node, _): &(Server, u16)| {
            let info: String = node.ask(&["CLUSTER", "INFO"]);
            info.contains(words)
        };
        wait_until(what, || self.nodes.iter().all(says));
    }
}
