//! `legwork logs`: a job's journal as a conversation.

use std::time::Duration;

use chrono::Local;
use clap::Args;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::JobId;
use legwork_shared::job::Job;
use legwork_shared::store::Store;

use super::base::{Context, Exit, Format, Missing, Stop, print};
use crate::output::{Detail, ending, is_opening, journal_entry, opening};

/// Journal entries that are read at a time: a page stays small even where each holds a large reply.
const PAGE: usize = 64;
/// The longest time between two looks while the job goes on.
const REST: Duration = Duration::from_secs(1);

/// What `legwork logs` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork logs last/researcher\n  legwork logs job_01m8 --follow --full")]
pub struct LogsArgs {
    /// The job: its id, the beginning of it, RUN/NAME, or its name in the newest run
    job: String,
    /// Go on until the job ends
    #[arg(long, short)]
    follow: bool,
    /// Show whole prompts and tool results, not their beginnings
    #[arg(long)]
    full: bool,
}

/// Prints what the agent was asked, said, called and got back.
///
/// # Errors
/// [`Stop`] where the job is not known or cannot be read.
pub async fn logs(args: &LogsArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let id = coordinator.find_job(&args.job).await?;
    let store = coordinator.store().as_ref();
    let detail = if args.full { Detail::Full } else { Detail::Short };
    let mut changes = store.changes();
    let mut next = 0;
    let job = loop {
        changes.mark_unchanged();
        // The record first: once it says that the job has ended, its journal is complete.
        let job = load(store, id).await?;
        next = entries(store, &job, next, detail, context).await?;
        if !args.follow || job.state().is_terminal() {
            break job;
        }
        // Neither an early nor a late look does harm: both ends of the wait lead to the same reading.
        let _ = tokio::time::timeout(REST, changes.changed()).await;
    };
    if next == 0 && context.out.format == Format::Text {
        print(&opening(&job, detail, &Local))?;
    }
    if let Some(outcome) = job.phase.outcome() {
        // Without a journal the answer has not been shown yet.
        let answer = if next == 0 { Some(detail) } else { None };
        context
            .out
            .part(outcome, |outcome| ending(outcome, answer, job.phase.since(), &Local))?;
    }
    Ok(if args.follow {
        Exit::of_job(job.state())
    } else {
        Exit::Success
    })
}

async fn load(store: &dyn Store, id: JobId) -> Result<Job, Fault> {
    let unknown = || {
        Fault::new(
            Code::UnknownId,
            format!("{id} is not there any more"),
            "see `legwork list --jobs`",
        )
    };
    store.job(id).await?.ok_or_else(unknown)
}

/// Prints the entries from `next` on and returns the place after them.
async fn entries(store: &dyn Store, job: &Job, mut next: u32, detail: Detail, context: &Context) -> Result<u32, Stop> {
    loop {
        let page = store.journal(job.id, next, PAGE).await?;
        for entry in &page {
            // An agent's journal begins with the request itself.
            if entry.seq == 0 && context.out.format == Format::Text && !is_opening(entry) {
                print(&opening(job, detail, &Local))?;
            }
            context.out.part(entry, |entry| journal_entry(entry, detail, &Local))?;
            next = entry.seq + 1;
        }
        if page.is_empty() {
            return Ok(next);
        }
    }
}
