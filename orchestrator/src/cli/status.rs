//! `legwork status`: a run at a glance.

use chrono::Local;
use clap::Args;
use legwork_shared::wire::RunStatus;

use super::base::{Context, Exit, Missing, Stop, columns, count_troubles, load_status};
use crate::output::status_text;

/// What `legwork status` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork status\n  legwork status run_01m8 --json")]
pub struct StatusArgs {
    /// The run: its id, the beginning of it, or `last`
    #[arg(default_value = "last")]
    run: String,
}

/// Shows how a run stands: its jobs as a tree, and tokens, cost and time by agent.
///
/// # Errors
/// [`Stop`] where the run is not known or cannot be read.
pub async fn status(args: &StatusArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let run = coordinator.find_run(&args.run).await?;
    let store = coordinator.store();
    let RunStatus { run, mut jobs, .. } = load_status(store.as_ref(), run).await?;
    count_troubles(store.as_ref(), &mut jobs).await?;
    let status = RunStatus::new(run, jobs, store.now());
    context
        .out
        .view(&status, |status| status_text(status, store.now(), &Local, columns()))?;
    Ok(Exit::Success)
}
