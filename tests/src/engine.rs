//! The engines of the store, each opened empty and under a clock that a test moves.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use legwork_shared::clock::SimClock;
use legwork_shared::store::Store;
use legwork_shared::store::memory::MemoryStore;
use legwork_shared::store::redis::{RedisOptions, RedisStore};
use legwork_shared::store::sqlite::{SqliteOptions, SqliteStore, Synchronous};
use legwork_shared::time::Timestamp;
use tempfile::TempDir;

use crate::redis_server::RedisServer;

/// The moment at which each clock begins.
pub const START: Timestamp = Timestamp(1_700_000_000_000);

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Maps in this process.
    Memory,
    /// A file in a folder of its own.
    Sqlite,
    /// A server of its own.
    Redis,
}

/// An empty store with what it stands on, which goes when this is dropped.
pub struct Opened {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock it goes by.
    pub clock: Arc<SimClock>,
    ground: Ground,
}

/// What a store stands on.
enum Ground {
    Memory,
    Folder(TempDir),
    Server(RedisServer),
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
        };
        let clock = Arc::new(SimClock::at(START));
        let store = open(&ground, "0", clock.clone()).await?;
        Ok(Self { store, clock, ground })
    }

    /// Another empty store on the same ground, with a clock of its own: on a server, that is cheaper than a new one.
    ///
    /// # Errors
    /// As [`Self::on`].
    pub async fn another(&mut self, name: &str) -> Result<()> {
        self.clock = Arc::new(SimClock::at(START));
        self.store = open(&self.ground, name, self.clock.clone()).await?;
        Ok(())
    }
}

async fn open(ground: &Ground, name: &str, clock: Arc<SimClock>) -> Result<Arc<dyn Store>> {
    Ok(match ground {
        Ground::Memory => Arc::new(MemoryStore::new(clock)),
        Ground::Folder(folder) => Arc::new(open_file(&folder.path().join(format!("{name}.db")), clock)?),
        Ground::Server(server) => {
            let options = RedisOptions {
                clock: Some(clock),
                ..RedisOptions::default()
            };
            Arc::new(RedisStore::open(&server.address(name), options).await?)
        }
    })
}

/// Opens a file. Only processes end here, so nothing waits for the disk.
fn open_file(path: &Path, clock: Arc<SimClock>) -> Result<SqliteStore> {
    let options = SqliteOptions {
        clock,
        synchronous: Synchronous::Normal,
        ..SqliteOptions::default()
    };
    Ok(SqliteStore::open(path, options)?)
}
