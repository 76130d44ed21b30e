//! `legwork result`: what a run or a job found.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use legwork_orchestrator::coordinator::Target;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::run::RunState;
use legwork_shared::wire::RunResult;

use super::base::{
    Context, Exit, Format, Missing, Stop, find_run_view, job_result, load_status, print, print_bytes, run_result, say,
    write_whole,
};
use crate::output::{results_text, run_ending, without_controls};

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

/// Writes results where they are wanted: into the file if there is one, else to stdout. Programs read of them on stdout in
/// any case, people only where there are some.
///
/// # Errors
/// [`Stop`] if that cannot be written.
pub fn deliver(result: &RunResult, out: Option<&Path>, context: &Context) -> Result<(), Stop> {
    let text = results_text(result);
    if let Some(path) = out.filter(|_| !result.results.is_empty()) {
        write_whole(path, text.as_bytes())?;
    }
    match (context.out.format, out) {
        (Format::Json, _) => context.out.view(result, results_text),
        // A program gets the bytes as they are; a terminal must not obey what a model wrote.
        (Format::Text, None) if io::stdout().is_terminal() => print(&without_controls(&text)),
        (Format::Text, None) => print_bytes(text.as_bytes()),
        (Format::Text, Some(_)) => Ok(()),
    }
}
