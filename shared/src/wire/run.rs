//! A run and lists of runs and jobs, for programs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{AgentFigures, JobView, Totals};
use crate::budget::{Counter, RunLimits};
use crate::id::{JobId, RunId};
use crate::run::{Pausable, Pause, RunState, RunView};
use crate::time::Timestamp;

/// What holds jobs back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseView {
    /// The queue that is paused; absent if it is the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Who paused it.
    pub by: String,
    /// Since when.
    pub since_ms: Timestamp,
}

impl From<&Pause> for PauseView {
    fn from(pause: &Pause) -> Self {
        Self {
            queue: match &pause.of {
                Pausable::Queue(queue) => Some(queue.clone()),
                Pausable::Run(_) => None,
            },
            by: pause.by.clone(),
            since_ms: pause.at,
        }
    }
}

/// A run without its jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its id.
    pub id: RunId,
    /// What it is about, in a line.
    pub title: String,
    /// Where it stands.
    pub state: RunState,
    /// The model of agents that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What its agents may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The jobs whose outcomes are the run's.
    pub results: Vec<JobId>,
    /// Jobs in all.
    pub jobs: u64,
    /// Jobs that have not ended.
    pub open: u64,
    /// Automatic retries.
    pub retries: u64,
    /// Tokens read; what calls in flight may read is counted until they end.
    pub input_tokens: u64,
    /// Tokens written; what calls in flight may write is counted until they end.
    pub output_tokens: u64,
    /// The price, in millionths of a US dollar; that of calls in flight is counted until they end.
    pub cost_micro_usd: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// What its jobs may use up together.
    pub limits: RunLimits,
    /// When it was submitted.
    pub created_at_ms: Timestamp,
    /// The pauses that hold its jobs back: its own, and in `status` those of the queues of its open jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseView>,
}

impl From<&RunView> for RunSummary {
    fn from(view: &RunView) -> Self {
        Self {
            id: view.run.id,
            title: view.run.title.clone(),
            state: view.state,
            model: view.run.model.clone(),
            sources: view.run.sources.clone(),
            results: view.run.results.clone(),
            jobs: view.counter(Counter::Jobs),
            open: view.counter(Counter::Open),
            retries: view.counter(Counter::Retries),
            input_tokens: view.counter(Counter::InputTokens),
            output_tokens: view.counter(Counter::OutputTokens),
            cost_micro_usd: view.counter(Counter::Cost),
            tool_calls: view.counter(Counter::ToolCalls),
            limits: view.run.limits,
            created_at_ms: view.run.created_at,
            pauses: Vec::new(),
        }
    }
}

impl RunSummary {
    /// The same with those of all `pauses` that hold it back: its own, and those of the `queues` it has open jobs in.
    #[must_use]
    pub fn held_back(mut self, pauses: &[Pause], queues: &BTreeSet<&str>) -> Self {
        let holds = |pause: &&Pause| match &pause.of {
            Pausable::Queue(queue) => queues.contains(queue.as_str()),
            Pausable::Run(run) => *run == self.id,
        };
        self.pauses = pauses.iter().filter(holds).map(PauseView::from).collect();
        self
    }

    /// Whether somebody has paused it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pauses.iter().any(|pause| pause.queue.is_none())
    }

    /// Tokens read and written.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// A run with its jobs and what they took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    /// The run.
    #[serde(flatten)]
    pub run: RunSummary,
    /// When its last job ended; absent while one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<Timestamp>,
    /// From the submit to the end, or to now.
    pub wall_ms: u64,
    /// What all jobs took.
    pub totals: Totals,
    /// What each agent's jobs took.
    pub agents: Vec<AgentFigures>,
    /// Its jobs, in the order in which they were handed out.
    #[serde(rename = "job_list")]
    pub jobs: Vec<JobView>,
}

impl RunStatus {
    /// The status of `run` with its `jobs` at `now`.
    #[must_use]
    pub fn new(run: RunSummary, jobs: Vec<JobView>, now: Timestamp) -> Self {
        let last = jobs.iter().filter_map(|job| job.ended_at_ms).max();
        let ended_at_ms = last.filter(|_| run.state != RunState::Active);
        Self {
            wall_ms: ended_at_ms.unwrap_or(now).since_ms(run.created_at_ms),
            ended_at_ms,
            totals: Totals::of(&jobs),
            agents: AgentFigures::of(&jobs),
            run,
            jobs,
        }
    }
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunList {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// What to pass as `--after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<RunId>,
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobList {
    /// The jobs, in the order of their ids.
    pub jobs: Vec<JobView>,
    /// What to pass as `--after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<JobId>,
}
