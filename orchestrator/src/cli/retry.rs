//! `legwork retry`: runs a failed job again.

use clap::Args;
use legwork_shared::wire::Retried;

use super::base::{BY, Context, Exit, Missing, Stop};

/// What `legwork retry` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork retry last/analyst\n  legwork retry job_01m8 && legwork resume")]
pub struct RetryArgs {
    /// The job: its id, the beginning of it, RUN/NAME, or its name in the newest run
    job: String,
}

/// Gives a failed, cancelled or skipped job fresh attempts, and brings back what its failure had skipped.
///
/// # Errors
/// [`Stop`] where the job is not known or has succeeded.
pub async fn retry(args: &RetryArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let job = coordinator.find_job(&args.job).await?;
    let jobs = coordinator.retry(job, BY).await?;
    let lines = |retried: &Retried| retried.jobs.iter().map(|job| format!("{job}\n")).collect();
    context.out.view(&Retried { jobs }, lines)?;
    Ok(Exit::Success)
}
