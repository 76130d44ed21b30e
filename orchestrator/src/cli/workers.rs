//! `legwork workers`: who works on the store.

use clap::Args;

use super::base::{Context, Exit, Missing, Stop, load_workers};
use crate::output::worker_list;

/// What `legwork workers` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork workers\n  legwork workers --json --store redis://queue.internal")]
pub struct WorkersArgs {}

/// Lists the workers with their load, and which of them leads maintenance. One that is silent has not been heard of while
/// its leases hold: its jobs go to others.
///
/// # Errors
/// [`Stop`] where the store cannot be read.
pub async fn workers(_: &WorkersArgs, context: &Context) -> Result<Exit, Stop> {
    let store = context.store(Missing::Refuse).await?;
    let workers = load_workers(context, store.as_ref()).await?;
    context
        .out
        .table(&workers, |workers| worker_list(workers, store.now()))?;
    Ok(Exit::Success)
}
