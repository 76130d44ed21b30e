//! The engines of the store, each opened empty and under a clock that a test moves: the one way in which tests open them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use legwork_shared::clock::SimClock;
use legwork_shared::store::memory::MemoryStore;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore, Synchronous};
use legwork_shared::store::{Store, StoreError};
use legwork_shared::time::Timestamp;
use tempfile::TempDir;

use crate::redis_cluster::RedisCluster;
use crate::redis_server::RedisServer;

/// The moment at which each clock begins.
pub const START: Timestamp = Timestamp(1_700_000_000_000);
/// The name of the first store on a ground: of its file, and of its keys.
const FIRST: &str = "lw";

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Maps in this process.
    Memory,
    /// A file in a folder of its own.
    Sqlite,
    /// A server of its own.
    Redis,
    /// A Valkey server of its own.
    Valkey,
    /// A cluster of its own, laid out in twelve shards.
    Cluster,
}

/// An empty store with what it stands on, which goes when this is dropped.
pub struct Opened {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock it goes by.
    pub clock: Arc<SimClock>,
    ground: Ground,
    name: String,
}

/// What a store stands on.
enum Ground {
    Memory,
    Folder(TempDir),
    Server(RedisServer),
    Cluster(RedisCluster),
}

impl Opened {
    /// An empty store of that engine.
    ///
    /// # Errors
    /// There is no room for a file, or no server.
    pub async fn on(engine: Engine) -> Result<Self> {
        let ground = match engine {
            Engine::Memory => Ground::Memory,
            Engine::Sqlite => Ground::Folder(TempDir::new()?),
            Engine::Redis => Ground::Server(RedisServer::start()?),
            Engine::Valkey => Ground::Server(RedisServer::start_program("valkey-server")?),
            Engine::Cluster => Ground::Cluster(RedisCluster::start()?),
        };
        let clock = Arc::new(SimClock::at(START));
        let store = ground.open(FIRST, clock.clone()).await?;
        let name = FIRST.to_owned();
        Ok(Self {
            store,
            clock,
            ground,
            name,
        })
    }

    /// Another empty store on the same ground, with a clock of its own: on a server, that is cheaper than a new one.
    ///
    /// # Errors
    /// As [`Self::on`].
    pub async fn another(&mut self, name: &str) -> Result<()> {
        self.clock = Arc::new(SimClock::at(START));
        self.store = self.ground.open(name, self.clock.clone()).await?;
        name.clone_into(&mut self.name);
        Ok(())
    }

    /// Lets the store go, as its process would at its end: an empty one in memory stands in its place.
    pub fn close(&mut self) {
        self.store = Arc::new(MemoryStore::new(self.clock.clone()));
    }

    /// Another handle on the same store, as another process would hold it.
    ///
    /// # Errors
    /// As [`Self::on`].
    pub async fn again(&self) -> Result<Arc<dyn Store>> {
        self.ground.open(&self.name, self.clock.clone()).await
    }

    /// Where the file is.
    ///
    /// # Panics
    /// If the engine has none.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.ground {
            Ground::Folder(folder) => file_in(folder, &self.name),
            _ => panic!("this engine has no file"),
        }
    }

    /// The server.
    ///
    /// # Panics
    /// If the engine has none.
    #[must_use]
    pub fn server(&self) -> &RedisServer {
        match &self.ground {
            Ground::Server(server) => server,
            _ => panic!("this engine has no server"),
        }
    }

    /// The server, to be killed and started again.
    ///
    /// # Panics
    /// If the engine has none.
    #[must_use]
    pub fn server_mut(&mut self) -> &mut RedisServer {
        match &mut self.ground {
            Ground::Server(server) => server,
            _ => panic!("this engine has no server"),
        }
    }

    /// The cluster.
    ///
    /// # Panics
    /// If the engine has none.
    #[must_use]
    pub fn cluster(&mut self) -> &mut RedisCluster {
        match &mut self.ground {
            Ground::Cluster(cluster) => cluster,
            _ => panic!("this engine has no cluster"),
        }
    }
}

impl Ground {
    async fn open(&self, name: &str, clock: Arc<SimClock>) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Memory => Arc::new(MemoryStore::new(clock)),
            Self::Folder(folder) => Arc::new(open_file(&file_in(folder, name), clock)?),
            Self::Server(server) => Arc::new(open_server(&server.address(name), clock).await?),
            Self::Cluster(cluster) => Arc::new(open_server(&cluster.address(name), clock).await?),
        })
    }
}

fn file_in(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(format!("{name}.db"))
}

/// Opens a file with a clock of the test. Only processes end here, so nothing waits for the disk.
///
/// # Errors
/// As [`SqliteStore::open`].
pub fn open_file(path: &Path, clock: Arc<SimClock>) -> Result<SqliteStore, StoreError> {
    let options = SqliteOptions {
        clock,
        synchronous: Synchronous::Normal,
        ..SqliteOptions::default()
    };
    SqliteStore::open(path, options)
}

/// Opens the store at an address with a clock of the test.
///
/// # Errors
/// As [`RedisStore::open`].
pub async fn open_server(address: &str, clock: Arc<SimClock>) -> Result<RedisStore, StoreError> {
    let options = RedisOptions {
        clock: Some(clock),
        ..RedisOptions::default()
    };
    RedisStore::open(address, options).await
}
