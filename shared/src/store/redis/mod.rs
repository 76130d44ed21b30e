//! The engine for many machines: a Redis or Valkey server, or a cluster of them.
//!
//! All that changes goes through three scripts, see `shared/lua`. A process collects the batches that wait and sends
//! them as one call, see [`committer`]; calls are numbered, so that one whose answer was lost is not done twice, see
//! [`lane`]. The connections live on a thread of the store's own and come back by themselves, see [`link`].

mod address;
mod claim;
mod clock;
mod committer;
mod durability;
mod edges;
mod fault;
mod find;
mod hot;
mod lane;
mod link;
mod listen;
mod lists;
mod pack;
mod packed;
mod pause;
mod read;
mod run_record;
mod schedules;
mod script;
mod settings;
mod shard;
mod signal;
mod survey;
mod upkeep;

pub use address::without_user;
pub use durability::{Remark, ServerReport, Weight};
pub use survey::Survey;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::document::{decode_bytes, encode};
use super::{
    ClaimRequest, Claimed, Commit, Due, EventRecord, Extension, JobQuery, Lead, Match, Page, RunQuery, Store,
    StoreError, WorkSignal, WorkerRecord,
};
use crate::batch::{Batch, FileRecord, JournalEntry, KeyClaim};
use crate::clock::{Clock, entropy};
use crate::dag::Edge;
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, LeaseToken, Mail};
use crate::run::{Pausable, Pause, RunView};
use crate::schedule::Schedule;
use crate::time::Timestamp;
use address::Address;
use clock::ServerClock;
use committer::{Committer, News};
use lane::Lane;
use link::Link;
use packed::Packed;
use run_record::RunCache;
use shard::Shard;

/// How long opening waits for a server that is away: whoever gave a wrong address wants to know soon.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);

/// How a store is used.
#[derive(Clone)]
pub struct RedisOptions {
    /// What time is measured by; by default the server's clock.
    pub clock: Option<Arc<dyn Clock>>,
    /// For how long a call waits for a server that is away, in milliseconds, before the store counts as not available.
    pub patience_ms: u64,
}

impl RedisOptions {
    /// Half a minute: a restart takes seconds, and a fail-over by sentinels some ten.
    pub const PATIENCE_MS: u64 = 30_000;
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            clock: None,
            patience_ms: Self::PATIENCE_MS,
        }
    }
}

/// A shard with what changes it.
struct Place {
    shard: Shard,
    /// The same shard for calls that are about all shards, which one that is away must not hold up.
    quick: Shard,
    committer: Committer,
    claims: Lane,
}

/// A store on a server, which any number of processes of any machines may share.
pub struct RedisStore {
    clock: Arc<dyn Clock>,
    link: Arc<Link>,
    places: Vec<Place>,
    shards: Vec<Shard>,
    runs: RunCache,
    news: News,
    /// The shard that the next claim begins with.
    turn: AtomicUsize,
    /// The thread that the connections live on; taken when the store is dropped.
    runtime: Option<Runtime>,
}

impl RedisStore {
    /// Opens the store at an address: `redis://`, `rediss://`, `unix://`, `redis+sentinel://hosts/master` or
    /// `redis+cluster://hosts`. A server that would lose work is refused.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] if the address or the server will not do, [`StoreError::Newer`] if the store is of a later
    /// format, [`StoreError::Unavailable`] if the server does not answer in time.
    pub async fn open(address: &str, options: RedisOptions) -> Result<Self, StoreError> {
        let address = Address::parse(address)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("legwork-redis")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Unavailable {
                message: format!("no thread for its connections: {error}"),
            })?;
        let patience = Duration::from_millis(options.patience_ms);
        let link = Link::new(address, runtime.handle().clone(), patience.min(OPEN_PATIENCE));
        // From here on, whatever fails ends the runtime in the background.
        let mut store = Self {
            clock: Arc::new(ServerClock::default()),
            news: News {
                channel: format!("{{{}}}:changes", link.address().prefix).into_bytes().into(),
                voice: entropy().to_be_bytes(),
                changes: watch::Sender::new(0),
            },
            link,
            places: Vec::new(),
            shards: Vec::new(),
            runs: RunCache::default(),
            turn: AtomicUsize::new(0),
            runtime: Some(runtime),
        };
        let mut survey = store.survey().await?;
        survey.check()?;
        survey.shards = settings::agree(&store.link).await?;
        survey.warn(&store.link.address().shown);
        store.shards = (0..survey.shards)
            .map(|number| Shard::of(&store.link, number))
            .collect();
        store.clock = match options.clock {
            Some(clock) => clock,
            None => ServerClock::start(&store.link).await?,
        };
        // Whoever may not run scripts should learn it now, and not with the first job.
        store.shards[0].look(&[]).await?;
        listen::start(&store.link, &store.news).await?;
        let place = |shard: &Shard| {
            let quick = Shard {
                link: shard.link.quick(),
                tag: shard.tag.clone(),
            };
            Place {
                committer: Committer::start(shard, &store.news),
                claims: Lane::new(quick.link.clone(), &shard.tag),
                shard: shard.clone(),
                quick,
            }
        };
        store.places = store.shards.iter().map(place).collect();
        store.link.opened(patience);
        Ok(store)
    }

    /// How the store's servers are set up.
    ///
    /// # Errors
    /// [`StoreError`] if they cannot be asked.
    pub async fn survey(&self) -> Result<Survey, StoreError> {
        Survey::of(&self.link, self.shards.len()).await
    }

    /// The places in the order in which the next claim asks them: each comes first in its turn, and of those that lead to
    /// nobody, one is tried once all others have been.
    fn in_turn(&self) -> impl Iterator<Item = &Place> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % self.places.len();
        let in_turn = || self.places[first..].iter().chain(&self.places[..first]);
        let is_down = |place: &&Place| place.quick.link.is_down();
        let well = in_turn().filter(move |place| !is_down(place));
        well.chain(in_turn().filter(is_down).take(1))
    }

    fn place(&self, slot: u8) -> &Place {
        &self.places[self.shard_of(slot)]
    }

    fn shard(&self, slot: u8) -> &Shard {
        &self.place(slot).shard
    }
}

impl Drop for RedisStore {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Nobody waits for an answer any more; and a runtime may not be waited for inside another.
            runtime.shutdown_background();
        }
    }
}

#[async_trait]
impl Store for RedisStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.news.changes.subscribe()
    }

    fn work_signal(&self, queues: &[String]) -> Box<dyn WorkSignal> {
        Box::new(signal::TokenSignal::new(&self.shards, queues))
    }

    fn shard_of(&self, slot: u8) -> usize {
        usize::from(slot) % self.places.len()
    }

    async fn commit(&self, batch: Batch) -> Result<Commit, StoreError> {
        let slot = packed::slot_of(&batch, self.places.len())?;
        self.place(slot).committer.commit(Packed::of(batch)?).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let mut claimed = Vec::new();
        let (mut answered, mut missed) = (false, None);
        for place in self.in_turn() {
            let slots = request.slots - claimed.len();
            if slots == 0 || request.queues.is_empty() {
                return Ok(claimed);
            }
            let request = ClaimRequest {
                slots,
                ..request.clone()
            };
            let now = self.now();
            match claim::claim(&place.quick, &place.claims, &self.news, &self.runs, &request, now).await {
                Ok(jobs) => {
                    answered = true;
                    claimed.extend(jobs);
                }
                // What other shards gave is not to be lost over it, and they are to be asked as ever.
                Err(error) if error.is_transient() => missed = Some(error),
                Err(error) => return Err(error),
            }
        }
        match missed {
            Some(error) if !answered => Err(error),
            _ => Ok(claimed),
        }
    }

    async fn extend(&self, tokens: &[LeaseToken], until: Timestamp) -> Result<Vec<Extension>, StoreError> {
        let mut here: Vec<Vec<usize>> = vec![Vec::new(); self.places.len()];
        for (at, token) in tokens.iter().enumerate() {
            here[usize::from(token.job.slot()) % self.places.len()].push(at);
        }
        let of_places = self.places.iter().zip(&here).filter(|(_, here)| !here.is_empty());
        // All at once: the leases of one shard must not lapse over another that is away.
        let extended = join_all(of_places.map(|(place, here)| async move {
            let of_shard: Vec<LeaseToken> = here.iter().map(|at| tokens[*at]).collect();
            claim::extend(&place.quick, &of_shard, until).await
        }));
        let mut extensions = Vec::with_capacity(tokens.len());
        for (here, extended) in here.iter().filter(|here| !here.is_empty()).zip(extended.await) {
            extensions.extend(here.iter().copied().zip(extended?));
        }
        extensions.sort_unstable_by_key(|(at, _)| *at);
        Ok(extensions.into_iter().map(|(_, extension)| extension).collect())
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        Ok(read::jobs(self.shard(id.slot()), &[id]).await?.pop())
    }

    async fn run(&self, id: RunId) -> Result<Option<RunView>, StoreError> {
        Ok(read::views(self.shard(id.slot()), &self.runs, &[id]).await?.pop())
    }

    async fn jobs(&self, query: &JobQuery) -> Result<Page<Job>, StoreError> {
        let slot = query.run.map(|run| run.slot());
        let slot = slot.or(query.parent.map(|parent| parent.slot()));
        match slot {
            Some(slot) => lists::jobs(std::slice::from_ref(self.shard(slot)), query).await,
            None => lists::jobs(&self.shards, query).await,
        }
    }

    async fn runs(&self, query: &RunQuery) -> Result<Page<RunView>, StoreError> {
        lists::runs(&self.shards, &self.runs, query).await
    }

    async fn dependents(&self, parent: JobId) -> Result<Vec<Edge>, StoreError> {
        read::dependents(self.shard(parent.slot()), parent).await
    }

    async fn dependencies(&self, child: JobId) -> Result<Vec<Edge>, StoreError> {
        read::dependencies(self.shard(child.slot()), &[child]).await
    }

    async fn edges(&self, run: RunId) -> Result<Vec<Edge>, StoreError> {
        let shard = self.shard(run.slot());
        let jobs = lists::job_ids_of(shard, run).await?;
        read::dependencies(shard, &jobs).await
    }

    async fn journal(&self, job: JobId, from: u32, limit: usize) -> Result<Vec<JournalEntry>, StoreError> {
        read::journal(self.shard(job.slot()), job, from, limit).await
    }

    async fn mail(&self, job: JobId) -> Result<Vec<Mail>, StoreError> {
        read::mail(self.shard(job.slot()), job).await
    }

    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<EventRecord>, StoreError> {
        read::events(self.shard(run.slot()), run, after, limit).await
    }

    async fn last_event(&self, run: RunId) -> Result<Option<EventRecord>, StoreError> {
        read::last_event(self.shard(run.slot()), run).await
    }

    async fn file(&self, run: RunId, path: &str) -> Result<Option<FileRecord>, StoreError> {
        read::file(self.shard(run.slot()), run, path).await
    }

    async fn files(&self, run: RunId, prefix: &str) -> Result<Vec<FileRecord>, StoreError> {
        read::files(self.shard(run.slot()), run, prefix).await
    }

    async fn key(&self, tenant: &str, key: &str) -> Result<Option<KeyClaim>, StoreError> {
        let shard = self.shard(KeyClaim::slot_of(tenant, key));
        let command = redis::cmd("GET")
            .arg(shard.key("k", &packed::key_name(tenant, key)))
            .take();
        let stored = shard::bytes(shard.link.command(&command).await?)?;
        stored
            .map(|packed| committer::claim_of(tenant, key, &packed))
            .transpose()
    }

    async fn resolve(&self, prefix: &str, limit: usize) -> Result<Match, StoreError> {
        lists::resolve(&self.shards, prefix, limit).await
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Due, StoreError> {
        lists::due(&self.shards, now, limit).await
    }

    async fn held(&self, worker: WorkerId) -> Result<Vec<Job>, StoreError> {
        lists::held(&self.shards, worker).await
    }

    async fn put_worker(&self, worker: &WorkerRecord) -> Result<(), StoreError> {
        let mut command = redis::cmd("HSET");
        command.arg(settings::workers_key(&self.link)).arg(worker.id.as_bytes());
        self.link.command(command.arg(encode(worker, "a worker")?)).await?;
        Ok(())
    }

    async fn remove_worker(&self, id: WorkerId) -> Result<(), StoreError> {
        let mut command = redis::cmd("HDEL");
        command.arg(settings::workers_key(&self.link)).arg(id.as_bytes());
        self.link.command(&command).await?;
        Ok(())
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        let command = redis::cmd("HVALS").arg(settings::workers_key(&self.link)).take();
        let stored = shard::all_bytes(self.link.command(&command).await?)?;
        let workers = stored.iter().map(|doc| decode_bytes(doc, "a worker"));
        let mut workers: Vec<WorkerRecord> = workers.collect::<Result<_, _>>()?;
        workers.sort_unstable_by_key(|worker| worker.id);
        Ok(workers)
    }

    async fn lead(&self, who: WorkerId, until: Timestamp) -> Result<Lead, StoreError> {
        upkeep::lead(&self.link, who, until, self.now()).await
    }

    async fn leader(&self) -> Result<Option<Lead>, StoreError> {
        upkeep::leader(&self.link, self.now()).await
    }

    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError> {
        pause::pause(&self.shards, &self.news, pause).await
    }

    async fn resume(&self, of: &Pausable, by: &str) -> Result<bool, StoreError> {
        pause::resume(&self.shards, &self.news, of, by, self.now()).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        pause::pauses(&self.shards).await
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Result<(), StoreError> {
        schedules::put(&self.link, &self.news, schedule).await
    }

    async fn remove_schedule(&self, tenant: &str, name: &str) -> Result<bool, StoreError> {
        schedules::remove(&self.link, &self.news, tenant, name).await
    }

    async fn schedules(&self, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError> {
        schedules::list(&self.link, tenant).await
    }

    async fn prune(&self, run: RunId, last: u64) -> Result<(), StoreError> {
        upkeep::prune(self.shard(run.slot()), &self.runs, &self.news, run, last).await
    }
}
