//! A run as a tree: each job under the one that handed it out, with what it is doing.

use std::collections::{BTreeMap, BTreeSet};

use legwork_shared::id::JobId;
use legwork_shared::job::{BlockedOn, Delay, JobState, TodoStatus};
use legwork_shared::time::Timestamp;
use legwork_shared::wire::{JobView, RunStatus};

use super::{dim, human, paint_job_state, symbol, without_controls};

/// Names of jobs that are waited for and shown in a line; more are counted.
const WAITS_SHOWN_MAX: usize = 3;
/// The widest column of names; longer names push their line to the right.
const NAME_COLUMN_MAX: usize = 32;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns of a line.
    pub columns: usize,
    /// Lines of the tree.
    pub lines: usize,
}

impl Size {
    /// No bound: for output that is not a screen.
    pub const UNBOUNDED: Self = Self {
        columns: usize::MAX,
        lines: usize::MAX,
    };
}

/// The jobs of a run as the lines of a tree.
///
/// Where there is not room for all, open jobs are kept before ended ones, and a last line counts the rest.
#[must_use]
pub fn tree(status: &RunStatus, now: Timestamp, size: Size) -> Vec<String> {
    let forest = Forest::new(&status.jobs);
    let rows = forest.rows();
    let kept = fitting(&rows, size.lines);
    let column = name_column(&kept);
    let mut lines: Vec<String> = kept
        .iter()
        .map(|row| line_of(row, column, &forest, now, size.columns))
        .collect();
    let left_out = rows.len() - kept.len();
    if left_out > 0 {
        let shown: BTreeSet<JobId> = kept.iter().map(|row| row.job.id).collect();
        let hidden = rows.iter().filter(|row| !shown.contains(&row.job.id));
        lines.push(dim(&format!("… and {}", counts_of(hidden.map(|row| row.job.state)))));
    }
    lines
}

/// The jobs by parent, for drawing.
struct Forest<'a> {
    jobs: BTreeMap<JobId, &'a JobView>,
    children: BTreeMap<Option<JobId>, Vec<&'a JobView>>,
}

/// A job at its place.
struct Row<'a> {
    job: &'a JobView,
    /// The lines that lead to it.
    branch: String,
    /// Its name without that of the job that handed it out.
    name: &'a str,
}

impl<'a> Forest<'a> {
    fn new(jobs: &'a [JobView]) -> Self {
        let known: BTreeMap<JobId, &JobView> = jobs.iter().map(|job| (job.id, job)).collect();
        let mut children: BTreeMap<Option<JobId>, Vec<&JobView>> = BTreeMap::new();
        for job in jobs {
            let parent = job.parent.filter(|parent| known.contains_key(parent));
            children.entry(parent).or_default().push(job);
        }
        Self { jobs: known, children }
    }

    /// All jobs in the order of drawing. A stack instead of recursion: a chain of handed-out jobs may be long.
    fn rows(&self) -> Vec<Row<'a>> {
        let mut rows = Vec::with_capacity(self.jobs.len());
        let mut open: Vec<(&JobView, String, bool)> = self.level(None, "");
        while let Some((job, indent, is_last)) = open.pop() {
            let name = job
                .parent
                .and_then(|parent| self.jobs.get(&parent))
                .map_or(job.name.as_str(), |parent| {
                    let rest = job.name.strip_prefix(parent.name.as_str());
                    rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(&job.name)
                });
            let branch = format!("{indent}{} ", if is_last { "└─" } else { "├─" });
            let below = format!("{indent}{}", if is_last { "   " } else { "│  " });
            rows.push(Row { job, branch, name });
            open.extend(self.level(Some(job.id), &below));
        }
        rows
    }

    /// The children of a job, last one first, as a stack wants them.
    fn level(&self, parent: Option<JobId>, indent: &str) -> Vec<(&'a JobView, String, bool)> {
        let children = self.children.get(&parent).map(Vec::as_slice).unwrap_or_default();
        let items = children.iter().rev().enumerate();
        items
            .map(|(place, job)| (*job, indent.to_owned(), place == 0))
            .collect()
    }

    fn name_of(&self, id: JobId) -> &str {
        self.jobs
            .get(&id)
            .map_or("a job of another run", |job| job.name.as_str())
    }
}

/// The rows that fit, the most telling ones first.
fn fitting<'r, 'a>(rows: &'r [Row<'a>], lines_max: usize) -> Vec<&'r Row<'a>> {
    if rows.len() <= lines_max {
        return rows.iter().collect();
    }
    let rank = |state: JobState| match state {
        JobState::Running => 0,
        JobState::Failed => 1,
        JobState::Scheduled => 2,
        JobState::Queued => 3,
        JobState::Blocked => 4,
        JobState::Cancelled | JobState::Skipped => 5,
        JobState::Succeeded => 6,
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|place| (rank(rows[*place].job.state), *place));
    let mut kept: Vec<usize> = order.into_iter().take(lines_max.saturating_sub(1)).collect();
    kept.sort_unstable();
    kept.into_iter().map(|place| &rows[place]).collect()
}

fn name_column(rows: &[&Row<'_>]) -> usize {
    let widths = rows
        .iter()
        .map(|row| row.branch.chars().count() + row.name.chars().count());
    widths.max().unwrap_or(0).min(NAME_COLUMN_MAX)
}

fn line_of(row: &Row<'_>, column: usize, forest: &Forest<'_>, now: Timestamp, columns: usize) -> String {
    let job = row.job;
    let name = human::first_line(&without_controls(row.name), usize::MAX);
    let used = row.branch.chars().count() + name.chars().count();
    let pad = " ".repeat(column.saturating_sub(used));
    let detail = human::first_line(&without_controls(&detail_of(job, forest, now)), usize::MAX);
    // Branch, symbol, name and two gaps stand before the detail.
    let room = columns.saturating_sub(used + pad.len() + 4);
    format!(
        "{}{} {name}{pad}  {}",
        dim(&row.branch),
        paint_job_state(job.state, symbol(job.state)),
        paint_detail(job.state, &human::cut(&detail, room)),
    )
}

fn paint_detail(state: JobState, detail: &str) -> String {
    match state {
        JobState::Failed | JobState::Running | JobState::Scheduled => paint_job_state(state, detail),
        JobState::Blocked | JobState::Queued | JobState::Succeeded | JobState::Cancelled | JobState::Skipped => {
            dim(detail)
        }
    }
}

/// What is to be said of a job beside its name.
fn detail_of(job: &JobView, forest: &Forest<'_>, now: Timestamp) -> String {
    match job.state {
        JobState::Blocked => waits_for(job, forest),
        JobState::Scheduled => scheduled(job, now),
        JobState::Queued => format!("queued {}", human::duration(job.times.queued_ms)),
        JobState::Running => running(job),
        JobState::Succeeded => spent(job, job.times.running_ms).join(" · "),
        JobState::Failed => match &job.error {
            Some(error) => format!("{}: {}", error.reason.as_str(), error.message),
            None => "failed".into(),
        },
        JobState::Cancelled => match (&job.cancelled_by, &job.cancel_reason) {
            (Some(by), Some(reason)) => format!("cancelled by {by}: {reason}"),
            (Some(by), None) => format!("cancelled by {by}"),
            (None, _) => "cancelled".into(),
        },
        JobState::Skipped => match job.skipped_because_of {
            Some(cause) => format!("skipped because of {}", forest.name_of(cause)),
            None => "skipped".into(),
        },
    }
}

fn waits_for(job: &JobView, forest: &Forest<'_>) -> String {
    if let Some(cause) = job.held_because_of {
        return format!("held: retry {} or cancel this", forest.name_of(cause));
    }
    let is_open = |id: &JobId| forest.jobs.get(id).is_some_and(|job| !job.state.is_terminal());
    let names: Vec<&str> = match job.blocked_on {
        Some(BlockedOn::Children) => {
            let children = forest
                .children
                .get(&Some(job.id))
                .map(Vec::as_slice)
                .unwrap_or_default();
            let open = children.iter().filter(|child| !child.state.is_terminal()).count();
            return format!("waits for {}", human::counted(open as u64, "job"));
        }
        Some(BlockedOn::Dependencies) | None => {
            let open = job.depends_on.iter().filter(|need| is_open(&need.job));
            open.map(|need| need.name.as_str()).collect()
        }
    };
    if names.is_empty() {
        return "is about to start".into();
    }
    format!("waits for {}", human::some_names(&names, WAITS_SHOWN_MAX))
}

fn scheduled(job: &JobView, now: Timestamp) -> String {
    let wait = human::duration(job.next_attempt_at_ms.map_or(0, |due| due.since_ms(now)));
    let why = job
        .error
        .as_ref()
        .map(|error| format!(" after: {}", error.message))
        .unwrap_or_default();
    match job.delay {
        Some(Delay::Start) | None => format!("starts in {wait}"),
        Some(Delay::Retry) => format!("tried again in {wait}{why}"),
        Some(Delay::Provider) => format!("goes on in {wait}, when the provider is ready"),
    }
}

fn running(job: &JobView) -> String {
    let mut parts = Vec::new();
    if job.cancel_requested.is_some() {
        parts.push("stopping".to_owned());
    }
    if job.attempts > 1 {
        parts.push(format!("attempt {}", job.attempts));
    }
    if job.progress.step > 0 {
        parts.push(format!("step {}", job.progress.step));
    }
    let doing = job.todos.iter().find(|todo| todo.status == TodoStatus::InProgress);
    if let Some(todo) = doing {
        let done = job
            .todos
            .iter()
            .filter(|todo| todo.status == TodoStatus::Completed)
            .count();
        let text = todo.active_form.as_ref().unwrap_or(&todo.content);
        parts.push(format!("{text} ({done} of {} done)", job.todos.len()));
    }
    // What it is doing is often an item of its list, and is said once.
    let said = |note: &&String| doing.is_none_or(|todo| todo.active_form.as_ref().unwrap_or(&todo.content) != *note);
    parts.extend(job.progress.note.iter().filter(said).cloned());
    parts.extend(job.progress.last_tool.clone());
    parts.extend(spent(job, job.times.running_ms));
    if job.updates_waiting > 0 {
        parts.push(format!(
            "{} unread",
            human::counted(u64::from(job.updates_waiting), "update")
        ));
    }
    parts.join(" · ")
}

/// Time, tokens and price, as far as there are any.
fn spent(job: &JobView, ms: u64) -> Vec<String> {
    let mut parts = vec![human::duration(ms)];
    if job.usage.total_tokens() > 0 {
        parts.push(human::tokens(job.usage.total_tokens()));
    }
    if job.usage.cost_micro_usd > 0 {
        parts.push(human::money(job.usage.cost_micro_usd));
    }
    parts
}

/// `3 blocked, 12 succeeded`, in the order of a job's life.
fn counts_of(states: impl Iterator<Item = JobState>) -> String {
    let mut counts: BTreeMap<JobState, u64> = BTreeMap::new();
    for state in states {
        *counts.entry(state).or_default() += 1;
    }
    let total: u64 = counts.values().sum();
    let parts: Vec<String> = counts.iter().map(|(state, n)| format!("{n} {state}")).collect();
    format!("{} more: {}", total, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use legwork_shared::job::Todo;

    use super::*;
    use crate::output::samples;

    fn shown(size: Size) -> String {
        let lines = tree(&samples::status(), samples::NOW, size);
        strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn each_job_stands_under_the_one_that_handed_it_out() {
        insta::assert_snapshot!(shown(Size::UNBOUNDED));
    }

    #[test]
    fn what_a_job_is_doing_is_said_once() {
        let mut status = samples::status();
        let job = status
            .jobs
            .iter_mut()
            .find(|job| job.state == JobState::Running)
            .expect("a running job");
        job.todos = vec![Todo {
            content: "look around".to_owned(),
            status: TodoStatus::InProgress,
            active_form: Some("Looking around".to_owned()),
        }];
        job.progress.note = Some("Looking around".to_owned());
        let lines = tree(&status, samples::NOW, Size::UNBOUNDED).join("\n");
        let lines = strip_str(&lines).to_string();
        assert_eq!(lines.matches("Looking around").count(), 1, "{lines}");
        assert!(lines.contains("Looking around (0 of 1 done)"), "{lines}");
    }

    #[test]
    fn where_room_is_short_the_ended_jobs_are_counted() {
        insta::assert_snapshot!(shown(Size { columns: 48, lines: 4 }));
    }

    #[test]
    fn a_long_chain_of_handed_out_jobs_is_drawn() {
        let mut status = samples::status();
        let template = status.jobs[0].clone();
        let ids: Vec<JobId> = (0..2_000).map(|n| JobId::nth(samples::NOW, n, 1)).collect();
        status.jobs = (0..2_000)
            .map(|n| JobView {
                id: ids[n],
                parent: n.checked_sub(1).map(|above| ids[above]),
                ..template.clone()
            })
            .collect();
        assert_eq!(tree(&status, samples::NOW, Size { columns: 80, lines: 10 }).len(), 10);
    }
}
