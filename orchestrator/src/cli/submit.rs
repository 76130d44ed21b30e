//! `legwork submit`: queues a plan, or a single job.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use legwork_orchestrator::coordinator::Submitted as Accepted;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::plan::{Plan, PlannedJob};
use legwork_shared::wire::{Submitted, SubmittedJob};

use super::base::{
    AgentsFlag, Context, Exit, Flags, Missing, ModelFlag, STDIN, Stop, absolute_sources, read_text, say,
};
use super::origin::Origin;
use super::plans::{self, Limits};
use super::{attend, library};
use crate::output::dim;

/// What `legwork submit` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  legwork submit plan.yaml --key nightly-2026-11-30
  legwork submit --agent researcher \"What is HNSW?\" --sources docs
  generate-plan | legwork submit - --watch")]
pub struct SubmitArgs {
    /// A plan in YAML or JSON, or with --agent what to do; `-` reads stdin
    #[arg(value_name = "FILE")]
    input: String,
    /// Submit a single job for this agent
    #[arg(long, value_name = "AGENT", value_parser = NonEmptyStringValueParser::new())]
    agent: Option<String>,
    /// Submitting the same again under this key gives the same run
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Add the jobs to this run instead of starting one
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Folders that the agents may read, besides those of the plan
    #[arg(long, value_name = "DIR", num_args = 1..)]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    model: ModelFlag,
    #[command(flatten)]
    agents: AgentsFlag,
    #[command(flatten)]
    limits: Limits,
    /// Wait until the run ends, with its events on stderr; workers elsewhere do the work
    #[arg(long)]
    watch: bool,
}

impl SubmitArgs {
    /// The keys of the configuration that were set by flags.
    #[must_use]
    pub fn flags(&self) -> Flags {
        [self.model.flags(), self.agents.flags()].concat()
    }
}

/// Queues the plan and prints the id of its run.
///
/// # Errors
/// [`Stop`] where the plan cannot be accepted; nothing was stored then.
pub async fn submit(args: &SubmitArgs, context: &Context) -> Result<Exit, Stop> {
    let (plan, origin) = plan_of(args, context)?;
    let library = library::load(context)?;
    let placed = |fault| origin.place(fault);
    library::check(&plan, &library).map_err(placed)?;
    let coordinator = context.coordinator(Missing::Create).await?;
    let accepted = match &args.run {
        Some(run) => {
            let run = coordinator.find_run(run).await?;
            coordinator.add(run, &plan, &library).await
        }
        None => coordinator.submit(&plan, &library).await,
    };
    let view = view_of(accepted.map_err(placed)?);
    context.out.view(&view, |view| format!("{}\n", view.run))?;
    if view.replayed {
        say(&dim(
            "it had been submitted before under this key; nothing new was queued",
        ));
    }
    if !args.watch {
        return Ok(Exit::Success);
    }
    attend::wait(context, coordinator.store(), view.run).await
}

fn plan_of(args: &SubmitArgs, context: &Context) -> Result<(Plan, Origin), Fault> {
    let (mut plan, origin) = match &args.agent {
        Some(agent) => (single(&args.input, agent)?, Origin::CommandLine),
        None => plans::read(Path::new(&args.input)).map_err(|fault| hint_at_agent(fault, &args.input))?,
    };
    let here = std::env::current_dir().map_err(|error| {
        Fault::new(
            Code::Unreadable,
            format!("the current folder cannot be read: {error}"),
            "change to another one",
        )
    })?;
    plan.sources.extend(absolute_sources(&args.sources, &here)?);
    if args.key.is_some() {
        plan.idempotency_key.clone_from(&args.key);
    }
    args.limits.apply(&mut plan, &context.settings);
    if plan.model.is_none() {
        plan.model.clone_from(&context.settings.model);
    }
    Ok((plan, origin))
}

/// A plan with one job.
fn single(text: &str, agent: &str) -> Result<Plan, Fault> {
    let description = if text == STDIN {
        read_text(Path::new(STDIN))?
    } else {
        text.to_owned()
    };
    let job = PlannedJob {
        id: agent.to_owned(),
        agent: Some(agent.to_owned()),
        description,
        ..PlannedJob::default()
    };
    Ok(Plan {
        jobs: vec![job],
        ..Plan::default()
    })
}

/// Somebody who gives a question instead of a file wants to know how.
fn hint_at_agent(fault: Fault, input: &str) -> Fault {
    if fault.code == Code::Unreadable && input.contains(char::is_whitespace) {
        return Fault {
            help: "name a plan file; for a question add `--agent AGENT`, or use `legwork run`".to_owned(),
            ..fault
        };
    }
    fault
}

fn view_of(accepted: Accepted) -> Submitted {
    let jobs = accepted.jobs.into_iter().map(|(name, id)| SubmittedJob { name, id });
    Submitted {
        run: accepted.run,
        jobs: jobs.collect(),
        replayed: accepted.replayed,
    }
}
