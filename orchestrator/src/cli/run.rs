//! `legwork run`: everything in one process, from the question to the report.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::id::RunId;
use legwork_shared::plan::Plan;
use legwork_shared::run::{DEFAULT_TENANT, RunState};
use legwork_shared::store::{RunQuery, Store};
use legwork_shared::submit::DEFAULT_QUEUE;
use legwork_shared::wire::RunStatus;
use legwork_worker::model::{ModelErrorCode, Models};
use tokio_util::sync::CancellationToken;

use super::base::{
    AgentsFlag, Context, Exit, Flags, Format, Missing, ModelFlag, STDIN, SlotsFlag, Stop, absolute_sources,
    load_status, read_text, run_result, say,
};
use super::engine::{Engine, EngineOptions};
use super::live::{Followed, HiddenControls, Lines, Mirror, Quiet, Screen, Viewer, follow};
use super::plans::{self, Limits};
use super::result::deliver;
use super::{library, models, runners};
use crate::output::{dim, human, run_ending};

/// How long steps in flight may go on after the first Ctrl-C: a person waits for the prompt.
const DRAIN: Duration = Duration::from_secs(5);
/// The newest runs among which open ones are looked for; older ones have hardly been left open.
const OTHERS_LOOKED_AT: usize = 50;
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
    #[arg(long, value_name = "AGENT", conflicts_with = "plan")]
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

    /// Where the plan comes from, for faults.
    fn origin(&self) -> String {
        self.plan
            .as_ref()
            .map_or_else(|| "command line".to_owned(), |plan| plan.display().to_string())
    }
}

/// Answers a question or carries out a plan, shows how it goes, and prints the report.
///
/// # Errors
/// [`Stop`] where it cannot begin; nothing was stored then.
pub async fn run(args: &RunArgs, context: &Context) -> Result<Exit, Stop> {
    let models = models::configured(&context.settings)?
        .filter(|_| !args.no_model)
        .map(Arc::new);
    let plan = plan_of(args, context, models.as_deref())?;
    let library = library::load(context)?;
    let library = if models.is_none() {
        library.extractive()
    } else {
        library
    };
    let placed = |fault| plans::placed(fault, &args.origin());
    library::check(&plan, &library).map_err(placed)?;
    models::check(&plan, &library, models.as_deref())?;
    if args.confirm && !confirmed(&plan)? {
        say("nothing was started");
        return Ok(Exit::Cancelled);
    }
    let coordinator = context.coordinator(Missing::Create).await?;
    let accepted = coordinator.submit(&plan, &library).await.map_err(placed)?;
    work(context, coordinator.store(), accepted.run, models, args.out.as_deref()).await
}

fn plan_of(args: &RunArgs, context: &Context, models: Option<&Models>) -> Result<Plan, Fault> {
    let sources = absolute_sources(&args.sources, Path::new(""))?;
    let mut plan = match (&args.plan, &args.question) {
        (Some(path), _) => plans::read(path)?,
        (None, question) => {
            let question = question.as_deref().unwrap_or_default();
            let question = if question == STDIN {
                read_text(Path::new(STDIN))?
            } else {
                question.to_owned()
            };
            match (models, &args.agent) {
                (None, None) => plans::extractive(&question, &sources)?,
                (_, agent) => plans::for_agent(&question, agent.as_deref().unwrap_or(COORDINATOR))?,
            }
        }
    };
    plan.sources.extend(sources);
    args.limits.apply(&mut plan, &context.settings);
    if plan.model.is_none() {
        plan.model.clone_from(&context.settings.model);
    }
    Ok(plan)
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

/// Works on a run in this process until it ends, then prints the report.
///
/// # Errors
/// [`Stop`] where the engine cannot start or the report cannot be written.
pub async fn work(
    context: &Context,
    store: &Arc<dyn Store>,
    run: RunId,
    models: Option<Arc<Models>>,
    out: Option<&Path>,
) -> Result<Exit, Stop> {
    let mut mirror = Mirror::load(store.clone(), run, 0).await?;
    tell_of_others(context, store.as_ref(), run).await?;
    let options = EngineOptions {
        name: None,
        queues: queues_of(&mirror),
        slots: context.settings.slots,
        drain: DRAIN,
    };
    let engine = Engine::start(context, store, runners::all(models), options)?;
    let _hidden = HiddenControls::new();
    let followed = {
        let mut viewer = viewer(context);
        follow(&mut mirror, viewer.as_mut(), &engine.stopping()).await
    };
    if matches!(followed, Ok(Followed::Stopped)) {
        say(&dim("stopping; press Ctrl-C again to stop at once"));
    }
    engine.finish().await?;
    followed?;
    finish(context, store, run, out).await
}

/// A worker takes whatever is queued: other open runs of the store go on as well, and that may cost something.
async fn tell_of_others(context: &Context, store: &dyn Store, run: RunId) -> Result<(), Stop> {
    let query = RunQuery {
        tenant: DEFAULT_TENANT.to_owned(),
        before: None,
        limit: OTHERS_LOOKED_AT,
    };
    let runs = store.runs(&query).await?.items;
    let open = runs
        .iter()
        .filter(|view| view.state == RunState::Active && view.run.id != run);
    let open: Vec<String> = open.map(|view| view.run.id.to_string()).collect();
    if !open.is_empty() && context.out.format == Format::Text {
        let names: Vec<&str> = open.iter().map(String::as_str).collect();
        say(&dim(&format!(
            "other open runs of the store go on as well: {}",
            human::some_names(&names, 3)
        )));
    }
    Ok(())
}

/// The queues of a run's jobs, and of those that its agents may hand out: nobody else is there to take them.
fn queues_of(mirror: &Mirror) -> Vec<String> {
    let of_jobs = mirror.jobs().map(|job| job.spec.queue.clone());
    let of_agents = mirror
        .view()
        .run
        .agents
        .values()
        .filter_map(|agent| agent.queue.clone());
    let queues: BTreeSet<String> = of_jobs.chain(of_agents).chain([DEFAULT_QUEUE.to_owned()]).collect();
    queues.into_iter().collect()
}

/// Waits for a run that others work on.
///
/// # Errors
/// [`Stop`] where the run cannot be read.
pub async fn wait(context: &Context, store: &Arc<dyn Store>, run: RunId) -> Result<Exit, Stop> {
    let mut mirror = Mirror::load(store.clone(), run, 0).await?;
    {
        let mut viewer = viewer(context);
        follow(&mut mirror, viewer.as_mut(), &CancellationToken::new()).await?;
    }
    conclude(context, &load_status(store.as_ref(), run).await?)
}

/// Prints what a run found and how it ended.
///
/// # Errors
/// [`Stop`] where that cannot be read or written.
pub async fn finish(context: &Context, store: &Arc<dyn Store>, run: RunId, out: Option<&Path>) -> Result<Exit, Stop> {
    let status = load_status(store.as_ref(), run).await?;
    let result = run_result(context, store.as_ref(), run).await?;
    deliver(&result, out, context)?;
    let exit = conclude(context, &status)?;
    if let (Some(path), Exit::Success, Format::Text) = (out, exit, context.out.format) {
        say(&format!("the report is in {}", path.display()));
    }
    Ok(exit)
}

/// The last words, and the exit code.
fn conclude(context: &Context, status: &RunStatus) -> Result<Exit, Stop> {
    if let Some(fault) = refused_key(status) {
        return Err(fault.into());
    }
    if context.out.format == Format::Text {
        say(&run_ending(status));
        if status.run.state == RunState::Active {
            say(&format!("interrupted; go on with `legwork resume {}`", status.run.id));
        }
    }
    Ok(Exit::of_run(status.run.state))
}

/// A refused key is a matter of configuration, not of the run: it is told as such.
fn refused_key(status: &RunStatus) -> Option<Fault> {
    if status.run.state != RunState::Failed {
        return None;
    }
    let refused = ModelErrorCode::Unauthorized.as_str();
    let errors = status.jobs.iter().filter_map(|job| Some((job, job.error.as_ref()?)));
    let (job, error) = errors.into_iter().find(|(_, error)| error.code == refused)?;
    let run = status.run.id;
    let help = format!(
        "set a valid key, then `legwork retry {run}/{}` and `legwork resume {run}`",
        job.name
    );
    Some(Fault::new(Code::NoKey, error.message.clone(), help).at(format!("{run}/{}", job.name)))
}

/// The display that suits stderr.
fn viewer(context: &Context) -> Box<dyn Viewer> {
    match context.out.format {
        Format::Json => Box::new(Quiet),
        Format::Text if io::stderr().is_terminal() => Box::new(Screen::new()),
        Format::Text => Box::new(Lines),
    }
}
