//! What commands that change something answer, for programs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::Fault;
use crate::id::{JobId, RunId, UpdateId};
use crate::job::JobState;
use crate::run::RunState;
use crate::time::Timestamp;

/// What a submit made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// The run.
    pub run: RunId,
    /// Its jobs, in the order of the plan.
    pub jobs: Vec<SubmittedJob>,
    /// Whether the same plan had been submitted under this key before: then nothing new was made.
    pub replayed: bool,
}

/// A job that a submit made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedJob {
    /// Its name in the plan.
    pub name: String,
    /// Its id.
    pub id: JobId,
}

/// What a cancel did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancelled {
    /// What became of each job.
    pub jobs: Vec<CancelledJob>,
}

/// What a cancel did to one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelledJob {
    /// The job.
    pub job: JobId,
    /// Its name.
    pub name: String,
    /// `cancelled` at once, `requested` of the worker that runs it, or `ended` before the cancel came.
    pub answer: String,
    /// How it had ended, where it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
}

/// What an update did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Updated {
    /// The update; the event `update_applied` names it once the agent has read it.
    pub update: UpdateId,
    /// The job.
    pub job: JobId,
}

/// What a retry brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// The job, and those that its failure had skipped.
    pub jobs: Vec<JobId>,
}

/// What a pause or a resume did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// The queue, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The run, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Whether it is paused now.
    pub paused: bool,
    /// Whether it was the other way round before.
    pub changed: bool,
}

/// What a prune deleted, or would delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// The runs.
    pub runs: Vec<PrunedRun>,
    /// Whether nothing was deleted, because only a look was wanted.
    pub dry_run: bool,
}

/// A run that a prune deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedRun {
    /// Its id.
    pub id: RunId,
    /// What it was about, in a line.
    pub title: String,
    /// How it had ended.
    pub state: RunState,
    /// How many jobs it had.
    pub jobs: u64,
    /// When its last job ended.
    pub ended_at_ms: Timestamp,
}

/// What a run or one of its jobs found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// The run.
    pub run: RunId,
    /// How the run stands.
    pub state: RunState,
    /// The results that there are, in the order in which their jobs were handed out.
    pub results: Vec<ResultView>,
}

/// What a job found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultView {
    /// The job.
    pub job: JobId,
    /// Its name.
    pub name: String,
    /// The whole final answer.
    pub text: String,
    /// The structured answer, where the agent has a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// What a reader must know about the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What stands in the way, on stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure<'a> {
    /// The fault: code, place, message, help.
    pub error: &'a Fault,
}
