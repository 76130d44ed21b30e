//! What work took: by agent, and in all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::JobView;
use crate::budget::Usage;
use crate::job::{JobState, Times};

/// What some jobs took together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// How many jobs.
    pub jobs: u64,
    /// How many of them have not ended.
    pub open: u64,
    /// How many succeeded.
    pub succeeded: u64,
    /// How many failed.
    pub failed: u64,
    /// Executions.
    pub attempts: u64,
    /// Executions beyond the first of each job.
    pub retries: u64,
    /// Tokens, price and calls.
    pub usage: Usage,
    /// Where the time went, summed over the jobs.
    pub times: Times,
}

impl Totals {
    /// What `jobs` took together.
    #[must_use]
    pub fn of<'a>(jobs: impl IntoIterator<Item = &'a JobView>) -> Self {
        jobs.into_iter().fold(Self::default(), Self::plus)
    }

    fn plus(self, job: &JobView) -> Self {
        let counts = |state: JobState| u64::from(job.state == state);
        Self {
            jobs: self.jobs + 1,
            open: self.open + u64::from(!job.state.is_terminal()),
            succeeded: self.succeeded + counts(JobState::Succeeded),
            failed: self.failed + counts(JobState::Failed),
            attempts: self.attempts + u64::from(job.attempts),
            retries: self.retries + u64::from(job.attempts.saturating_sub(1)),
            usage: self.usage.plus(&job.usage),
            times: Times {
                blocked_ms: self.times.blocked_ms + job.times.blocked_ms,
                scheduled_ms: self.times.scheduled_ms + job.times.scheduled_ms,
                queued_ms: self.times.queued_ms + job.times.queued_ms,
                running_ms: self.times.running_ms + job.times.running_ms,
            },
        }
    }
}

/// What an agent's jobs took in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFigures {
    /// The agent.
    pub agent: String,
    /// What its jobs took.
    #[serde(flatten)]
    pub totals: Totals,
}

impl AgentFigures {
    /// The figures of each agent in `jobs`, by name.
    #[must_use]
    pub fn of(jobs: &[JobView]) -> Vec<Self> {
        let mut totals: BTreeMap<&str, Totals> = BTreeMap::new();
        for job in jobs {
            let entry = totals.entry(&job.agent).or_default();
            *entry = entry.plus(job);
        }
        let figures = totals.into_iter().map(|(agent, totals)| Self {
            agent: agent.to_owned(),
            totals,
        });
        figures.collect()
    }
}
