//! `legwork resume`: goes on with a run that was interrupted or paused, or with a queue.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use legwork_shared::run::{Pausable, RunState};

use super::base::{
    Context, Exit, Flags, Missing, ModelFlag, SlotsFlag, Stop, check_writable, find_run_view, load_jobs,
};
use super::pause::end_pause;
use super::{attend, models};

/// What `legwork resume` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  legwork resume
  legwork resume run_01m8 --out report.md
  legwork resume --queue night

Of a paused run or queue the pause ends, and workers go on with it. A run that is not paused is worked on here.")]
pub struct ResumeArgs {
    /// The run: its id, the beginning of it, or `last`
    #[arg(default_value = "last")]
    run: String,
    /// A queue that was paused, in place of a run
    #[arg(long, value_name = "NAME", conflicts_with_all = ["run", "out"], value_parser = NonEmptyStringValueParser::new())]
    queue: Option<String>,
    /// Write the report to this file, whole or not at all, instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    model: ModelFlag,
    #[command(flatten)]
    slots: SlotsFlag,
}

impl ResumeArgs {
    /// The keys of the configuration that were set by flags.
    #[must_use]
    pub fn flags(&self) -> Flags {
        [self.model.flags(), self.slots.flags()].concat()
    }
}

/// Ends the pause of a run or queue. A run that is not paused is worked on in this process until it ends; steps that were
/// finished are not repeated.
///
/// # Errors
/// [`Stop`] where the run is not known or the engine cannot start.
pub async fn resume(args: &ResumeArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    if let Some(queue) = &args.queue {
        return end_pause(&coordinator, &Pausable::Queue(queue.clone()), context).await;
    }
    let run = coordinator.find_run(&args.run).await?;
    let store = coordinator.store();
    if store.pauses().await?.iter().any(|pause| pause.of == Pausable::Run(run)) {
        return end_pause(&coordinator, &Pausable::Run(run), context).await;
    }
    let out = args.out.as_deref();
    let view = find_run_view(store.as_ref(), run).await?;
    if view.state != RunState::Active {
        return attend::finish(context, store, run, out).await;
    }
    let models = models::configured(&context.settings)?.map(Arc::new);
    out.map_or(Ok(()), check_writable)?;
    let jobs = load_jobs(store.as_ref(), run).await?;
    models::check_run(&view.run, &jobs, models.as_deref())?;
    attend::work(context, store, run, models, out).await
}
