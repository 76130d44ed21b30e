//! The records of runs, and the runs and agents that a process has read before.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use redis::{Pipeline, pipe};

use super::pack::Unpacker;
use super::shard::{Shard, bytes};
use crate::agent::AgentSpec;
use crate::budget::Counter;
use crate::id::RunId;
use crate::run::Run;
use crate::store::StoreError;
use crate::store::document::{corrupt, decode_bytes};

/// Runs and agents that are kept decoded. A worker's jobs are of a few runs at a time; when there are more, they are
/// decoded again, which costs some 20 µs each.
const CACHED_MAX: usize = 1_024;

/// What of a run changes with its jobs: its version and its counters, in the order of [`Counter::ALL`].
pub(super) struct RunHead {
    version: u64,
    figures: Vec<u64>,
}

impl RunHead {
    /// Reads a head; the counters behind the last that was ever charged are not there and zero.
    pub fn read(packed: &[u8]) -> Result<Self, StoreError> {
        let mut from = Unpacker::of(packed);
        let len = from.list()?;
        let version = from.uint()?;
        let figures = (1..len).step_by(2).map(|_| Ok(from.uint()? << 32 | from.uint()?));
        let figures = figures.collect::<Result<_, StoreError>>()?;
        Ok(Self { version, figures })
    }

    /// The counters that are not zero.
    pub fn counters(&self) -> BTreeMap<Counter, u64> {
        Counter::ALL
            .into_iter()
            .zip(self.figures.iter().copied())
            .filter(|(_, value)| *value > 0)
            .collect()
    }
}

type Hash = [u8; 32];

/// The runs and agents that this process has decoded before: neither a claim nor a list decodes one twice.
#[derive(Default)]
pub(super) struct RunCache {
    runs: Mutex<HashMap<RunId, Arc<Run>>>,
    agents: Mutex<HashMap<Hash, Arc<AgentSpec>>>,
}

impl RunCache {
    /// The run of a record.
    pub async fn run(&self, shard: &Shard, id: RunId, head: &RunHead, document: &[u8]) -> Result<Arc<Run>, StoreError> {
        let cached = lock(&self.runs).get(&id).cloned();
        if let Some(run) = cached.filter(|run| run.version == head.version) {
            return Ok(run);
        }
        let mut from = Unpacker::of(document);
        from.list()?;
        let names = names(from.bytes()?)?;
        let mut run: Run = decode_bytes(from.bytes()?, "a run")?;
        run.version = head.version;
        let hashes: Vec<Hash> = names.iter().map(|(_, hash)| *hash).collect();
        let agents = self.agents(shard, &hashes).await?;
        run.agents = names.into_iter().map(|(name, _)| name).zip(agents).collect();
        let run = Arc::new(run);
        put(&self.runs, id, run.clone());
        Ok(run)
    }

    async fn agents(&self, shard: &Shard, hashes: &[Hash]) -> Result<Vec<Arc<AgentSpec>>, StoreError> {
        let mut found: Vec<Option<Arc<AgentSpec>>> = {
            let cache = lock(&self.agents);
            hashes.iter().map(|hash| cache.get(hash).cloned()).collect()
        };
        let missing = hashes.iter().zip(&found).filter(|(_, found)| found.is_none());
        let mut wanted: Pipeline = pipe();
        for (hash, _) in missing {
            wanted.cmd("GET").arg(shard.key("g", hash));
        }
        let mut answers = shard.ask(&wanted).await?.into_iter();
        for (hash, found) in hashes.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            let doc = answers.next().map(bytes).transpose()?.flatten();
            let doc = doc.ok_or_else(|| corrupt("an agent", "it is not on record"))?;
            let agent: Arc<AgentSpec> = Arc::new(decode_bytes(&doc, "an agent")?);
            put(&self.agents, *hash, agent.clone());
            *found = Some(agent);
        }
        Ok(found.into_iter().flatten().collect())
    }
}

/// The agents of a run by their names, as hashes.
fn names(packed: &[u8]) -> Result<Vec<(String, Hash)>, StoreError> {
    let mut from = Unpacker::of(packed);
    let names = (0..from.list()?).map(|_| {
        from.list()?;
        let name = from.text()?.to_owned();
        let hash = from.bytes()?.try_into();
        Ok((name, hash.map_err(|_| corrupt("an agent", "its hash is not one"))?))
    });
    names.collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a decoded record. A full cache starts anew: cheaper than keeping an order, and rare.
fn put<K: std::hash::Hash + Eq, V>(cache: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut cache = lock(cache);
    if cache.len() >= CACHED_MAX {
        cache.clear();
    }
    cache.insert(key, value);
}
