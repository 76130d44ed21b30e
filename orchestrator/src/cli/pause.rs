//! `legwork pause`: holds the jobs of a run or a queue back.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use legwork_orchestrator::coordinator::Coordinator;
use legwork_shared::run::Pausable;
use legwork_shared::wire::{Paused, WorkerHealth};

use super::base::{BY, Context, Exit, Format, Missing, Stop, load_workers, say};
use crate::output::dim;

/// What `legwork pause` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  legwork pause last
  legwork pause --queue night

What is queued waits until `legwork resume`; what runs goes on to its end.")]
pub struct PauseArgs {
    /// The run: its id, the beginning of it, or `last`
    #[arg(required_unless_present = "queue")]
    run: Option<String>,
    /// A queue, in place of a run
    #[arg(long, value_name = "NAME", conflicts_with = "run", value_parser = NonEmptyStringValueParser::new())]
    queue: Option<String>,
}

/// Pauses a run or a queue.
///
/// # Errors
/// [`Stop`] where the run is not known or has ended.
pub async fn pause(args: &PauseArgs, context: &Context) -> Result<Exit, Stop> {
    // A queue may be paused before anything was ever queued in it.
    let missing = if args.queue.is_some() {
        Missing::Create
    } else {
        Missing::Refuse
    };
    let coordinator = context.coordinator(missing).await?;
    let of = match (&args.queue, &args.run) {
        (Some(queue), _) => Pausable::Queue(queue.clone()),
        (None, run) => Pausable::Run(coordinator.find_run(run.as_deref().unwrap_or_default()).await?),
    };
    let changed = coordinator.pause(of.clone(), BY).await?;
    context.out.view(&answer(&of, true, changed), |_| {
        let before = if changed { "" } else { " since before" };
        format!("{of} is paused{before}\n")
    })?;
    Ok(Exit::Success)
}

/// Ends a pause, and says where nobody is there to go on.
pub(super) async fn end_pause(coordinator: &Coordinator, of: &Pausable, context: &Context) -> Result<Exit, Stop> {
    let changed = coordinator.resume(of, BY).await?;
    context.out.view(&answer(of, false, changed), |_| {
        if changed {
            format!("{of} goes on\n")
        } else {
            format!("{of} was not paused\n")
        }
    })?;
    let workers = load_workers(context, coordinator.store().as_ref()).await?.workers;
    let is_anybody_there = workers.iter().any(|worker| worker.health == WorkerHealth::Alive);
    if context.out.format == Format::Text && !is_anybody_there {
        say(&dim(
            "no worker is there: start one with `legwork worker`, or work on a run here with `legwork resume`",
        ));
    }
    Ok(Exit::Success)
}

fn answer(of: &Pausable, paused: bool, changed: bool) -> Paused {
    let (queue, run) = match of {
        Pausable::Queue(queue) => (Some(queue.clone()), None),
        Pausable::Run(run) => (None, Some(*run)),
    };
    Paused {
        queue,
        run,
        paused,
        changed,
    }
}
