//! `legwork list`: runs, or jobs.

use std::collections::BTreeSet;

use chrono::Local;
use clap::Args;
use legwork_orchestrator::coordinator::Coordinator;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::{JobId, RunId};
use legwork_shared::job::JobState;
use legwork_shared::nearest::nearest;
use legwork_shared::run::{DEFAULT_TENANT, OnFailure};
use legwork_shared::store::{JobQuery, RunQuery};
use legwork_shared::wire::{JobList, RunList, RunSummary};

use super::base::{Context, Exit, Format, Missing, Stop, job_views, say};
use crate::output::{dim, job_list, run_list};

/// The longest page: what a terminal can still be scrolled through.
const LIMIT_MAX: usize = 1_000;

/// What `legwork list` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork list\n  legwork list --jobs --state failed --json")]
pub struct ListArgs {
    /// List jobs instead of runs
    #[arg(long)]
    jobs: bool,
    /// Only the jobs of this run
    #[arg(long, value_name = "RUN", requires = "jobs")]
    run: Option<String>,
    /// Only jobs in this state; may be repeated
    #[arg(long, value_name = "STATE", requires = "jobs", value_parser = job_state)]
    state: Vec<JobState>,
    /// At most this many, up to 1000
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = limit)]
    limit: usize,
    /// Only what comes after this id: the `next` of the page before
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

fn limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(limit) if (1..=LIMIT_MAX).contains(&limit) => Ok(limit),
        Ok(_) | Err(_) => Err(format!("it is not between 1 and {LIMIT_MAX}")),
    }
}

fn job_state(text: &str) -> Result<JobState, String> {
    let words = JobState::ALL.map(JobState::as_str);
    JobState::parse(text).ok_or_else(|| match nearest(text, words) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("use one of {}", words.join(", ")),
    })
}

/// Lists runs, newest first, or jobs, oldest first, a page at a time.
///
/// # Errors
/// [`Stop`] where the store cannot be read.
pub async fn list(args: &ListArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Create).await?;
    if args.jobs {
        jobs(args, context, &coordinator).await
    } else {
        runs(args, context, &coordinator).await
    }
}

async fn runs(args: &ListArgs, context: &Context, coordinator: &Coordinator) -> Result<Exit, Stop> {
    let query = RunQuery {
        tenant: Some(DEFAULT_TENANT.to_owned()),
        before: cursor::<RunId>(args.after.as_deref())?,
        limit: args.limit,
    };
    let page = coordinator.store().runs(&query).await?;
    let pauses = coordinator.store().pauses().await?;
    let summary = |view| RunSummary::from(view).held_back(&pauses, &BTreeSet::new());
    let runs: Vec<RunSummary> = page.items.iter().map(summary).collect();
    let next = runs.last().map(|run| run.id).filter(|_| page.more);
    let list = RunList { runs, next };
    context.out.table(&list, |list| run_list(list, &Local))?;
    more(context, list.next.map(|next| next.to_string()).as_deref());
    Ok(Exit::Success)
}

async fn jobs(args: &ListArgs, context: &Context, coordinator: &Coordinator) -> Result<Exit, Stop> {
    let store = coordinator.store();
    let run = match &args.run {
        Some(run) => Some(coordinator.find_run(run).await?),
        None => None,
    };
    let query = JobQuery {
        run,
        states: args.state.clone(),
        after: cursor::<JobId>(args.after.as_deref())?,
        limit: args.limit,
        ..JobQuery::default()
    };
    let page = store.jobs(&query).await?;
    let next = page.items.last().map(|job| job.id).filter(|_| page.more);
    let list = JobList {
        jobs: job_views(&page.items, &[], OnFailure::default(), store.now()),
        next,
    };
    context.out.table(&list, job_list)?;
    more(context, list.next.map(|next| next.to_string()).as_deref());
    Ok(Exit::Success)
}

fn cursor<T: std::str::FromStr>(text: Option<&str>) -> Result<Option<T>, Fault>
where
    T::Err: std::fmt::Display,
{
    text.map(str::parse).transpose().map_err(|error: T::Err| {
        Fault::new(
            Code::WrongValue,
            error.to_string(),
            "give the `next` of the page before",
        )
        .at("--after")
    })
}

fn more(context: &Context, next: Option<&str>) {
    if let (Some(next), Format::Text) = (next, context.out.format) {
        say(&dim(&format!("there is more: add --after {next}")));
    }
}
