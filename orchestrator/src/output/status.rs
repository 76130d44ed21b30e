//! A run at a glance, and lists of runs and jobs.

use chrono::TimeZone;
use legwork_shared::time::Timestamp;
use legwork_shared::wire::{JobList, PauseView, RunList, RunStatus, RunSummary, Totals};

use super::{Size, Table, dim, human, paint_job_state, paint_run_state, strong, tree, without_controls};

/// The longest title in a list, in characters.
const TITLE_CHARS_MAX: usize = 60;

/// A run in one line: how far, how much, how long.
#[must_use]
pub fn summary_line(status: &RunStatus) -> String {
    let run = &status.run;
    let mut parts = vec![format!(
        "{} of {} done",
        run.jobs.saturating_sub(run.open),
        human::counted(run.jobs, "job")
    )];
    if status.totals.failed > 0 {
        parts.push(format!("{} failed", status.totals.failed));
    }
    // What was spent, not what calls in flight have reserved: that would jump up and down.
    let spent = status.totals.usage;
    let (tokens, cost) = (spent.total_tokens(), spent.cost_micro_usd);
    if tokens > 0 {
        parts.push(match run.limits.tokens {
            Some(limit) => format!("{} of {}", human::count(tokens), human::tokens(limit)),
            None => human::tokens(tokens),
        });
    }
    if cost > 0 {
        parts.push(match run.limits.cost_micro_usd {
            Some(limit) => format!("{} of {}", human::money(cost), human::money(limit)),
            None => human::money(cost),
        });
    }
    parts.push(human::duration(status.wall_ms));
    parts.extend(run.pauses.iter().map(pause_text));
    parts.join(" · ")
}

fn pause_text(pause: &PauseView) -> String {
    let by = without_controls(&pause.by);
    match &pause.queue {
        None => format!("paused by {by}"),
        Some(queue) => format!("the queue {} is paused by {by}", without_controls(queue)),
    }
}

/// A run with its tree and the figures of its agents.
#[must_use]
pub fn status_text<Z: TimeZone>(status: &RunStatus, now: Timestamp, zone: &Z, columns: u16) -> String {
    let run = &status.run;
    let size = Size {
        columns: usize::from(columns),
        ..Size::UNBOUNDED
    };
    let mut text = format!(
        "{}  {}\n",
        paint_run_state(run.state, run.state.as_str()),
        strong(&title_of(run))
    );
    text += &format!(
        "{}\n",
        dim(&format!(
            "{}, submitted {}",
            run.id,
            human::day_time(run.created_at_ms, zone)
        ))
    );
    text += &format!("{}\n\n", summary_line(status));
    for line in tree(status, now, size) {
        text += &line;
        text.push('\n');
    }
    text.push('\n');
    text += &figures(status).aligned(columns);
    text
}

/// What each agent took, without the columns in which there is nothing.
fn figures(status: &RunStatus) -> Table {
    let mut rows: Vec<(String, Totals)> = status
        .agents
        .iter()
        .map(|agent| (without_controls(&agent.agent).into_owned(), agent.totals))
        .collect();
    if rows.len() > 1 {
        rows.push(("all".to_owned(), status.totals));
    }
    let columns: Vec<&Figure> = FIGURES
        .iter()
        .filter(|figure| (figure.value)(&status.totals) > 0)
        .collect();
    let headings: Vec<&'static str> = ["agent"]
        .into_iter()
        .chain(columns.iter().map(|figure| figure.heading))
        .collect();
    let mut table = Table::new(&headings);
    for (name, totals) in rows {
        let cells = columns.iter().map(|figure| (figure.text)((figure.value)(&totals)));
        table.row([name].into_iter().chain(cells));
    }
    table
}

/// A column of figures.
struct Figure {
    heading: &'static str,
    value: fn(&Totals) -> u64,
    text: fn(u64) -> String,
}

const FIGURES: &[Figure] = &[
    figure(">jobs", |totals| totals.jobs, human::count),
    figure(">tries", |totals| totals.attempts, human::count),
    figure(">in", |totals| totals.usage.input_tokens, human::count),
    figure(">out", |totals| totals.usage.output_tokens, human::count),
    figure(">cost", |totals| totals.usage.cost_micro_usd, human::money),
    figure(">calls", |totals| totals.usage.model_calls, human::count),
    figure(">tools", |totals| totals.usage.tool_calls, human::count),
    figure(">errors", errors_of, human::count),
    figure(">blocked", |totals| totals.times.blocked_ms, human::duration),
    figure(">back-off", |totals| totals.times.scheduled_ms, human::duration),
    figure(">queued", |totals| totals.times.queued_ms, human::duration),
    figure(">running", |totals| totals.times.running_ms, human::duration),
];

const fn figure(heading: &'static str, value: fn(&Totals) -> u64, text: fn(u64) -> String) -> Figure {
    Figure { heading, value, text }
}

/// Errors of tools and of the schema together.
fn errors_of(totals: &Totals) -> u64 {
    let troubles = totals.troubles.unwrap_or_default();
    troubles.tool_errors + troubles.schema_errors
}

/// Runs as a table.
#[must_use]
pub fn run_list<Z: TimeZone>(list: &RunList, zone: &Z) -> Table {
    let mut table = Table::new(&["run", "state", ">done", ">tokens", ">cost", "submitted", "title"]);
    for run in &list.runs {
        table.row([
            run.id.to_string(),
            state_of(run),
            format!("{}/{}", run.jobs.saturating_sub(run.open), run.jobs),
            human::count(run.tokens()),
            human::money(run.cost_micro_usd),
            human::day_time(run.created_at_ms, zone),
            human::cut(&title_of(run), TITLE_CHARS_MAX),
        ]);
    }
    table
}

/// Jobs as a table.
#[must_use]
pub fn job_list(list: &JobList) -> Table {
    let mut table = Table::new(&[
        "job", "state", "name", "agent", ">tries", ">tokens", ">cost", ">running",
    ]);
    for job in &list.jobs {
        table.row([
            job.id.to_string(),
            paint_job_state(job.state, job.state.as_str()),
            without_controls(&job.name).into_owned(),
            without_controls(&job.agent).into_owned(),
            human::count(u64::from(job.attempts)),
            human::count(job.usage.total_tokens()),
            human::money(job.usage.cost_micro_usd),
            human::duration(job.times.running_ms),
        ]);
    }
    table
}

/// The state of a run in a list.
fn state_of(run: &RunSummary) -> String {
    let pause = if run.is_paused() { ", paused" } else { "" };
    paint_run_state(run.state, &format!("{}{pause}", run.state.as_str()))
}

fn title_of(run: &RunSummary) -> String {
    let title = human::first_line(&without_controls(&run.title), usize::MAX);
    if title.is_empty() { "untitled".into() } else { title }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use chrono::Utc;

    use super::*;
    use crate::output::samples;

    #[test]
    fn a_run_shows_its_tree_and_what_each_agent_took() {
        let text = status_text(&samples::status(), samples::NOW, &Utc, 120);
        insta::assert_snapshot!(strip_str(&text));
    }

    #[test]
    fn lists_have_one_line_for_each_run_and_job() {
        let status = samples::status();
        let runs = RunList {
            runs: vec![status.run],
            next: None,
        };
        let jobs = JobList {
            jobs: status.jobs,
            next: None,
        };
        insta::assert_snapshot!(run_list(&runs, &Utc).plain() + "\n" + &job_list(&jobs).plain());
    }
}
