//! `legwork prune`: deletes runs that ended.

use clap::Args;
use legwork_orchestrator::maintenance::pruner::{self, Prunable};
use legwork_shared::budget::Counter;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::wire::{Pruned, PrunedRun};

use super::base::{Context, Exit, Flags, Format, Missing, Stop, say};
use crate::config::Key;
use crate::output::{dim, human, without_controls};

/// Runs that are looked for at a time.
const ROUND: usize = 500;

/// What `legwork prune` is told.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these comments are the help that people read")]
#[command(after_help = "Examples:
  legwork prune --older-than 7d --dry-run
  legwork prune --older-than 7d --keep 1000

A run goes with all its jobs, files and idempotency keys, as soon as one of the two says so. Runs that are still
active stay. Workers prune by themselves where the configuration says `prune_older_than` or `prune_keep`.")]
pub struct PruneArgs {
    /// Runs that ended longer ago than this, such as `7d` [env: LEGWORK_PRUNE_OLDER_THAN]
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,
    /// All ended runs but the newest N [env: LEGWORK_PRUNE_KEEP]
    #[arg(long, value_name = "N")]
    keep: Option<String>,
    /// Only tell what would go
    #[arg(long)]
    dry_run: bool,
}

impl PruneArgs {
    /// The keys of the configuration that were set by flags. A flag stands for itself alone: with `--keep` on the command
    /// line, the age in a file does not delete more than was asked for.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let of = |key: Key, value: &Option<String>| value.clone().map(|value| (key, value));
        [
            of(Key::PruneOlderThan, &self.older_than),
            of(Key::PruneKeep, &self.keep),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Deletes ended runs by age and number, or tells which ones would go.
///
/// # Errors
/// [`Stop`] where nothing says which, or the store cannot be used.
pub async fn prune(args: &PruneArgs, context: &Context) -> Result<Exit, Stop> {
    let mut retention = context.settings.retention();
    if args.older_than.is_some() || args.keep.is_some() {
        retention.older_than_ms = retention.older_than_ms.filter(|_| args.older_than.is_some());
        retention.keep = retention.keep.filter(|_| args.keep.is_some());
    }
    if retention.is_for_ever() {
        let help = "say which with --older-than 7d or --keep 1000, or both";
        return Err(Fault::new(Code::WrongValue, "nothing says which runs are to go", help)
            .at("command line")
            .into());
    }
    let store = context.store(Missing::Refuse).await?;
    let now = store.now();
    let mut pruned = Pruned {
        runs: Vec::new(),
        dry_run: args.dry_run,
    };
    if args.dry_run {
        let found = pruner::prunable(store.as_ref(), &retention, now, usize::MAX).await?;
        pruned.runs = found.iter().map(told).collect();
    } else {
        loop {
            let found = pruner::prunable(store.as_ref(), &retention, now, ROUND).await?;
            let before = pruned.runs.len();
            for run in &found {
                if pruner::prune(store.as_ref(), run).await? {
                    pruned.runs.push(told(run));
                }
            }
            if pruned.runs.len() == before {
                break;
            }
        }
    }
    context.out.view(&pruned, text)?;
    if context.out.format == Format::Text {
        let runs = human::counted(pruned.runs.len() as u64, "run");
        let jobs = human::counted(pruned.runs.iter().map(|run| run.jobs).sum(), "job");
        let verb = if args.dry_run { "would go" } else { "deleted" };
        say(&dim(&format!("{runs} with {jobs} {verb}")));
    }
    Ok(Exit::Success)
}

fn told(run: &Prunable) -> PrunedRun {
    PrunedRun {
        id: run.view.run.id,
        title: run.view.run.title.clone(),
        state: run.view.state,
        jobs: run.view.counter(Counter::Jobs),
        ended_at_ms: run.ended_at,
    }
}

fn text(pruned: &Pruned) -> String {
    let line = |run: &PrunedRun| format!("{}  {}  {}\n", run.id, run.state, without_controls(&run.title));
    pruned.runs.iter().map(line).collect()
}
