//! The record of a job: what it was asked to do, and how far it is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{JobError, JobState, Phase};
use crate::agent::AgentSpec;
use crate::budget::{JobLimits, Reservation, Usage};
use crate::id::{JobId, RunId, UpdateId};
use crate::time::Timestamp;

/// What a job was asked to do. Never changes after the submit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Its name, unique in the run. A child's begins with its parent's: `coordinator/researcher`.
    pub name: String,
    /// The agent that does it, by its name in the run.
    pub agent: String,
    /// An agent made for this job alone, instead of one of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ad_hoc: Option<Arc<AgentSpec>>,
    /// What to do, for the agent.
    pub description: String,
    /// Structured data for the agent, marked as data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The queue it is claimed from.
    pub queue: String,
    /// Higher is claimed first.
    #[serde(default)]
    pub priority: i32,
    /// It may not start before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at: Option<Timestamp>,
    /// The job that handed it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// How many parents are above it; zero for the jobs of the plan.
    #[serde(default)]
    pub depth: u32,
    /// The tool call of the parent that asked for it, where its answer is awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What it may use up.
    #[serde(default)]
    pub limits: JobLimits,
    /// The idempotency key it was added under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<JobKey>,
}

/// An idempotency key of a job inside its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobKey {
    /// The key, as the client chose it.
    pub key: String,
    /// SHA-256 of the job as it was planned, in hex.
    pub fingerprint: String,
}

/// The state of an item on an agent's own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// One item of an agent's own list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// What is to be done; not empty.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// The same in the progressive form, for a display: `Reading the sources`.
    #[serde(default, rename = "activeForm", skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}

/// How far an attempt is, for people.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Model replies so far.
    pub step: u32,
    /// The tool called last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<String>,
    /// What it says it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where a job's time went, in milliseconds; grows when it leaves a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// Waiting for dependencies and children.
    pub blocked_ms: u64,
    /// Waiting for a start time, a back-off, a provider.
    pub scheduled_ms: u64,
    /// Waiting for a worker.
    pub queued_ms: u64,
    /// Held by workers.
    pub running_ms: u64,
}

/// That somebody wants a running job to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// Who.
    pub by: String,
    /// Why; may be empty.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// What an update does to the model call in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateMode {
    /// Waits for its answer.
    #[default]
    Enqueue,
    /// Aborts it.
    Interrupt,
}

/// An update in a job's mailbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mail {
    /// Its id.
    pub id: UpdateId,
    /// For whom.
    pub job: JobId,
    /// What it says; may be empty if there is data.
    pub text: String,
    /// Structured data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// What it does to the model call in flight.
    pub mode: UpdateMode,
    /// When it was sent.
    pub at: Timestamp,
}

/// One node of a run's graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// Its run.
    pub run: RunId,
    /// Grows by one with each change; the compare in compare-and-set.
    pub version: u64,
    /// What it was asked to do.
    pub spec: Arc<JobSpec>,
    /// Where it stands.
    pub phase: Phase,
    /// Grows with each retry by a person.
    pub generation: u32,
    /// Executions so far over all generations: the fencing number.
    pub attempt: u32,
    /// Failed attempts of this generation.
    pub failures: u32,
    /// Leases lost since the last journal entry.
    pub losses: u32,
    /// What it has spent.
    #[serde(default)]
    pub usage: Usage,
    /// What the model call in flight may spend at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reservation>,
    /// That it should stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<CancelRequest>,
    /// Updates sent to it.
    #[serde(default)]
    pub mail_sent: u32,
    /// Updates it has applied.
    #[serde(default)]
    pub mail_applied: u32,
    /// Entries in its journal.
    #[serde(default)]
    pub journal_len: u32,
    /// How far it is.
    #[serde(default)]
    pub progress: Progress,
    /// The agent's own list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Todo>,
    /// The last error of an attempt, while there may be another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<JobError>,
    /// Where its time went.
    #[serde(default)]
    pub times: Times,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When its first attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

impl Job {
    /// A job that nobody has touched, in the phase that its dependencies allow.
    #[must_use]
    pub fn new(id: JobId, run: RunId, spec: Arc<JobSpec>, phase: Phase, now: Timestamp) -> Self {
        Self {
            id,
            run,
            version: 1,
            spec,
            phase,
            generation: 1,
            attempt: 0,
            failures: 0,
            losses: 0,
            usage: Usage::default(),
            reserved: None,
            cancel: None,
            mail_sent: 0,
            mail_applied: 0,
            journal_len: 0,
            progress: Progress::default(),
            todos: Vec::new(),
            last_error: None,
            times: Times::default(),
            created_at: now,
            started_at: None,
        }
    }

    /// The name of its state.
    #[must_use]
    pub fn state(&self) -> JobState {
        self.phase.state()
    }

    /// Updates it has not applied yet.
    #[must_use]
    pub fn mail_waiting(&self) -> u32 {
        self.mail_sent.saturating_sub(self.mail_applied)
    }
}
