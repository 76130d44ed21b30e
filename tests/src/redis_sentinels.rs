//! Sentinels of a test's own: three that watch a master with one replica, and replace it when it is gone.

use anyhow::Result;

use crate::redis_server::RedisServer;

/// How many sentinels watch; two of them decide.
const SENTINELS: usize = 3;
/// The name under which they watch.
pub const MASTER: &str = "mymaster";

/// A master with a replica and its sentinels, which all end with their owner.
pub struct RedisSentinels {
    master: RedisServer,
    replica: RedisServer,
    sentinels: Vec<RedisServer>,
}

impl RedisSentinels {
    /// Starts them and waits until the sentinels know each other and the replica.
    ///
    /// # Errors
    /// There is no `redis-server`, or they do not come together.
    pub fn start() -> Result<Self> {
        let master = RedisServer::start_at_port(|_| ["--repl-diskless-sync-delay", "0"].map(str::to_owned).into())?;
        let replica = RedisServer::start_at_port(|_| {
            let port = master.port().to_string();
            ["--replicaof", "127.0.0.1", &port].map(str::to_owned).into()
        })?;
        replica.until("INFO replication", "master_link_status:up")?;
        let start = |_| RedisServer::start_sentinel(MASTER, master.port());
        let sentinels = (0..SENTINELS).map(start).collect::<Result<Vec<_>>>()?;
        for sentinel in &sentinels {
            sentinel.until("INFO sentinel", &format!("slaves=1,sentinels={SENTINELS}"))?;
        }
        Ok(Self {
            master,
            replica,
            sentinels,
        })
    }

    /// The address of a store there; another prefix is another store.
    #[must_use]
    pub fn address(&self, master: &str, prefix: &str) -> String {
        let hosts: Vec<String> = self
            .sentinels
            .iter()
            .map(|sentinel| format!("127.0.0.1:{}", sentinel.port()))
            .collect();
        format!("redis+sentinel://{}/{master}?prefix={prefix}", hosts.join(","))
    }

    /// The first master.
    #[must_use]
    pub fn master(&self) -> &RedisServer {
        &self.master
    }

    /// Its replica.
    #[must_use]
    pub fn replica(&self) -> &RedisServer {
        &self.replica
    }

    /// Kills the master as a crash of its machine would.
    pub fn kill_master(&mut self) {
        self.master.kill();
    }

    /// Kills a sentinel.
    pub fn kill_sentinel(&mut self, number: usize) {
        self.sentinels[number % SENTINELS].kill();
    }

    /// Waits until the replica is the master, for all sentinels.
    ///
    /// # Errors
    /// It does not become it in time.
    pub fn until_replaced(&self) -> Result<()> {
        self.replica.until("INFO replication", "role:master")
    }
}
