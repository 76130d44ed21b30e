//! `legwork cancel`: stops a run or a job.

use clap::Args;
use legwork_orchestrator::coordinator::{CancelAnswer, Cancelled as Reached, Scope};
use legwork_shared::wire::{Cancelled, CancelledJob};

use super::base::{BY, Context, Exit, Missing, Stop};

/// What `legwork cancel` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  legwork cancel last\n  legwork cancel last/researcher --tree --reason \"wrong question\""
)]
pub struct CancelArgs {
    /// The run or job: its id, the beginning of it, `last`, RUN/NAME, or a name in the newest run
    target: String,
    /// Of a job, also what it handed out; a run always stops as a whole
    #[arg(long)]
    tree: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Cancels what waits at once, and tells what runs to stop.
///
/// # Errors
/// [`Stop`] where the target is not known.
pub async fn cancel(args: &CancelArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let target = coordinator.find(&args.target).await?;
    let scope = if args.tree { Scope::Tree } else { Scope::Job };
    let reached = coordinator.cancel(target, scope, BY, &args.reason).await?;
    let answer = Cancelled {
        jobs: reached.into_iter().map(answer_of).collect(),
    };
    context.out.view(&answer, text)?;
    Ok(Exit::Success)
}

fn answer_of(reached: Reached) -> CancelledJob {
    let (answer, state) = match reached.answer {
        CancelAnswer::Cancelled => ("cancelled", None),
        CancelAnswer::Requested => ("requested", None),
        CancelAnswer::Ended(state) => ("ended", Some(state)),
    };
    CancelledJob {
        job: reached.job,
        name: reached.name,
        answer: answer.to_owned(),
        state,
    }
}

fn text(answer: &Cancelled) -> String {
    if answer.jobs.is_empty() {
        return "nothing was open\n".to_owned();
    }
    let line = |job: &CancelledJob| match (job.answer.as_str(), job.state) {
        ("requested", _) => format!("{}  asked to stop\n", job.name),
        (_, Some(state)) => format!("{}  had {state} before\n", job.name),
        (answer, None) => format!("{}  {answer}\n", job.name),
    };
    answer.jobs.iter().map(line).collect()
}
