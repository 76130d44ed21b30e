//! `legwork run`: everything in one process, from the question to the report.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::plan::Plan;
use legwork_worker::model::Models;

use super::base::{
    AgentsFlag, Context, Exit, Flags, Missing, ModelFlag, STDIN, SlotsFlag, Stop, absolute_sources, check_writable,
    read_text, say,
};
use super::origin::Origin;
use super::plans::{self, Limits};
use super::{attend, library, models};
use crate::output::{dim, human};

/// The agent that answers a question if none is named.
const COORDINATOR: &str = "coordinator";

/// What `legwork run` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  legwork run \"What are the pros and cons of vector databases?\" --sources docs --out report.md
  legwork run --plan plan.yaml --budget-usd 0.50
  echo \"Compare A and B\" | legwork run - --sources docs --no-model")]
pub struct RunArgs {
    /// The question; `-` reads stdin
    #[arg(required_unless_present = "plan", conflicts_with = "plan")]
    question: Option<String>,
    /// Folders that the agents may read
    #[arg(long, value_name = "DIR", num_args = 1..)]
    sources: Vec<PathBuf>,
    /// Write the report to this file, whole or not at all, instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The agent that answers; without a model its place is taken by four jobs that quote
    #[arg(long, value_name = "AGENT", value_parser = NonEmptyStringValueParser::new(), conflicts_with = "plan")]
    agent: Option<String>,
    /// A fixed graph of jobs in YAML or JSON, instead of a question
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Use no language model even if one is configured: search and quote
    #[arg(long, conflicts_with = "agent")]
    no_model: bool,
    #[command(flatten)]
    model: ModelFlag,
    #[command(flatten)]
    slots: SlotsFlag,
    #[command(flatten)]
    agents: AgentsFlag,
    #[command(flatten)]
    limits: Limits,
    /// Show the plan and ask before any work starts
    #[arg(long)]
    confirm: bool,
}

impl RunArgs {
    /// The keys of the configuration that were set by flags.
    #[must_use]
    pub fn flags(&self) -> Flags {
        [self.model.flags(), self.slots.flags(), self.agents.flags()].concat()
    }
}

/// Answers a question or carries out a plan, shows how it goes, and prints the report.
///
/// # Errors
/// [`Stop`] where it cannot begin; nothing was stored then.
pub async fn run(args: &RunArgs, context: &Context) -> Result<Exit, Stop> {
    let models = if args.no_model {
        None
    } else {
        models::configured(&context.settings)?
    };
    let models = models.map(Arc::new);
    let (plan, origin) = plan_of(args, context, models.as_deref())?;
    let library = library::load(context)?;
    let library = if models.is_none() {
        library.extractive()
    } else {
        library
    };
    let placed = |fault| origin.place(fault);
    library::check(&plan, &library).map_err(placed)?;
    models::check(&plan, &library, models.as_deref())?;
    library::check_sources(&plan, &library, models.as_deref())?;
    args.out.as_deref().map_or(Ok(()), check_writable)?;
    if args.confirm && !confirmed(&plan)? {
        say("nothing was started");
        return Ok(Exit::Cancelled);
    }
    let coordinator = context.coordinator(Missing::Create).await?;
    let accepted = coordinator.submit(&plan, &library).await.map_err(placed)?;
    attend::work(context, coordinator.store(), accepted.run, models, args.out.as_deref()).await
}

fn plan_of(args: &RunArgs, context: &Context, models: Option<&Models>) -> Result<(Plan, Origin), Fault> {
    let sources = absolute_sources(&args.sources, Path::new(""))?;
    let (mut plan, origin) = match (&args.plan, &args.question) {
        (Some(path), _) => plans::read(path)?,
        (None, question) => {
            let question = question.as_deref().unwrap_or_default();
            let question = if question == STDIN {
                read_text(Path::new(STDIN))?
            } else {
                question.to_owned()
            };
            let plan = match (models, &args.agent) {
                (None, None) => plans::extractive(&question, &sources)?,
                (_, agent) => plans::for_agent(&question, agent.as_deref().unwrap_or(COORDINATOR))?,
            };
            (plan, Origin::CommandLine)
        }
    };
    plan.sources.extend(sources);
    args.limits.apply(&mut plan, &context.settings);
    if plan.model.is_none() {
        plan.model.clone_from(&context.settings.model);
    }
    Ok((plan, origin))
}

/// Shows the plan and asks for a yes.
fn confirmed(plan: &Plan) -> Result<bool, Fault> {
    if !io::stdin().is_terminal() {
        let message = "--confirm asks on a terminal, and stdin is none";
        return Err(Fault::new(Code::WrongValue, message, "leave out --confirm").at("--confirm"));
    }
    for job in &plan.jobs {
        let needs: Vec<&str> = job.depends_on.iter().map(legwork_shared::plan::Need::job).collect();
        let after = if needs.is_empty() {
            String::new()
        } else {
            format!(", after {}", human::some_names(&needs, 5))
        };
        let agent = job.agent.as_deref().unwrap_or(legwork_shared::submit::DEFAULT_AGENT);
        let what = human::first_line(&job.description, 70);
        say(&format!("{} {}", job.id, dim(&format!("({agent}{after}): {what}"))));
    }
    let unreadable = |error: io::Error| {
        Fault::new(
            Code::Unreadable,
            format!("the answer cannot be read: {error}"),
            "leave out --confirm",
        )
    };
    let mut stderr = anstream::stderr();
    write!(stderr, "Start? [y/N] ")
        .and_then(|()| stderr.flush())
        .map_err(unreadable)?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(unreadable)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
