//! What is asked of a store and what it answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::batch::{KeyClaim, NewEvent};
use crate::dag::Edge;
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, JobState, Lease, LeaseToken};
use crate::run::Run;
use crate::time::Timestamp;

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commit {
    /// It was written.
    Done,
    /// The key already stood for the same payload: nothing was written.
    Replayed(KeyClaim),
}

/// A worker's wish for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Who asks.
    pub worker: WorkerId,
    /// From which queues.
    pub queues: Vec<String>,
    /// At most how many.
    pub slots: usize,
    /// How long each lease holds, in milliseconds.
    pub lease_ms: u64,
    /// Where the leases' secrets come from.
    pub entropy: u64,
}

impl ClaimRequest {
    /// The lease under which this request takes `job` at `now`.
    #[must_use]
    pub fn lease(&self, job: &Job, now: Timestamp) -> Lease {
        let secret = self.entropy ^ job.id.seed();
        let token = LeaseToken {
            job: job.id,
            attempt: job.attempt + 1,
            secret,
        };
        Lease {
            token,
            worker: self.worker,
            since: now,
            until: now + self.lease_ms,
        }
    }
}

/// A job that is now held.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The job, running.
    pub job: Job,
    /// Its run.
    pub run: Arc<Run>,
    /// Who waits for it.
    pub dependents: Vec<Edge>,
}

/// What became of one lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The lease.
    pub token: LeaseToken,
    /// Whether it still holds the job.
    pub held: bool,
    /// The job's version; tells the worker that its copy is stale.
    pub version: u64,
    /// Whether the job should stop.
    pub cancel: bool,
    /// How many updates wait in its mailbox.
    pub mail: u32,
}

/// Which jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobQuery {
    /// Only of this run.
    pub run: Option<RunId>,
    /// Only in these states; empty means any.
    pub states: Vec<JobState>,
    /// Only with this name.
    pub name: Option<String>,
    /// Only handed out by this job.
    pub parent: Option<JobId>,
    /// Only after this one.
    pub after: Option<JobId>,
    /// At most how many; a store may give fewer, but not none if there are some.
    pub limit: usize,
}

/// Which runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunQuery {
    /// Only of this tenant; of all tenants if absent.
    pub tenant: Option<String>,
    /// Only older than this one.
    pub before: Option<RunId>,
    /// At most how many.
    pub limit: usize,
}

/// A part of a longer list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The part.
    pub items: Vec<T>,
    /// Whether there is more after it.
    pub more: bool,
}

/// A numbered event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Its number in the run's log, from 1.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub event: NewEvent,
}

/// What an id prefix may mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Match {
    /// Runs.
    pub runs: Vec<RunId>,
    /// Jobs.
    pub jobs: Vec<JobId>,
}

/// What maintenance has to look at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Due {
    /// Scheduled jobs whose time has come.
    pub scheduled: Vec<Job>,
    /// Running jobs whose lease has lapsed.
    pub expired: Vec<Job>,
    /// Queued jobs that were never started in time.
    pub overdue: Vec<Job>,
    /// Ended jobs whose dependents must be looked at.
    pub cascades: Vec<JobId>,
    /// The next moment at which something falls due by itself; nothing is due before it.
    pub next: Option<Timestamp>,
}

/// A worker process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Its id, new with each start.
    pub id: WorkerId,
    /// What a person calls it.
    pub name: String,
    /// The name of the host it runs on.
    pub host: String,
    /// The machine on which its lock file tells whether it is there; absent where only its heartbeat tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Its process id there.
    pub pid: u32,
    /// The version of its binary.
    pub version: String,
    /// How many jobs it runs at a time.
    pub slots: usize,
    /// The queues it claims from.
    pub queues: Vec<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was last heard of.
    pub seen_at: Timestamp,
    /// How far the clock of its host was ahead of the store's then, in milliseconds; negative where it was behind.
    #[serde(default)]
    pub clock_ahead_ms: i64,
}

/// Who leads maintenance, and until when if he does not say so again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lead {
    /// The worker.
    pub holder: WorkerId,
    /// When the lead lapses.
    pub until: Timestamp,
}

impl Lead {
    /// Who leads after `holder` has asked at `now` for the lead until `until`, where it was `before`.
    #[must_use]
    pub fn after(before: Option<Self>, holder: WorkerId, until: Timestamp, now: Timestamp) -> Self {
        match before {
            Some(lead) if lead.holder != holder && lead.until > now => lead,
            Some(_) | None => Self { holder, until },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_workers_of_other_versions_are_read() {
        let old = r#"{"id":"wrk_01hf7ymc00e008000000000000","name":"w","host":"here","pid":7,"version":"0.0.9","slots":2,
            "queues":["default"],"started_at":5,"seen_at":6}"#;
        let worker: WorkerRecord = serde_json::from_str(old).expect("an older record");
        assert_eq!((worker.machine, worker.clock_ahead_ms), (None, 0));
        let new = old.replacen('{', r#"{"moods":["busy"],"machine":"m","#, 1);
        let worker: WorkerRecord = serde_json::from_str(&new).expect("a newer record");
        assert_eq!(worker.machine.as_deref(), Some("m"));
    }
}
