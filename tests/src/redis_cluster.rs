//! A Redis Cluster of a test's own: three masters and a replica of each, on ports of this machine.

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::redis_server::{RedisServer, free_port};

/// How many masters there are, and how many replicas.
const MASTERS: usize = 3;
/// After how long without a sign of life a node counts as failing, in milliseconds: short, and long for a busy machine.
const NODE_TIMEOUT_MS: &str = "1500";
/// The slots of a cluster.
const SLOTS: usize = 16_384;

/// A running cluster, which ends with its owner.
pub struct RedisCluster {
    /// The masters, then in the same order the replica of each.
    nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts a cluster and waits until each node knows all others and each replica follows.
    ///
    /// # Errors
    /// There is no `redis-server`, or the nodes do not come together.
    pub fn start() -> Result<Self> {
        let bus_of = |_| free_port().map_or_else(|_| "0".to_owned(), |port| port.to_string());
        let start = |_| {
            RedisServer::start_at_port(|port| {
                let words = ["--cluster-enabled", "yes", "--cluster-node-timeout", NODE_TIMEOUT_MS];
                let mut words: Vec<String> = words.map(str::to_owned).into();
                words.extend(["--cluster-port".to_owned(), bus_of(port)]);
                // The first copy for a replica waits for no further one.
                words.extend(["--repl-diskless-sync-delay", "0"].map(str::to_owned));
                words
            })
        };
        let nodes = (0..2 * MASTERS).map(start).collect::<Result<Vec<_>>>()?;
        let cluster = Self { nodes };
        cluster.divide()?;
        cluster.introduce()?;
        cluster.follow()?;
        Ok(cluster)
    }

    /// Gives each master its part of the slots.
    fn divide(&self) -> Result<()> {
        for (number, node) in self.nodes.iter().enumerate() {
            node.tell(&format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1))?;
            if number < MASTERS {
                let (first, end) = (number * SLOTS / MASTERS, (number + 1) * SLOTS / MASTERS);
                node.tell(&format!("CLUSTER ADDSLOTSRANGE {first} {}", end - 1))?;
            }
        }
        Ok(())
    }

    /// Lets all nodes get to know each other.
    fn introduce(&self) -> Result<()> {
        let [first, others @ ..] = self.nodes.as_slice() else {
            return Ok(());
        };
        for node in others {
            let bus = setting(node, "cluster-port")?;
            first.tell(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port()))?;
        }
        let all = format!("cluster_known_nodes:{}\r", self.nodes.len());
        self.nodes.iter().try_for_each(|node| node.until("CLUSTER INFO", &all))
    }

    /// Lets each replica follow its master.
    fn follow(&self) -> Result<()> {
        let (masters, replicas) = self.nodes.split_at(MASTERS);
        for (master, replica) in masters.iter().zip(replicas) {
            let id = word(master, "CLUSTER MYID")?;
            replica.until("CLUSTER NODES", &id)?;
            replica.tell(&format!("CLUSTER REPLICATE {id}"))?;
        }
        for replica in replicas {
            replica.until("INFO replication", "master_link_status:up")?;
        }
        // Each node knows each replica as one, and so knows whom to elect.
        for node in &self.nodes {
            node.until("CLUSTER INFO", "cluster_state:ok")?;
            for replica in replicas {
                let line = format!(":{}@{} ", replica.port(), setting(replica, "cluster-port")?);
                let myself = if node.port() == replica.port() { "myself," } else { "" };
                node.until("CLUSTER NODES", &format!("{line}{myself}slave "))?;
            }
        }
        Ok(())
    }

    /// The address of a store there, which knows two of the nodes; another prefix is another store.
    #[must_use]
    pub fn address(&self, prefix: &str) -> String {
        let [first, second, ..] = self.nodes.as_slice() else {
            unreachable!("a cluster has nodes")
        };
        format!(
            "redis+cluster://127.0.0.1:{},127.0.0.1:{}?prefix={prefix}&shards=12",
            first.port(),
            second.port()
        )
    }

    /// A master, by its number from 0 on.
    #[must_use]
    pub fn master(&self, number: usize) -> &RedisServer {
        &self.nodes[number % MASTERS]
    }

    /// The replica of that master.
    #[must_use]
    pub fn replica(&self, number: usize) -> &RedisServer {
        &self.nodes[MASTERS + number % MASTERS]
    }

    /// All nodes.
    #[must_use]
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// Kills a master as a crash of its machine would.
    pub fn kill_master(&mut self, number: usize) {
        self.nodes[number % MASTERS].kill();
    }

    /// Starts a master that was killed again: it becomes a replica of the one that took its place.
    ///
    /// # Errors
    /// It does not start.
    pub fn restart_master(&mut self, number: usize) -> Result<()> {
        self.nodes[number % MASTERS].restart()
    }

    /// Waits until the replica has taken the place of its master.
    ///
    /// # Errors
    /// It does not in time.
    pub fn until_replaced(&self, number: usize) -> Result<()> {
        let replica = self.replica(number);
        replica.until("INFO replication", "role:master")?;
        replica.until("CLUSTER INFO", "cluster_state:ok")
    }

    /// Waits until the node that was killed follows the one that took its place.
    ///
    /// # Errors
    /// It does not in time.
    pub fn until_followed(&self, number: usize) -> Result<()> {
        self.master(number).until("INFO replication", "master_link_status:up")
    }

    /// Stops a replica: it follows no more, and its connections stay.
    ///
    /// # Errors
    /// It does not run.
    pub fn signal_replica(&self, number: usize, signal: Signal) -> Result<()> {
        self.replica(number).signal(signal)
    }

    /// Begins to move the slot of that hash tag from one master to another.
    ///
    /// # Errors
    /// They refuse.
    pub fn begin_move(&self, tag: &str, from: usize, to: usize) -> Result<()> {
        let slot = self.slot_of(tag)?;
        let ids = (
            word(self.master(from), "CLUSTER MYID")?,
            word(self.master(to), "CLUSTER MYID")?,
        );
        self.master(to)
            .tell(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", ids.0))?;
        self.master(from)
            .tell(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", ids.1))
    }

    /// Moves the keys of that hash tag's slot.
    ///
    /// # Errors
    /// They refuse.
    pub fn move_keys(&self, tag: &str, from: usize, to: usize) -> Result<()> {
        const KEYS: usize = 100;
        let slot = self.slot_of(tag)?;
        let port = self.master(to).port();
        let mut source =
            redis::Client::open(format!("unix://{}", self.master(from).socket().display()))?.get_connection()?;
        loop {
            let mut command = redis::cmd("CLUSTER");
            let keys: Vec<Vec<u8>> = command.arg("GETKEYSINSLOT").arg(slot).arg(KEYS).query(&mut source)?;
            if keys.is_empty() {
                return Ok(());
            }
            let mut command = redis::cmd("MIGRATE");
            command
                .arg("127.0.0.1")
                .arg(port)
                .arg("")
                .arg(0)
                .arg(5_000)
                .arg("KEYS")
                .arg(keys);
            command.exec(&mut source)?;
        }
    }

    /// Ends the move: the slot belongs to its new master from now on.
    ///
    /// # Errors
    /// They refuse.
    pub fn end_move(&self, tag: &str, to: usize) -> Result<()> {
        let slot = self.slot_of(tag)?;
        let id = word(self.master(to), "CLUSTER MYID")?;
        let others = (0..MASTERS).filter(|number| *number != to);
        for number in std::iter::once(to).chain(others) {
            self.master(number).tell(&format!("CLUSTER SETSLOT {slot} NODE {id}"))?;
        }
        Ok(())
    }

    fn slot_of(&self, tag: &str) -> Result<usize> {
        Ok(word(&self.nodes[0], &format!("CLUSTER KEYSLOT {{{tag}}}"))?.parse()?)
    }

    /// The master that has the keys with that hash tag.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn master_of(&self, tag: &str) -> Result<usize> {
        let slot = self.slot_of(tag)?;
        ensure!(slot < SLOTS, "the slot {slot} is none");
        let has = |number: &usize| slot < (number + 1) * SLOTS / MASTERS;
        (0..MASTERS).find(has).context("each slot has a master")
    }
}

/// An answer of one word: what stands behind the sign or the length.
fn word(server: &RedisServer, command: &str) -> Result<String> {
    let answer = server.ask(command).context("the node does not answer")?;
    let line = match answer.strip_prefix('$') {
        Some(rest) => rest.lines().nth(1),
        None => answer.get(1..).and_then(|rest| rest.lines().next()),
    };
    Ok(line.context("an answer of one word")?.trim().to_owned())
}

fn setting(server: &RedisServer, name: &str) -> Result<String> {
    let answer = server
        .ask(&format!("CONFIG GET {name}"))
        .context("the node does not answer")?;
    Ok(answer
        .lines()
        .nth(4)
        .context("the value of a setting")?
        .trim()
        .to_owned())
}
