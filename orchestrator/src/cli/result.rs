//! `legwork result`: what a run or a job found.

use std::path::PathBuf;

use clap::Args;
use legwork_orchestrator::coordinator::Target;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::run::RunState;
use legwork_shared::wire::RunResult;

use super::base::{Context, Exit, Missing, Stop, find_run_view, job_result, load_status, run_result, say, write_whole};
use crate::output::{results_text, run_ending};

/// What `legwork result` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork result last > report.md\n  legwork result last/analyst --json")]
pub struct ResultArgs {
    /// The run or job: its id, the beginning of it, `last`, RUN/NAME, or a name in the newest run
    #[arg(default_value = "last")]
    target: String,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Prints the final answer; the exit code says how the run or job ended.
///
/// # Errors
/// [`Stop`] where the target is not known or has not ended.
pub async fn result(args: &ResultArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let store = coordinator.store().as_ref();
    let result = match coordinator.find(&args.target).await? {
        Target::Run(run) => run_result(context, store, run).await?,
        Target::Job(id) => {
            let gone = || {
                Fault::new(
                    Code::UnknownId,
                    format!("{id} is not there any more"),
                    "see `legwork list --jobs`",
                )
            };
            let job = store.job(id).await?.ok_or_else(gone)?;
            let view = find_run_view(store, job.run).await?;
            job_result(context, store, &view, &job).await?
        }
    };
    if result.state == RunState::Active {
        let message = format!("`{}` has not ended", args.target);
        let help = format!("wait for it with `legwork watch {}`", result.run);
        return Err(Fault::new(Code::WrongState, message, help).into());
    }
    deliver(&result, args.out.as_deref(), context)?;
    if result.state != RunState::Succeeded {
        say(&run_ending(&load_status(store, result.run).await?));
    }
    Ok(Exit::of_run(result.state))
}

/// Writes results where they are wanted.
///
/// # Errors
/// [`Stop`] if that cannot be written.
pub fn deliver(result: &RunResult, out: Option<&std::path::Path>, context: &Context) -> Result<(), Stop> {
    match out {
        Some(path) => Ok(write_whole(path, results_text(result).as_bytes())?),
        None => context.out.view(result, results_text),
    }
}
