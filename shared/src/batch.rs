//! One atomic change of a store, as data.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::dag::{self, Edge};
use crate::id::{JobId, RunId, UpdateId};
use crate::job::{Charge, EventKind, Job, Mail, Transition};
use crate::run::Run;
use crate::time::Timestamp;

/// What a client may repeat: the same key with the same payload gives the same run, another payload is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyClaim {
    /// Whose key it is.
    pub tenant: String,
    /// The key, as the client chose it.
    pub key: String,
    /// SHA-256 of the payload, in hex.
    pub fingerprint: String,
    /// The run that the key stands for.
    pub run: RunId,
    /// The job, where the key is a job's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
}

impl KeyClaim {
    /// The slot in which a key is kept. The run that is submitted under it has an id of the same slot.
    #[must_use]
    pub fn slot_of(tenant: &str, key: &str) -> u8 {
        let hash = Sha256::new()
            .chain_update((tenant.len() as u64).to_be_bytes())
            .chain_update(tenant)
            .chain_update(key);
        hash.finalize()[0]
    }
}

/// An event before the store has numbered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewEvent {
    /// The run whose log it belongs to.
    pub run: RunId,
    /// The job it is about; absent for the run itself.
    pub job: Option<JobId>,
    /// What happened.
    pub kind: EventKind,
}

/// A charge on a run's counter, with the bound it must not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCharge {
    /// The run.
    pub run: RunId,
    /// The change.
    pub charge: Charge,
    /// The bound, checked where the charge must fit.
    pub bound: Option<u64>,
}

/// A journal entry: what the agent loop or a runner needs to go on after a crash. The store does not look inside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The job.
    pub job: JobId,
    /// Its place, from 0, without gaps.
    pub seq: u32,
    /// The attempt that wrote it.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// What happened in the step.
    pub entry: Value,
}

/// A file of a run's workspace. Its bytes are an artifact of that hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The run.
    pub run: RunId,
    /// Where it is in the workspace.
    pub path: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its media type.
    pub media_type: String,
    /// The job that wrote it.
    pub by: JobId,
    /// When.
    pub at: Timestamp,
}

/// One atomic change: all of it or nothing.
///
/// Order inside a batch does not matter; checks come before writes. See [`crate::store::Store::commit`] for the contract.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// A key to take; if it stands for the same payload already, nothing is written.
    pub key: Option<KeyClaim>,
    /// Runs to insert (version 1) or to replace (version one higher than the stored one).
    pub runs: Vec<Run>,
    /// Jobs to insert; their version is 1.
    pub insert: Vec<Job>,
    /// Jobs to replace; each one's version is one higher than the stored one.
    pub put: Vec<Job>,
    /// Jobs that must be at this version and get the next one, otherwise unchanged: parents that gain a dependent.
    pub touch: Vec<(JobId, u64)>,
    /// Edges to insert, and whether the parent is still waited for.
    pub edges: Vec<(Edge, bool)>,
    /// Edges whose parent is waited for again.
    pub reopen: Vec<Edge>,
    /// Edges whose parent is not waited for any more. The last one releases a blocked child.
    pub countdown: Vec<Edge>,
    /// Jobs that ended in a way that some dependent cannot live with: the tracker skips those dependents.
    pub cascade: Vec<JobId>,
    /// Cascades that are done.
    pub cascaded: Vec<JobId>,
    /// Charges on counters.
    pub charges: Vec<RunCharge>,
    /// Journal entries to append; the first one's place is the stored length.
    pub journal: Vec<JournalEntry>,
    /// Updates to put into mailboxes.
    pub mail: Vec<Mail>,
    /// Updates that were read.
    pub mail_applied: Vec<(JobId, UpdateId)>,
    /// Files to publish; the last writer of a path wins.
    pub files: Vec<FileRecord>,
    /// Events to append, in this order.
    pub events: Vec<NewEvent>,
    /// The moment of the change.
    pub at: Timestamp,
}

impl Batch {
    /// An empty change at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self {
            at: now,
            ..Self::default()
        }
    }

    /// Adds a job's transition, and, if it ended the job, what that means for its `dependents`.
    pub fn transition(&mut self, transition: Transition, run: &Run, dependents: &[Edge]) {
        if transition.ended() {
            let settlement = dag::settle(transition.job.state(), dependents);
            self.countdown.extend(settlement.met);
            if !settlement.broken.is_empty() {
                self.cascade.push(transition.job.id);
            }
        }
        let (run_id, job) = (transition.job.run, transition.job.id);
        self.charges
            .extend(transition.charges.into_iter().map(|charge| RunCharge {
                run: run_id,
                charge,
                bound: run.limits.bound(charge.counter),
            }));
        self.events.extend(transition.events.into_iter().map(|kind| NewEvent {
            run: run_id,
            job: Some(job),
            kind,
        }));
        self.put.push(transition.job);
    }
}
