//! `legwork watch`: the events of a run as they come.

use chrono::Local;
use clap::Args;
use legwork_shared::wire::EventView;
use tokio_util::sync::CancellationToken;

use super::base::{Context, Exit, Missing, Out, Stop};
use super::live::{Followed, Mirror, Viewer, follow};
use crate::output::{dim, event_line};

/// What `legwork watch` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  legwork watch last\n  legwork watch run_01m8 --after 120 --json")]
pub struct WatchArgs {
    /// The run: its id, the beginning of it, or `last`
    #[arg(default_value = "last")]
    run: String,
    /// Only events after this number: go on where a watch was broken off
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
}

/// Prints the events of a run until it ends; the exit code says how.
///
/// # Errors
/// [`Stop`] where the run is not known or cannot be read.
pub async fn watch(args: &WatchArgs, context: &Context) -> Result<Exit, Stop> {
    let coordinator = context.coordinator(Missing::Refuse).await?;
    let run = coordinator.find_run(&args.run).await?;
    let mut mirror = Mirror::load(coordinator.store().clone(), run, args.after).await?;
    let mut printer = Printer { out: context.out };
    match follow(&mut mirror, &mut printer, &CancellationToken::new()).await? {
        Followed::Ended(state) => Ok(Exit::of_run(state)),
        Followed::Stopped => Ok(Exit::Interrupted),
    }
}

/// Prints every event.
struct Printer {
    out: Out,
}

impl Viewer for Printer {
    fn show(&mut self, mirror: &Mirror, events: &[EventView]) -> Result<(), Stop> {
        for event in events {
            self.out.part(event, |event| {
                // The number is what `--after` takes.
                let number = dim(&format!("{:>4}", event.seq));
                format!("{number}  {}\n", event_line(event, &Local, &|job| mirror.name_of(job)))
            })?;
        }
        Ok(())
    }
}
