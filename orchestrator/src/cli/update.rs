//! `legwork update`: tells a job something while it works.

use std::path::Path;

use clap::Args;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::job::UpdateMode;
use legwork_shared::wire::Updated;
use serde_json::Value;

use super::base::{Context, Exit, Missing, STDIN, Stop, read_text};

/// What `legwork update` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  legwork update last/writer \"Keep it under one page.\"\n  legwork update job_01m8 - --interrupt < note.txt"
)]
pub struct UpdateArgs {
    /// The job: its id, the beginning of it, RUN/NAME, or its name in the newest run
    job: String,
    /// What to tell it; `-` reads stdin
    #[arg(default_value = "")]
    text: String,
    /// Do not wait: abort the call in flight, or cancel the jobs that it has handed out and waits for
    #[arg(long)]
    interrupt: bool,
    /// Structured data to go with it
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

/// Puts an update into the job's mailbox. The event `update_applied` says when the agent has read it, `updates_unread` that
/// it never did.
///
/// # Errors
/// [`Stop`] where the job is not known or has ended.
pub async fn update(args: &UpdateArgs, context: &Context) -> Result<Exit, Stop> {
    let text = if args.text == STDIN {
        read_text(Path::new(STDIN))?
    } else {
        args.text.clone()
    };
    let data = args.data.as_deref().map(json).transpose()?;
    let mode = if args.interrupt {
        UpdateMode::Interrupt
    } else {
        UpdateMode::Enqueue
    };
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let job = coordinator.find_job(&args.job).await?;
    let update = coordinator.update(job, &text, data, mode).await?;
    context
        .out
        .view(&Updated { update, job }, |updated| format!("{}\n", updated.update))?;
    Ok(Exit::Success)
}

fn json(text: &str) -> Result<Value, Fault> {
    serde_json::from_str(text).map_err(|error| {
        Fault::new(
            Code::Syntax,
            format!("the data is not JSON: {error}"),
            "quote it for the shell: --data '{\"a\": 1}'",
        )
        .at("--data")
    })
}
