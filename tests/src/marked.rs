//! Jobs for a runner of the bench's own: plans of them, and a client that submits plans.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use legwork_shared::agent::{AgentSpec, RunnerSpec};
use legwork_shared::clock;
use legwork_shared::plan::{Need, Plan, PlannedJob};
use legwork_shared::store::Store;
use legwork_shared::submit::new_run;

/// The agent of every job, and the name of its runner.
pub const MARK: &str = "mark";
/// How many submissions of one client are under way at a time: as many as a busy client would have.
const IN_FLIGHT: usize = 256;

/// Submits plans, and returns when they are accepted durably.
#[derive(Clone)]
pub struct Client {
    store: Arc<dyn Store>,
    agents: BTreeMap<String, Arc<AgentSpec>>,
}

impl Client {
    /// A client of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        let runner = RunnerSpec::Custom { name: MARK.to_owned() };
        let agent = AgentSpec {
            name: MARK.to_owned(),
            runner,
            ..AgentSpec::default()
        };
        Self {
            store,
            agents: BTreeMap::from([(MARK.to_owned(), Arc::new(agent))]),
        }
    }

    /// Submits one run of these jobs.
    ///
    /// # Errors
    /// When it is refused.
    pub async fn submit(&self, jobs: Vec<PlannedJob>) -> anyhow::Result<()> {
        let plan = Plan {
            jobs,
            ..Plan::default()
        };
        let submission = new_run(&plan, &self.agents, "default", self.store.now(), clock::entropy())?;
        self.store.commit(submission.batch).await?;
        Ok(())
    }

    /// Submits `count` runs, each as `make` says for its number.
    ///
    /// # Errors
    /// When one is refused.
    pub async fn submit_many(&self, count: usize, make: fn(&str) -> Vec<PlannedJob>) -> anyhow::Result<()> {
        self.submit_all((0..count).map(|number| make(&number.to_string())))
            .await
    }

    /// Submits runs of these jobs, many at a time.
    ///
    /// # Errors
    /// When one is refused.
    pub async fn submit_all(&self, runs: impl Iterator<Item = Vec<PlannedJob>>) -> anyhow::Result<()> {
        stream::iter(runs.map(|jobs| self.submit(jobs)))
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>()
            .await?;
        Ok(())
    }
}

/// A job `name`, told to mark itself as `mark`, after `needs`.
#[must_use]
pub fn job(name: &str, mark: &str, needs: &[&str]) -> PlannedJob {
    PlannedJob {
        id: name.to_owned(),
        agent: Some(MARK.to_owned()),
        description: mark.to_owned(),
        depends_on: needs.iter().map(|need| Need::Name((*need).to_owned())).collect(),
        ..PlannedJob::default()
    }
}

/// A run of `count` independent jobs, the first of which marks itself as `first`.
#[must_use]
pub fn many(first: usize, count: usize) -> Vec<PlannedJob> {
    let marks = (first..first + count).map(|mark| mark.to_string());
    marks.map(|mark| job(&format!("job-{mark}"), &mark, &[])).collect()
}

/// A run of one job.
#[must_use]
pub fn single(mark: &str) -> Vec<PlannedJob> {
    vec![job("job", mark, &[])]
}

/// Researcher and reviewer side by side, then analyst, then writer.
#[must_use]
pub fn diamond(mark: &str) -> Vec<PlannedJob> {
    vec![
        job("researcher", mark, &[]),
        job("reviewer", mark, &[]),
        job("analyst", mark, &["researcher", "reviewer"]),
        job("writer", mark, &["analyst"]),
    ]
}

/// `parents` jobs, and one that waits for all of them.
#[must_use]
pub fn join(parents: usize) -> Vec<PlannedJob> {
    let names: Vec<String> = (0..parents).map(|number| format!("parent-{number}")).collect();
    let mut jobs: Vec<PlannedJob> = names.iter().map(|name| job(name, name, &[])).collect();
    let needs: Vec<&str> = names.iter().map(String::as_str).collect();
    jobs.push(job("join", "join", &needs));
    jobs
}

/// `length` jobs of which each waits for the one before.
#[must_use]
pub fn chain(length: usize) -> Vec<PlannedJob> {
    let names: Vec<String> = (0..length).map(|number| format!("link-{number}")).collect();
    (0..length)
        .map(|number| {
            let before = number.checked_sub(1).map(|before| names[before].as_str());
            job(&names[number], &names[number], before.as_slice())
        })
        .collect()
}
