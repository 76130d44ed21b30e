//! What the checker is given: the logs and records of all runs, what clients were told, and what runners said.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use legwork_shared::batch::FileRecord;
use legwork_shared::budget::{Counter, JobLimits, RunLimits};
use legwork_shared::dag::Edge;
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::{Job, JobState};
use legwork_shared::run::{DEFAULT_TENANT, RunView};
use legwork_shared::store::{EventRecord, JobQuery, RunQuery, Store};

use super::mark::Mark;

/// How many records are asked for at a time.
const PAGE: usize = 1_000;
/// Under this name the context of a job that was handed out says by which attempt.
pub const BY: &str = "by";

/// A submission that the store has acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The run.
    pub run: RunId,
    /// Its jobs.
    pub jobs: Vec<JobId>,
}

/// All that happened.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// What clients were told was accepted.
    pub accepted: Vec<Accepted>,
    /// What the store has.
    pub runs: BTreeMap<RunId, RunHistory>,
    /// What runners did, in order.
    pub marks: Vec<Mark>,
}

/// What the store has of a run.
#[derive(Debug, Clone, Default)]
pub struct RunHistory {
    /// What its jobs may use up together.
    pub limits: RunLimits,
    /// What they have.
    pub counters: BTreeMap<Counter, u64>,
    /// Its jobs.
    pub jobs: BTreeMap<JobId, JobHistory>,
    /// Who waits for whom.
    pub edges: Vec<Edge>,
    /// Its log.
    pub events: Vec<EventRecord>,
    /// What was published in its workspace.
    pub files: Vec<FileRecord>,
}

/// What the store has of a job, beside its events.
#[derive(Debug, Clone)]
pub struct JobHistory {
    /// Its name.
    pub name: String,
    /// What it may use up.
    pub limits: JobLimits,
    /// Where its record says it stands.
    pub state: JobState,
    /// Its result.
    pub result: Option<String>,
    /// The job that handed it out, and the attempt that did.
    pub handed_out: Option<(JobId, u32)>,
}

impl History {
    /// Reads all runs of a store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn of(store: &dyn Store, accepted: Vec<Accepted>, marks: Vec<Mark>) -> Result<Self> {
        let mut runs = BTreeMap::new();
        let mut before = None;
        loop {
            let query = RunQuery {
                tenant: Some(DEFAULT_TENANT.to_owned()),
                before,
                limit: PAGE,
            };
            let page = store.runs(&query).await?;
            before = page.items.last().map(|view| view.run.id);
            for view in page.items {
                runs.insert(view.run.id, RunHistory::of(store, &view).await?);
            }
            if !page.more {
                return Ok(Self { accepted, runs, marks });
            }
        }
    }
}

impl RunHistory {
    async fn of(store: &dyn Store, view: &RunView) -> Result<Self> {
        let run = view.run.id;
        let mut history = Self {
            limits: view.run.limits,
            counters: view.counters.clone(),
            edges: store.edges(run).await?,
            files: store.files(run, "").await?,
            ..Self::default()
        };
        let mut query = JobQuery {
            run: Some(run),
            limit: PAGE,
            ..JobQuery::default()
        };
        loop {
            let page = store.jobs(&query).await?;
            query.after = page.items.last().map(|job| job.id).or(query.after);
            for job in page.items {
                history.jobs.insert(job.id, JobHistory::of(&job)?);
            }
            if !page.more {
                break;
            }
        }
        loop {
            let after = history.events.last().map_or(0, |record| record.seq);
            let page = store.events(run, after, PAGE).await?;
            if page.is_empty() {
                return Ok(history);
            }
            history.events.extend(page);
        }
    }
}

impl JobHistory {
    fn of(job: &Job) -> Result<Self> {
        let by = job.spec.context.as_ref().and_then(|context| context.get(BY)?.as_u64());
        let by = by.map(u32::try_from).transpose()?;
        let handed_out = match job.spec.parent {
            Some(parent) => Some((
                parent,
                by.with_context(|| format!("{} does not say who made it", job.id))?,
            )),
            None => None,
        };
        Ok(Self {
            name: job.spec.name.clone(),
            limits: job.spec.limits,
            state: job.state(),
            result: job
                .phase
                .outcome()
                .and_then(|outcome| Some(outcome.result()?.text.clone())),
            handed_out,
        })
    }
}
