//! `legwork worker`: takes jobs from the store and runs them.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use legwork_shared::job::JobState;
use legwork_shared::store::{JobQuery, Store, StoreError};
use tokio_util::sync::CancellationToken;

use super::base::{Context, Exit, Flags, Format, Missing, ModelFlag, SlotsFlag, Stop, WorkerFlags, say};
use super::engine::{Engine, EngineOptions};
use super::{models, runners};
use crate::output::dim;

/// The shortest time between two looks for open jobs: a busy store changes thousands of times a second.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest time between two looks for open jobs.
const REST: Duration = Duration::from_secs(1);

/// What `legwork worker` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  legwork worker --store /srv/legwork/jobs.db --slots 4
  legwork worker --queue default --queue night --drain-timeout 5m
  legwork worker --once

The first SIGTERM or Ctrl-C lets jobs finish within the drain time, the second gives them back at once.")]
pub struct WorkerArgs {
    /// What to call it in `doctor` and logs
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// End when no job of the store is open any more
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    work: WorkerFlags,
    #[command(flatten)]
    slots: SlotsFlag,
    #[command(flatten)]
    model: ModelFlag,
}

impl WorkerArgs {
    /// The keys of the configuration that were set by flags.
    #[must_use]
    pub fn flags(&self) -> Flags {
        [self.work.flags(), self.slots.flags(), self.model.flags()].concat()
    }
}

/// Works until it is told to stop.
///
/// # Errors
/// [`Stop`] where it cannot start.
pub async fn worker(args: &WorkerArgs, context: &Context) -> Result<Exit, Stop> {
    let models = models::configured(&context.settings)?.map(Arc::new);
    let store = context.store(Missing::Create).await?;
    let settings = &context.settings;
    let options = EngineOptions {
        name: args.name.clone(),
        queues: settings.queues.clone(),
        slots: settings.slots,
        drain: Duration::from_millis(settings.drain_timeout_ms),
    };
    if models.is_none() {
        tracing::warn!("no language model is configured: jobs of agents that need one will fail");
    }
    let engine = Engine::start(context, &store, runners::all(models), options)?;
    if context.out.format == Format::Text {
        let (slots, queues) = (settings.slots, settings.queues.join(", "));
        say(&dim(&format!(
            "taking jobs of {queues} from {}, {slots} at a time",
            settings.store
        )));
    }
    if args.once {
        idle(store.as_ref(), &engine.stopping()).await?;
        engine.finish().await?;
    } else {
        engine.ended().await?;
    }
    Ok(Exit::Success)
}

/// Waits until no job is open, or the worker is to stop.
async fn idle(store: &dyn Store, stopping: &CancellationToken) -> Result<(), StoreError> {
    let open = JobQuery {
        states: JobState::ALL.into_iter().filter(|state| !state.is_terminal()).collect(),
        limit: 1,
        ..JobQuery::default()
    };
    let mut changes = store.changes();
    while !stopping.is_cancelled() {
        changes.mark_unchanged();
        match store.jobs(&open).await {
            Ok(page) if page.items.is_empty() => break,
            Ok(_) => {}
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error),
        }
        let next_look = async {
            tokio::time::sleep(PAUSE).await;
            // The store outlives this loop, so the sender cannot be gone.
            let _ = changes.changed().await;
        };
        tokio::select! {
            () = stopping.cancelled() => {}
            _ = tokio::time::timeout(REST, next_look) => {}
        }
    }
    Ok(())
}
