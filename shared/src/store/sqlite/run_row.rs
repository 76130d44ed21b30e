//! The record of a run as a row, and the runs that a process has read before.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::error::{classify, corrupt};
use super::job_row;
use super::query::{prepared, sql};
use super::value::{column, decode, document, encode};
use crate::agent::AgentSpec;
use crate::budget::Counter;
use crate::id::RunId;
use crate::run::{Run, RunState, RunView};
use crate::store::StoreError;

/// The shared figures of a run, in the order of [`Counter::ALL`].
pub(super) type Counters = [u64; Counter::ALL.len()];

/// Runs that are kept decoded. A worker's jobs are of a few runs at a time; when there are more, the next claims decode
/// again, which costs some 20 µs each.
const CACHED_RUNS_MAX: usize = 1_024;
/// Agents that are kept decoded, for the same reason.
const CACHED_AGENTS_MAX: usize = 1_024;

/// A run ready to be written.
pub(super) struct RunRow {
    pub id: RunId,
    pub version: u64,
    tenant: String,
    agents: Vec<([u8; 32], String)>,
    agents_doc: String,
    doc: String,
}

impl RunRow {
    /// The row of `run`.
    pub fn of(mut run: Run) -> Result<Self, StoreError> {
        let mut hashes = BTreeMap::new();
        let mut agents = Vec::with_capacity(run.agents.len());
        for (name, agent) in std::mem::take(&mut run.agents) {
            let doc = encode(&*agent, "an agent")?;
            let hash: [u8; 32] = Sha256::digest(doc.as_bytes()).into();
            hashes.insert(name, hex(&hash));
            agents.push((hash, doc));
        }
        Ok(Self {
            id: run.id,
            version: run.version,
            agents,
            agents_doc: encode(&hashes, "the agents of a run")?,
            doc: encode(&run, "a run")?,
            tenant: run.tenant,
        })
    }

    /// Whether the run is not on record yet.
    pub fn is_new(&self) -> bool {
        self.version == 1
    }

    /// Inserts a new run with its counters.
    pub fn insert(&self, conn: &Connection, counters: &Counters) -> rusqlite::Result<()> {
        self.insert_agents(conn)?;
        let [open, jobs, retries, input, output, tokens, cost, tools] = counters.map(u64::cast_signed);
        prepared(conn, sql!("run_insert"))?.execute(params![
            self.id.as_bytes(),
            self.version.cast_signed(),
            self.tenant,
            self.agents_doc,
            self.doc,
            open,
            jobs,
            retries,
            input,
            output,
            tokens,
            cost,
            tools
        ])?;
        Ok(())
    }

    /// Replaces a run that is on record; its counters stay.
    pub fn update(&self, conn: &Connection) -> rusqlite::Result<()> {
        self.insert_agents(conn)?;
        prepared(conn, sql!("run_update"))?.execute(params![
            self.id.as_bytes(),
            self.version.cast_signed(),
            self.tenant,
            self.agents_doc,
            self.doc
        ])?;
        Ok(())
    }

    fn insert_agents(&self, conn: &Connection) -> rusqlite::Result<()> {
        for (hash, doc) in &self.agents {
            prepared(conn, sql!("agent_insert"))?.execute(params![hash, doc])?;
        }
        Ok(())
    }
}

/// The version of a run; zero if there is none.
pub(super) fn version(conn: &Connection, id: RunId) -> rusqlite::Result<u64> {
    let version: Option<i64> = prepared(conn, sql!("run_version"))?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(version.map_or(0, i64::cast_unsigned))
}

/// The counters of a run; all zero if there is no such run.
pub(super) fn counters(conn: &Connection, id: RunId) -> rusqlite::Result<Counters> {
    let mut counters = Counters::default();
    let mut statement = prepared(conn, sql!("run_counters"))?;
    let mut rows = statement.query([id.as_bytes()])?;
    if let Some(row) = rows.next()? {
        for (index, counter) in counters.iter_mut().enumerate() {
            *counter = row.get::<_, i64>(index)?.cast_unsigned();
        }
    }
    Ok(counters)
}

/// Writes the counters of a run.
pub(super) fn set_counters(conn: &Connection, id: RunId, counters: &Counters) -> rusqlite::Result<()> {
    let [open, jobs, retries, input, output, tokens, cost, tools] = counters.map(u64::cast_signed);
    prepared(conn, sql!("run_counters_set"))?.execute(params![
        id.as_bytes(),
        open,
        jobs,
        retries,
        input,
        output,
        tokens,
        cost,
        tools
    ])?;
    Ok(())
}

/// The runs and agents that this process has decoded before: neither a claim nor a list decodes a run twice.
#[derive(Default)]
pub(super) struct RunCache {
    runs: Mutex<HashMap<RunId, Arc<Run>>>,
    agents: Mutex<HashMap<[u8; 32], Arc<AgentSpec>>>,
}

impl RunCache {
    /// The record of a run as of the connection's transaction.
    pub fn run(&self, conn: &Connection, id: RunId) -> Result<Option<Arc<Run>>, StoreError> {
        let version = version(conn, id).map_err(|error| classify(&error))?;
        if version == 0 {
            return Ok(None);
        }
        let cached = lock(&self.runs).get(&id).filter(|run| run.version == version).cloned();
        if cached.is_some() {
            return Ok(cached);
        }
        let run = Arc::new(self.load(conn, id)?);
        put(&self.runs, CACHED_RUNS_MAX, id, run.clone());
        Ok(Some(run))
    }

    /// A run with its counters and derived state.
    pub fn view(&self, conn: &Connection, id: RunId) -> Result<Option<RunView>, StoreError> {
        let Some(run) = self.run(conn, id)? else {
            return Ok(None);
        };
        let figures = counters(conn, id).map_err(|error| classify(&error))?;
        let counters: BTreeMap<Counter, u64> = Counter::ALL
            .into_iter()
            .zip(figures)
            .filter(|(_, value)| *value > 0)
            .collect();
        let open = counters.get(&Counter::Open).copied().unwrap_or(0);
        let mut results = Vec::new();
        if open == 0 {
            for job in &run.results {
                results.extend(job_row::state(conn, *job)?);
            }
        }
        let state = RunState::derive(open, results);
        Ok(Some(RunView { run, state, counters }))
    }

    /// Forgets the runs: they may be of a transaction that is rolled back.
    pub fn clear(&self) {
        lock(&self.runs).clear();
    }

    fn load(&self, conn: &Connection, id: RunId) -> Result<Run, StoreError> {
        let (hashes, mut run) = row_of(conn, id)?;
        for (name, hash) in hashes {
            let hash = unhex(&hash).ok_or_else(|| corrupt(id, "an agent's hash is not one"))?;
            run.agents.insert(name, self.agent(conn, hash)?);
        }
        Ok(run)
    }

    fn agent(&self, conn: &Connection, hash: [u8; 32]) -> Result<Arc<AgentSpec>, StoreError> {
        if let Some(agent) = lock(&self.agents).get(&hash) {
            return Ok(agent.clone());
        }
        let text: String = prepared(conn, sql!("agent"))
            .and_then(|mut statement| statement.query_row([hash], |row| row.get(0)))
            .map_err(|error| corrupt("an agent", error))?;
        let agent: Arc<AgentSpec> = Arc::new(decode(&text, "an agent")?);
        put(&self.agents, CACHED_AGENTS_MAX, hash, agent.clone());
        Ok(agent)
    }
}

fn row_of(conn: &Connection, id: RunId) -> Result<(BTreeMap<String, String>, Run), StoreError> {
    let mut statement = prepared(conn, sql!("run")).map_err(|error| classify(&error))?;
    let mut rows = statement.query([id.as_bytes()]).map_err(|error| classify(&error))?;
    let row = rows.next().map_err(|error| classify(&error))?;
    let row = row.ok_or_else(|| corrupt(id, "it is not on record"))?;
    let mut run: Run = document(row, 2, "a run")?;
    run.version = column::<i64>(row, 0)?.cast_unsigned();
    Ok((document(row, 1, "the agents of a run")?, run))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a decoded record. A full cache starts anew: cheaper than keeping an order, and rare.
fn put<K: std::hash::Hash + Eq, V>(cache: &Mutex<HashMap<K, V>>, max: usize, key: K, value: V) {
    let mut cache = lock(cache);
    if cache.len() >= max {
        cache.clear();
    }
    cache.insert(key, value);
}

fn hex(bytes: &[u8; 32]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}
