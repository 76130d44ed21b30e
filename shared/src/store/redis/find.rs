//! Where the server of a shard is now: at the address itself, where the sentinels say, or on the node that has its slot.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionInfo, Value};

use super::address::{Address, Topology};
use super::fault::Trouble;
use crate::store::StoreError;

/// How long a connection may take to come about: several round trips round the world.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The slots of a cluster.
const SLOTS: u16 = 16_384;

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node {
    pub host: String,
    pub port: u16,
}

/// Some slots of a cluster with the node that has them and those that would take its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slots {
    first: u16,
    last: u16,
    master: Node,
    replicas: Vec<Node>,
}

/// Finds servers; it is asked for each new connection, so that it always answers as of now.
pub(super) struct Finder {
    address: Address,
    /// Nodes that the cluster has named, beyond those of the address: these may all be gone one day.
    learnt: Mutex<Vec<Node>>,
    /// Who is asked first: not always the same one, who may be cut off from the others.
    turn: AtomicUsize,
}

impl Finder {
    /// A finder that has asked nobody.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            learnt: Mutex::default(),
            turn: AtomicUsize::new(0),
        }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The server that has the slot.
    pub async fn server(&self, slot: u16) -> Result<Client, Trouble> {
        match &self.address.topology {
            Topology::Single => open(self.address.named[0].clone()),
            Topology::Sentinel { master } => {
                let mut question = redis::cmd("SENTINEL");
                question.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
                let read = |_: &ConnectionInfo, answer| master_of(answer, master);
                let node = self.ask_any(&question, read).await?;
                open(self.address.server_at(&node.host, node.port))
            }
            Topology::Cluster => {
                let ranges = self.ask_any(&slots_question(), slots_of).await?;
                self.learn(&ranges);
                let owner = ranges
                    .iter()
                    .find(|range| (range.first..=range.last).contains(&slot))
                    .ok_or_else(|| Trouble::Wait(format!("no node of the cluster has the slot {slot}")))?;
                open(self.address.server_at(&owner.master.host, owner.master.port))
            }
        }
    }

    /// The first answer of anybody who is known that can be read.
    async fn ask_any<T>(
        &self,
        question: &Cmd,
        read: impl Fn(&ConnectionInfo, Value) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut known = self.address.named.clone();
        for node in lock(&self.learnt).iter() {
            known.push(self.address.server_at(&node.host, node.port));
        }
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % known.len().max(1);
        known.rotate_left(first);
        let mut last = Trouble::Reconnect("its address names nobody to ask".to_owned());
        for server in known {
            match ask(server.clone(), question)
                .await
                .and_then(|answer| read(&server, answer))
            {
                Ok(answer) => return Ok(answer),
                // A mistake says more than somebody who is away.
                Err(trouble) if !matches!(last, Trouble::Fatal(_)) => last = trouble,
                Err(_) => {}
            }
        }
        Err(last)
    }

    fn learn(&self, ranges: &[Slots]) {
        let nodes = ranges
            .iter()
            .flat_map(|range| std::iter::once(&range.master).chain(&range.replicas));
        let mut nodes: Vec<Node> = nodes.cloned().collect();
        nodes.sort_unstable();
        nodes.dedup();
        *lock(&self.learnt) = nodes;
    }
}

fn open(info: ConnectionInfo) -> Result<Client, Trouble> {
    Client::open(info).map_err(|error| Trouble::of(&error))
}

/// What a server answers over a connection of its own.
pub(super) async fn ask(server: ConnectionInfo, question: &Cmd) -> Result<Value, Trouble> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(CONNECT_TIMEOUT));
    let client = open(server)?;
    let asked = async {
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        connection.send_packed_command(question).await?.extract_error()
    };
    asked.await.map_err(|error| Trouble::of(&error))
}

/// What asks a cluster for its slots.
fn slots_question() -> Cmd {
    let mut question = redis::cmd("CLUSTER");
    question.arg("SLOTS");
    question
}

fn master_of(answer: Value, name: &str) -> Result<Node, Trouble> {
    if answer == Value::Nil {
        let message = format!("the sentinels know no master `{name}`: see `sentinel monitor` in their configuration");
        return Err(Trouble::Fatal(StoreError::Unfit { message }));
    }
    let (host, port) = redis::from_redis_value(answer).map_err(|error| unreadable(&error))?;
    Ok(Node { host, port })
}

/// What asks a node for all nodes that it knows. Unlike the list of slots, it names replicas that have nothing to copy yet.
pub(super) fn nodes_question() -> Cmd {
    let mut question = redis::cmd("CLUSTER");
    question.arg("NODES");
    question
}

/// The nodes of a cluster, one on each line: its id, then `host:port@bus,name`, then its flags.
pub(super) fn nodes_of(text: &str) -> Vec<Node> {
    let node = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (place, flags) = (words.next()?, words.next()?);
        if flags.contains("noaddr") || flags.contains("handshake") {
            return None;
        }
        let (host, port) = place.split('@').next()?.rsplit_once(':')?;
        Some(Node {
            host: host.to_owned(),
            port: port.parse().ok()?,
        })
    };
    text.lines().filter_map(node).filter(|node| node.port != 0).collect()
}

/// The slots of a cluster, as `asked` tells them.
fn slots_of(asked: &ConnectionInfo, answer: Value) -> Result<Vec<Slots>, Trouble> {
    let Value::Array(ranges) = answer else {
        return Err(unreadable(&"it is no list"));
    };
    let node = |value: &Value| match value {
        Value::Array(parts) => node_of(asked, parts),
        _ => None,
    };
    let range = |value: &Value| {
        let Value::Array(parts) = value else { return None };
        let [first, last, nodes @ ..] = parts.as_slice() else {
            return None;
        };
        let mut nodes = nodes.iter().map(node);
        Some(Slots {
            first: small(first)?,
            last: small(last)?,
            master: nodes.next()??,
            // A replica that nobody can name is not asked.
            replicas: nodes.flatten().collect(),
        })
    };
    let ranges: Option<Vec<Slots>> = ranges.iter().map(range).collect();
    ranges.ok_or_else(|| unreadable(&"a node has no place"))
}

/// Host and port; a node that does not know its own name is where it was asked.
fn node_of(asked: &ConnectionInfo, parts: &[Value]) -> Option<Node> {
    let [host, port, ..] = parts else { return None };
    let port = small(port)?;
    let host = match host {
        Value::BulkString(name) => String::from_utf8_lossy(name).into_owned(),
        Value::SimpleString(name) => name.clone(),
        _ => String::new(),
    };
    let host = match host.as_str() {
        "?" => return None,
        "" => match asked.addr() {
            redis::ConnectionAddr::Tcp(host, _) | redis::ConnectionAddr::TcpTls { host, .. } => host.clone(),
            _ => return None,
        },
        _ => host,
    };
    Some(Node { host, port })
}

fn small(value: &Value) -> Option<u16> {
    match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    }
}

fn unreadable(why: &dyn std::fmt::Display) -> Trouble {
    Trouble::Reconnect(format!("the answer to where the server is cannot be read: {why}"))
}

/// The slot of the keys with that hash tag: CRC16 as the protocol of clusters has it.
pub(super) fn slot_of(tag: &[u8]) -> u16 {
    let step = |crc: u16, _| {
        if crc & 0x8000 == 0 {
            crc << 1
        } else {
            (crc << 1) ^ 0x1021
        }
    };
    let crc = tag
        .iter()
        .fold(0, |crc, byte| (0..8).fold(crc ^ (u16::from(*byte) << 8), step));
    crc % SLOTS
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    #[test]
    fn slots_are_those_of_the_protocol() {
        // The value that the specification of clusters gives, and two that `CLUSTER KEYSLOT` answers.
        assert_eq!(slot_of(b"123456789"), 0x31c3);
        assert_eq!([slot_of(b"foo"), slot_of(b"")], [12_182, 0]);
    }

    #[test]
    fn a_node_that_does_not_know_its_name_is_where_it_was_asked() {
        let asked = "redis://seed:7000".into_connection_info().expect("an address");
        let node = |host: Value, port| Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())]);
        let name = |name: &str| Value::BulkString(name.as_bytes().to_vec());
        let range = Value::Array(vec![
            Value::Int(0),
            Value::Int(5_460),
            node(Value::Nil, 7_000),
            node(name("10.0.0.2"), 7_001),
            node(name("?"), 7_002),
        ]);
        let place = |host: &str, port| Node {
            host: host.to_owned(),
            port,
        };
        let expected = Slots {
            first: 0,
            last: 5_460,
            master: place("seed", 7_000),
            replicas: vec![place("10.0.0.2", 7_001)],
        };
        assert_eq!(slots_of(&asked, Value::Array(vec![range])), Ok(vec![expected]));
    }

    #[test]
    fn nodes_are_read_with_and_without_names() {
        let text = "07c3 127.0.0.1:30004@31004,host4 slave e7d1 0 1426238317239 4 connected\n\
                    67ed ::1:30002@31002 myself,master - 0 1426238316232 2 connected 5461-10922\n\
                    824f :0@0 master,noaddr - 0 0 0 disconnected\n";
        let places: Vec<(String, u16)> = nodes_of(text).into_iter().map(|node| (node.host, node.port)).collect();
        assert_eq!(places, [("127.0.0.1".to_owned(), 30_004), ("::1".to_owned(), 30_002)]);
    }

    #[test]
    fn sentinels_that_do_not_know_the_name_say_so() {
        let Err(Trouble::Fatal(error)) = master_of(Value::Nil, "mymaster") else {
            panic!("nobody is the master");
        };
        assert!(error.to_string().contains("`mymaster`"), "{error}");
    }
}
