//! What work took: by agent, and in all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::JobView;
use crate::agent::machine::{Entry, Nudge, Then};
use crate::budget::Usage;
use crate::job::{JobState, Times};

/// What went wrong on the way, without failing the attempt: the model was told and went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Troubles {
    /// Tool calls that were refused or failed.
    pub tool_errors: u64,
    /// Answers that did not fit the schema.
    pub schema_errors: u64,
}

impl Troubles {
    /// What a stored journal tells. Entries of other runners, or of another form, tell nothing.
    #[must_use]
    pub fn of<'a>(journal: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut troubles = Self::default();
        for entry in journal.into_iter().filter_map(|value| Entry::deserialize(value).ok()) {
            let replies = match &entry {
                Entry::Replied(replied) => {
                    let asked_again = matches!(replied.then, Then::Ask { why: Nudge::Schema, .. });
                    troubles.schema_errors += u64::from(asked_again);
                    replied.answered.as_slice()
                }
                Entry::Answered { replies } => replies.as_slice(),
                Entry::Opened { .. } | Entry::Delegated { .. } | Entry::Applied { .. } | Entry::Retried { .. } => &[],
            };
            troubles.tool_errors += replies.iter().filter(|reply| reply.error).count() as u64;
        }
        troubles
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tool_errors: self.tool_errors + other.tool_errors,
            schema_errors: self.schema_errors + other.schema_errors,
        }
    }
}

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
    /// What went wrong on the way; absent where the journals were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub troubles: Option<Troubles>,
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
            troubles: match (self.troubles, job.troubles) {
                (Some(one), Some(other)) => Some(one.plus(other)),
                (one, other) => one.or(other),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn s54_errors_of_tools_and_of_the_schema_are_counted_from_the_journal() {
        let reply = |error| json!({"call_id": "c", "name": "ls", "content": "x", "error": error});
        let model = json!({"text": "x", "stop": "end", "usage": {}, "model": "m"});
        let ask = json!({"do": "ask", "why": "schema", "text": "again"});
        let journal = [
            json!({"entry": "opened", "v": 1, "system": "s", "text": "t"}),
            json!({"entry": "replied", "reply": model, "answered": [reply(true)], "then": ask}),
            json!({"entry": "answered", "replies": [reply(true), reply(false)]}),
            json!({"found": 3}),
        ];
        let expected = Troubles {
            tool_errors: 2,
            schema_errors: 1,
        };
        assert_eq!(Troubles::of(&journal), expected);
    }
}
