//! The command line: one file for each command, and what they share under `base` and `live`.

mod agents;
mod attend;
mod base;
mod cancel;
mod completions;
mod config;
mod doctor;
mod engine;
mod graph;
mod library;
mod list;
mod live;
mod logs;
mod models;
mod origin;
mod pause;
mod plans;
mod prune;
mod result;
mod resume;
mod retry;
mod run;
mod runners;
mod schedule;
mod status;
mod submit;
mod update;
mod watch;
mod worker;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, Parser, Subcommand};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::wire::Failure;

use crate::config::Key;
use crate::output::fault_text;
use base::{Context, EXIT_CODES, Exit, Flags, Format, LOG_VARIABLE, Stop, say, start_log};

/// A durable background for LLM subagents: hands out work, runs it, and loses nothing
#[derive(Debug, Parser)]
#[command(name = "legwork", version, after_help = EXIT_CODES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// What every command understands.
#[expect(clippy::doc_markdown, reason = "these comments are the help that people read")]
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
struct Global {
    /// The database of runs and jobs [env: LEGWORK_STORE]
    #[arg(long, global = true, value_name = "FILE")]
    store: Option<String>,
    /// Another configuration file
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// JSON instead of text, on stdout and for errors on stderr
    #[arg(long, global = true)]
    json: bool,
    /// More logs on stderr: once for what happens, twice for why [env: LEGWORK_LOG]
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer a question or carry out a plan, here and now
    Run(run::RunArgs),
    /// Go on with a run that was interrupted or paused, or with a queue
    Resume(resume::ResumeArgs),
    /// Queue a plan or a single job for workers
    Submit(submit::SubmitArgs),
    /// Take jobs from the store and run them
    Worker(worker::WorkerArgs),
    /// List the workers of the store
    Workers(workers::WorkersArgs),
    /// Show how a run stands
    Status(status::StatusArgs),
    /// List runs or jobs
    List(list::ListArgs),
    /// Print the events of a run as they come
    Watch(watch::WatchArgs),
    /// Print a job's journal as a conversation
    Logs(logs::LogsArgs),
    /// Print what a run or a job found
    Result(result::ResultArgs),
    /// Draw the graph of a run
    Graph(graph::GraphArgs),
    /// Tell a job something while it works
    Update(update::UpdateArgs),
    /// Stop a run or a job
    Cancel(cancel::CancelArgs),
    /// Hold the jobs of a run or a queue back
    Pause(pause::PauseArgs),
    /// Run a failed job again, with what it blocked
    Retry(retry::RetryArgs),
    /// Submit a plan again and again, at the times of a cron expression
    Schedule(schedule::ScheduleArgs),
    /// Delete runs that ended, by age and number
    Prune(prune::PruneArgs),
    /// Show the agents there are, or check an agent file
    Agents(agents::AgentsArgs),
    /// Check that everything is in order
    Doctor(doctor::DoctorArgs),
    /// Show the settings and where each comes from
    Config(config::ConfigArgs),
    /// Print the completions of a shell
    Completions(completions::CompletionsArgs),
}

impl Cli {
    fn flags(&self) -> Flags {
        let store = self.global.store.clone().map(|store| (Key::Store, store));
        let mut flags: Flags = store.into_iter().collect();
        flags.extend(match &self.command {
            Command::Run(args) => args.flags(),
            Command::Resume(args) => args.flags(),
            Command::Submit(args) => args.flags(),
            Command::Worker(args) => args.flags(),
            Command::Prune(args) => args.flags(),
            Command::Schedule(args) => args.flags(),
            Command::Agents(args) => args.flags(),
            Command::Status(_)
            | Command::List(_)
            | Command::Watch(_)
            | Command::Logs(_)
            | Command::Result(_)
            | Command::Graph(_)
            | Command::Update(_)
            | Command::Cancel(_)
            | Command::Retry(_)
            | Command::Workers(_)
            | Command::Pause(_)
            | Command::Doctor(_)
            | Command::Config(_)
            | Command::Completions(_) => Flags::new(),
        });
        flags
    }

    fn format(&self) -> Format {
        if self.global.json { Format::Json } else { Format::Text }
    }
}

/// Reads the command line, does what it says, and tells how it went.
pub async fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    let format = cli.format();
    let exit = match perform(&cli, format).await {
        Ok(exit) => exit,
        Err(Stop::ReaderGone) => Exit::Success,
        Err(Stop::Fault(fault)) => {
            tell(&fault, format);
            Exit::of_fault(&fault)
        }
    };
    ExitCode::from(exit.code())
}

/// Help and version are data; everything else that cannot be parsed is a fault of the input.
fn unparsed(error: &clap::Error) -> ExitCode {
    let is_fault = error.use_stderr();
    let json = std::env::args_os().any(|arg| arg == "--json");
    if is_fault && json {
        let text = error.render().to_string();
        let message = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned();
        tell(
            &Fault::new(Code::WrongValue, message, "see `legwork --help`").at("command line"),
            Format::Json,
        );
    } else if let Err(unwritten) = error.print() {
        tracing::debug!("the help could not be written: {unwritten}");
    }
    ExitCode::from(if is_fault { Exit::Refused } else { Exit::Success }.code())
}

async fn perform(cli: &Cli, format: Format) -> Result<Exit, Stop> {
    start_log(cli.global.verbose, std::env::var(LOG_VARIABLE).ok().as_deref(), format)?;
    let context = Context::new(&cli.flags(), cli.global.config.as_deref(), format)?;
    let outcome = dispatch(&cli.command, &context).await;
    outcome.map_err(|stop| match stop {
        Stop::Fault(fault) => Stop::Fault(context.placed(fault)),
        Stop::ReaderGone => stop,
    })
}

async fn dispatch(command: &Command, context: &Context) -> Result<Exit, Stop> {
    match command {
        Command::Run(args) => run::run(args, context).await,
        Command::Resume(args) => resume::resume(args, context).await,
        Command::Submit(args) => submit::submit(args, context).await,
        Command::Worker(args) => worker::worker(args, context).await,
        Command::Workers(args) => workers::workers(args, context).await,
        Command::Status(args) => status::status(args, context).await,
        Command::List(args) => list::list(args, context).await,
        Command::Watch(args) => watch::watch(args, context).await,
        Command::Logs(args) => logs::logs(args, context).await,
        Command::Result(args) => result::result(args, context).await,
        Command::Graph(args) => graph::graph(args, context).await,
        Command::Update(args) => update::update(args, context).await,
        Command::Cancel(args) => cancel::cancel(args, context).await,
        Command::Retry(args) => retry::retry(args, context).await,
        Command::Pause(args) => pause::pause(args, context).await,
        Command::Schedule(args) => schedule::schedule(args, context).await,
        Command::Prune(args) => prune::prune(args, context).await,
        Command::Agents(args) => agents::agents(args, context),
        Command::Doctor(args) => doctor::doctor(args, context).await,
        Command::Config(args) => config::config(args, context),
        Command::Completions(args) => completions::completions(args),
    }
}

fn tell(fault: &Fault, format: Format) {
    match format {
        Format::Text => say(fault_text(fault).trim_end()),
        Format::Json => {
            let failure = Failure { error: fault };
            say(&serde_json::to_string(&failure).unwrap_or_else(|_| fault.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn s61_flags_of_a_command_become_settings() {
        let flags = |line: &str| Cli::try_parse_from(line.split(' ')).expect("a command").flags();
        let worker = flags("legwork worker --queue a --queue b --slots 2 --drain-timeout 5m --store x.db --model m");
        let expected = [
            (Key::Store, "x.db"),
            (Key::Queues, "a,b"),
            (Key::DrainTimeout, "5m"),
            (Key::Slots, "2"),
            (Key::Model, "m"),
        ];
        assert_eq!(worker, expected.map(|(key, value)| (key, value.to_owned())));
        assert_eq!(flags("legwork --store x.db list"), [(Key::Store, "x.db".to_owned())]);
    }

    #[test]
    fn a_question_and_a_plan_exclude_each_other() {
        let refused = |line: &str| Cli::try_parse_from(line.split(' ')).is_err();
        assert!(refused("legwork run why --plan p.yaml") && refused("legwork run"));
        assert!(refused("legwork graph --svg --dot") && refused("legwork list --state failed"));
    }
}
