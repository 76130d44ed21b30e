//! `legwork schedule`: plans that are submitted again and again.

use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use legwork_orchestrator::timetable::Timetable;
use legwork_shared::clock::entropy;
use legwork_shared::fault::{Code, Fault};
use legwork_shared::run::DEFAULT_TENANT;
use legwork_shared::schedule::Schedule;
use legwork_shared::store::StoreError;
use legwork_shared::submit::new_run;
use legwork_shared::wire::{Moment, ScheduleList, ScheduleView, Upcoming};

use super::base::{AgentsFlag, BY, Context, Exit, Flags, Missing, Stop, print};
use super::{library, plans};
use crate::output::{schedule_list, without_controls};

/// The most moments that are told ahead.
const COUNT_MAX: u16 = 1_000;

/// What `legwork schedule` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  legwork schedule add nightly plan.yaml --cron '30 2 * * *' --zone Europe/Berlin
  legwork schedule next --cron '30 2 * * *' --zone Europe/Berlin --count 5
  legwork schedule list
  legwork schedule remove nightly

Workers submit the plan when it is due. On the day when clocks are put forward, a time that does not exist becomes the
first moment after the gap; when they are put back, a time that comes twice counts once, the first time.")]
pub struct ScheduleArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Submit a plan at the times of a cron expression
    Add(AddArgs),
    /// List the schedules
    List,
    /// Tell when a schedule or a cron expression is due next
    Next(NextArgs),
    /// Forget a schedule; the runs it has made stay
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Args)]
struct AddArgs {
    /// What to call it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// A plan in YAML or JSON; `-` reads stdin
    #[arg(value_name = "FILE")]
    plan: PathBuf,
    /// When: minute, hour, day of month, month, day of week
    #[arg(long, value_name = "EXPRESSION")]
    cron: String,
    /// The time zone of that, such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,
    #[command(flatten)]
    agents: AgentsFlag,
}

#[derive(Debug, Args)]
struct NextArgs {
    /// The schedule's name
    #[arg(required_unless_present = "cron", conflicts_with = "cron")]
    name: Option<String>,
    /// A cron expression in place of a schedule
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// The time zone of that
    #[arg(long, value_name = "ZONE", default_value = "UTC", requires = "cron")]
    zone: String,
    /// How many times
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=i64::from(COUNT_MAX)))]
    count: u16,
}

impl ScheduleArgs {
    /// The keys of the configuration that were set by flags.
    #[must_use]
    pub fn flags(&self) -> Flags {
        match &self.what {
            What::Add(args) => args.agents.flags(),
            What::List | What::Next(_) | What::Remove { .. } => Flags::new(),
        }
    }
}

/// Makes, lists, previews or forgets schedules.
///
/// # Errors
/// [`Stop`] where the expression, the zone or the plan cannot be read, or the name is taken or not known.
pub async fn schedule(args: &ScheduleArgs, context: &Context) -> Result<Exit, Stop> {
    match &args.what {
        What::Add(args) => add(args, context).await?,
        What::List => {
            let store = context.store(Missing::Refuse).await?;
            let schedules = store.schedules(Some(DEFAULT_TENANT)).await?;
            let list = ScheduleList {
                schedules: schedules.iter().map(ScheduleView::from).collect(),
            };
            context.out.table(&list, |list| schedule_list(list, store.now()))?;
        }
        What::Next(args) => next(args, context).await?,
        What::Remove { name } => {
            let store = context.store(Missing::Refuse).await?;
            if !store.remove_schedule(DEFAULT_TENANT, name).await? {
                return Err(unknown(name).into());
            }
            print(&format!("{} is forgotten\n", without_controls(name)))?;
        }
    }
    Ok(Exit::Success)
}

async fn add(args: &AddArgs, context: &Context) -> Result<(), Stop> {
    let table = Timetable::parse(&args.cron, &args.zone)?;
    let (mut plan, origin) = plans::read(Path::new(&args.plan))?;
    plans::Limits::default().apply(&mut plan, &context.settings);
    if plan.model.is_none() {
        plan.model.clone_from(&context.settings.model);
    }
    let library = library::load(context)?;
    let placed = |fault| origin.place(fault);
    library::check(&plan, &library).map_err(placed)?;
    let store = context.store(Missing::Create).await?;
    let now = store.now();
    // As if it were submitted now: what is wrong with the plan is told here, and the agents it needs come with it.
    let trial = new_run(&plan, &library, DEFAULT_TENANT, now, entropy()).map_err(placed)?;
    let agents = trial.batch.runs.into_iter().flat_map(|run| run.agents);
    plan.agents = agents.map(|(name, agent)| (name, (*agent).clone())).collect();
    plan.idempotency_key = None;
    let schedule = Schedule {
        name: args.name.clone(),
        tenant: DEFAULT_TENANT.to_owned(),
        version: 1,
        cron: args.cron.clone(),
        zone: args.zone.clone(),
        plan,
        next_at: table.next(now),
        last: None,
        by: BY.to_owned(),
        created_at: now,
    };
    match store.put_schedule(&schedule).await {
        Ok(()) => {}
        Err(StoreError::Conflict { .. }) => {
            let message = format!("there is a schedule `{}` already", args.name);
            let help = "remove it first with `legwork schedule remove`, or choose another name";
            return Err(Fault::new(Code::DuplicateId, message, help).into());
        }
        Err(error) => return Err(error.into()),
    }
    context
        .out
        .view(&ScheduleView::from(&schedule), |_| match schedule.next_at {
            Some(at) => format!("{} is due next at {}\n", without_controls(&args.name), table.shown(at)),
            None => format!("{} is never due\n", without_controls(&args.name)),
        })
}

async fn next(args: &NextArgs, context: &Context) -> Result<(), Stop> {
    let store = context.store(Missing::Create).await?;
    let now = store.now();
    let (table, from) = match (&args.cron, &args.name) {
        (Some(cron), _) => (Timetable::parse(cron, &args.zone)?, now),
        (None, name) => {
            let name = name.as_deref().unwrap_or_default();
            let schedules = store.schedules(Some(DEFAULT_TENANT)).await?;
            let found = schedules.into_iter().find(|schedule| schedule.name == name);
            let schedule = found.ok_or_else(|| unknown(name))?;
            (Timetable::parse(&schedule.cron, &schedule.zone)?, now)
        }
    };
    let moment = |at| Moment {
        at_ms: at,
        local: table.shown(at),
    };
    let upcoming = Upcoming {
        next: table
            .upcoming(from, usize::from(args.count))
            .into_iter()
            .map(moment)
            .collect(),
    };
    context.out.view(&upcoming, |upcoming| {
        upcoming
            .next
            .iter()
            .map(|moment| format!("{}\n", moment.local))
            .collect()
    })
}

fn unknown(name: &str) -> Fault {
    let message = format!("there is no schedule `{name}`");
    Fault::new(Code::UnknownId, message, "see `legwork schedule list`")
}
