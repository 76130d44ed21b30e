//! The one place where the truth is kept: a contract, and the engines that keep it.
//!
//! Engines never decide. They compare versions, add to bounded counters, count down unmet sets, and write a batch
//! all or nothing. The two hot transitions that happen inside an engine, claim and release, are [`crate::job::apply`]'s.

#[cfg(any(feature = "sqlite", feature = "redis"))]
mod document;
mod error;
pub mod memory;
pub mod presence;
mod query;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod turn;
mod work_signal;

pub use error::StoreError;
pub use query::{
    ClaimRequest, Claimed, Commit, Due, EventRecord, Extension, JobQuery, Lead, Match, Page, RunQuery, WorkerRecord,
};
pub use work_signal::WorkSignal;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::batch::{Batch, FileRecord, JournalEntry, KeyClaim};
use crate::dag::Edge;
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, LeaseToken, Mail};
use crate::run::{Pausable, Pause, RunView};
use crate::schedule::Schedule;
use crate::time::Timestamp;

/// A durable store of runs and jobs. Every sentence here has a case in the conformance suite.
///
/// All methods may be called from any task of any process that shares the store. A future that is dropped leaves the
/// call undecided: it may or may not have happened, but never in part.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// The store's clock. Leases, start times and time-outs are measured by it alone.
    fn now(&self) -> Timestamp;

    /// A counter that grows with each change of the store, by whichever process.
    ///
    /// A change by this process shows at once, by another one within 50 ms. Waiting on it costs no CPU to speak of.
    fn changes(&self) -> watch::Receiver<u64>;

    /// What tells a claimer of those queues when to claim.
    ///
    /// A job that becomes claimable ends the wait of at least one claimer that waits for its queue.
    fn work_signal(&self, queues: &[String]) -> Box<dyn WorkSignal> {
        let _ = queues;
        Box::new(work_signal::EachChange(self.changes()))
    }

    /// The shard in which the records of a slot stand. One batch touches one shard; a store that is not spread has one.
    fn shard_of(&self, slot: u8) -> usize {
        let _ = slot;
        0
    }

    /// Writes a batch, all or nothing; once it returns `Ok`, the change survives a crash of every process.
    ///
    /// - A key that stands for the same fingerprint gives [`Commit::Replayed`] and writes nothing; one that stands for
    ///   another is [`StoreError::KeyConflict`], which shows nothing of the first payload.
    /// - Each inserted run or job must be new, each replaced or touched one exactly one version behind, else
    ///   [`StoreError::Conflict`].
    /// - A charge that must fit and would take its counter past the bound is [`StoreError::Exhausted`]. Other charges
    ///   always apply; a counter never falls below zero.
    /// - Appended journal entries must continue the stored journal without a gap, else [`StoreError::Conflict`].
    /// - Counting down the same edge twice counts once.
    /// - A blocked job whose unmet set is empty at the end of the batch is released in the same commit, by
    ///   [`crate::job::apply`] with `Release`, its events after the batch's own. It is released once.
    /// - All that it touches stands in one shard, see [`Self::shard_of`], else it is [`StoreError::Unfit`].
    /// - Events of a run are numbered from 1 without gaps, in the order of commits and within them of the batch.
    async fn commit(&self, batch: Batch) -> Result<Commit, StoreError>;

    /// Moves up to `request.slots` queued jobs to running, each under a fresh lease.
    ///
    /// Atomic per job; never returns a job twice while its lease lives. Only jobs of the named queues, and none of a queue
    /// or run that is paused. The answer carries each job's dependents, complete as of its version. After a crash a claimed
    /// job stays running until its lease expires or its holder is known to be gone.
    ///
    /// Order within a queue: higher priority; then the runs take turns, so that each that has jobs there gets one in its
    /// turn, however many it has; then by id. A job gets its turn when it is queued, after those of its run that are queued
    /// already. Of several queues, the one goes first whose head has the higher priority, then waits longer, then by id.
    /// A store in several shards keeps this order in each of them, and takes from each in its turn.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError>;

    /// Extends leases to `until` where the token still holds its job; never shortens one.
    ///
    /// Does not change the job's version. The answer, in the order of `tokens`, says of each whether it is held, and
    /// what its worker should look at.
    async fn extend(&self, tokens: &[LeaseToken], until: Timestamp) -> Result<Vec<Extension>, StoreError>;

    /// A job by its id.
    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError>;

    /// A run by its id, with its counters and derived state.
    async fn run(&self, id: RunId) -> Result<Option<RunView>, StoreError>;

    /// Jobs by query, in the order of their ids, a page at a time.
    ///
    /// Following `next` visits each matching job that exists throughout exactly once.
    async fn jobs(&self, query: &JobQuery) -> Result<Page<Job>, StoreError>;

    /// Runs, newest first, a page at a time.
    async fn runs(&self, query: &RunQuery) -> Result<Page<RunView>, StoreError>;

    /// The edges in which the job is the parent, in the order of the children.
    async fn dependents(&self, parent: JobId) -> Result<Vec<Edge>, StoreError>;

    /// The edges in which the job is the child, in the order of the parents.
    async fn dependencies(&self, child: JobId) -> Result<Vec<Edge>, StoreError>;

    /// All edges of a run, ordered by child and parent.
    async fn edges(&self, run: RunId) -> Result<Vec<Edge>, StoreError>;

    /// A job's journal from place `from` on, at most `limit` entries.
    async fn journal(&self, job: JobId, from: u32, limit: usize) -> Result<Vec<JournalEntry>, StoreError>;

    /// The updates that a job has not read, in the order they were sent.
    async fn mail(&self, job: JobId) -> Result<Vec<Mail>, StoreError>;

    /// A run's events after number `after`, at most `limit`.
    async fn events(&self, run: RunId, after: u64, limit: usize) -> Result<Vec<EventRecord>, StoreError>;

    /// The newest event of a run.
    async fn last_event(&self, run: RunId) -> Result<Option<EventRecord>, StoreError>;

    /// The published file at that path of a run's workspace.
    async fn file(&self, run: RunId, path: &str) -> Result<Option<FileRecord>, StoreError>;

    /// The published files of a run whose path begins with `prefix`, ordered by path.
    async fn files(&self, run: RunId, prefix: &str) -> Result<Vec<FileRecord>, StoreError>;

    /// What a key stands for.
    async fn key(&self, tenant: &str, key: &str) -> Result<Option<KeyClaim>, StoreError>;

    /// The runs and jobs whose id begins with `prefix`, at most `limit` of each.
    async fn resolve(&self, prefix: &str, limit: usize) -> Result<Match, StoreError>;

    /// What maintenance has to look at by `now`, at most `limit` of each kind, and when to look again.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Due, StoreError>;

    /// The running jobs that the worker holds.
    async fn held(&self, worker: WorkerId) -> Result<Vec<Job>, StoreError>;

    /// Records a worker, or that it is still there.
    async fn put_worker(&self, worker: &WorkerRecord) -> Result<(), StoreError>;

    /// Forgets a worker; it is no error if nobody knows it.
    async fn remove_worker(&self, id: WorkerId) -> Result<(), StoreError>;

    /// All workers on record, ordered by id.
    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError>;

    /// Asks for the lead of maintenance until `until`, and tells who has it now.
    ///
    /// Whoever asks gets it, unless another holds it and it has not lapsed. One who holds it keeps it until the new
    /// moment; one that has passed gives it up. It survives a crash of its holder until it lapses.
    async fn lead(&self, who: WorkerId, until: Timestamp) -> Result<Lead, StoreError>;

    /// Who leads maintenance now; nobody, if the lead has lapsed.
    async fn leader(&self) -> Result<Option<Lead>, StoreError>;

    /// Holds the jobs of a queue or a run back: once it has returned, no claim hands one out, whether it was queued before or
    /// later. Attempts under way go on, and nothing else about the jobs changes.
    ///
    /// A run's log tells of it. What is paused already stays so by the first pause, and a run that is not there cannot be
    /// paused: both answer `false`.
    async fn pause(&self, pause: &Pause) -> Result<bool, StoreError>;

    /// Ends a pause: the jobs may be claimed in their old order, and whoever waits for work learns of it. A run's log tells
    /// of it. `false` if it was not paused.
    async fn resume(&self, of: &Pausable, by: &str) -> Result<bool, StoreError>;

    /// All pauses, queues before runs, by name and id.
    async fn pauses(&self) -> Result<Vec<Pause>, StoreError>;

    /// Records a schedule: a new one at version 1, or in place of one exactly one version behind, else
    /// [`StoreError::Conflict`].
    async fn put_schedule(&self, schedule: &Schedule) -> Result<(), StoreError>;

    /// Forgets a schedule; `false` if there is none of that name. The runs that it has made stay.
    async fn remove_schedule(&self, tenant: &str, name: &str) -> Result<bool, StoreError>;

    /// The schedules of a tenant, or of all, by tenant and name.
    async fn schedules(&self, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError>;

    /// Deletes a run that has ended, if its newest event has the number `last`: its jobs and their graph, journals and
    /// mail, its files, its log and its pause, and the idempotency keys that stand for it.
    ///
    /// A run with a younger event, or with a job that has not ended, is a [`StoreError::Conflict`] and stays whole. One
    /// that is not there is no error. A long one may be deleted in parts: from the first on it is not there any more,
    /// and what a crash has left of it goes with the next call.
    async fn prune(&self, run: RunId, last: u64) -> Result<(), StoreError>;
}
