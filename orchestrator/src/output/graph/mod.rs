//! The graph of a run as a picture or for the tools that draw one.

mod dot;
mod layout;
mod mermaid;
mod svg;

use std::collections::BTreeMap;

pub use dot::dot;
use legwork_shared::dag::Condition;
use legwork_shared::id::JobId;
use legwork_shared::job::JobState;
use legwork_shared::wire::RunStatus;
pub use mermaid::mermaid;
use serde::Serialize;
pub use svg::svg;

/// A job in the picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its id.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// Its agent.
    pub agent: String,
    /// Where it stands.
    pub state: JobState,
}

/// Why two jobs are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// The second waits for this outcome of the first.
    Needs(Condition),
    /// The first handed the second out.
    HandedOut,
}

/// A line in the picture, between places of [`Graph::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Where it begins.
    pub from: usize,
    /// Where its arrow points.
    pub to: usize,
    /// What it means.
    pub link: Link,
}

/// The jobs of a run and how they are joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// What the run is about.
    pub title: String,
    /// The jobs, in the order in which they were handed out.
    pub nodes: Vec<Node>,
    /// The lines, by the job that they lead to.
    pub lines: Vec<Line>,
}

impl Graph {
    /// The graph of a run.
    #[must_use]
    pub fn of(status: &RunStatus) -> Self {
        let places: BTreeMap<JobId, usize> = status
            .jobs
            .iter()
            .enumerate()
            .map(|(place, job)| (job.id, place))
            .collect();
        let mut lines = Vec::new();
        for (to, job) in status.jobs.iter().enumerate() {
            let parent = job.parent.and_then(|parent| places.get(&parent));
            lines.extend(parent.map(|from| Line {
                from: *from,
                to,
                link: Link::HandedOut,
            }));
            let needs = job
                .depends_on
                .iter()
                .filter_map(|need| Some((*places.get(&need.job)?, need.on)));
            lines.extend(needs.map(|(from, on)| Line {
                from,
                to,
                link: Link::Needs(on),
            }));
        }
        let nodes = status.jobs.iter().map(|job| Node {
            id: job.id,
            name: job.name.clone(),
            agent: job.agent.clone(),
            state: job.state,
        });
        Self {
            title: status.run.title.clone(),
            nodes: nodes.collect(),
            lines,
        }
    }
}

/// The colours of a state: what fills its box, and its border.
fn colours(state: JobState) -> (&'static str, &'static str) {
    match state {
        JobState::Blocked => ("#f3f4f6", "#9ca3af"),
        JobState::Scheduled => ("#fef3c7", "#d97706"),
        JobState::Queued => ("#e0f2fe", "#0284c7"),
        JobState::Running => ("#dbeafe", "#1d4ed8"),
        JobState::Succeeded => ("#dcfce7", "#15803d"),
        JobState::Failed => ("#fee2e2", "#b91c1c"),
        JobState::Cancelled => ("#ffedd5", "#c2410c"),
        JobState::Skipped => ("#f5f5f4", "#78716c"),
    }
}

#[cfg(test)]
mod tests;
