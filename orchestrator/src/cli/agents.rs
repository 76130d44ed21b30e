//! `legwork agents`: the agents there are, and whether a file is one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use legwork_shared::agent::{AgentSpec, parse};
use legwork_shared::fault::{Code, Fault};
use legwork_shared::nearest::nearest;
use legwork_worker::agents::AgentLibrary;
use legwork_worker::tool::ToolBox;
use serde::Serialize;

use super::base::{AgentsFlag, Context, Exit, Flags, Format, Stop, read_text, say};
use super::library;
use crate::output::{Table, dim, human, strong, without_controls};

/// The longest description in the list, in characters.
const DESCRIPTION_CHARS_MAX: usize = 80;

/// What `legwork agents` is told.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  legwork agents\n  legwork agents researcher\n  legwork agents check agents/scout.md"
)]
pub struct AgentsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// Show this agent
    name: Option<String>,
    #[command(flatten)]
    agents: AgentsFlag,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check an agent file: Markdown with front matter, or JSON
    Check {
        /// The file
        file: PathBuf,
    },
}

/// An agent and where it comes from, for programs.
#[derive(Debug, Serialize)]
struct AgentView<'a> {
    origin: String,
    #[serde(flatten)]
    spec: &'a AgentSpec,
}

impl AgentsArgs {
    /// The keys of the configuration that were set by flags.
    #[must_use]
    pub fn flags(&self) -> Flags {
        self.agents.flags()
    }
}

/// Lists the agents, shows one, or checks a file.
///
/// # Errors
/// [`Stop`] where an agent is not known or a file is not valid.
pub fn agents(args: &AgentsArgs, context: &Context) -> Result<Exit, Stop> {
    match (&args.action, &args.name) {
        (Some(Action::Check { file }), _) => check(file, context)?,
        (None, Some(name)) => show(&library::load(context)?, name, context)?,
        (None, None) => list(&library::load(context)?, context)?,
    }
    Ok(Exit::Success)
}

fn list(library: &AgentLibrary, context: &Context) -> Result<(), Stop> {
    let views: Vec<AgentView<'_>> = library.names().filter_map(|name| view(library, name)).collect();
    context.out.table(&views, |views| {
        let mut table = Table::new(&["agent", "runner", "model", "from", "description"]);
        for AgentView { origin, spec } in views {
            table.row([
                spec.name.clone(),
                spec.runner.name().to_owned(),
                spec.model.clone().unwrap_or_else(|| "-".to_owned()),
                origin.clone(),
                human::first_line(&without_controls(&spec.description), DESCRIPTION_CHARS_MAX),
            ]);
        }
        table
    })?;
    if context.out.format == Format::Text {
        library
            .warnings()
            .iter()
            .for_each(|warning| say(&dim(&format!("warning: {warning}"))));
    }
    Ok(())
}

fn view<'a>(library: &'a AgentLibrary, name: &str) -> Option<AgentView<'a>> {
    let origin = library.origin(name).map(ToString::to_string).unwrap_or_default();
    library.get(name).map(|spec| AgentView { origin, spec })
}

fn show(library: &AgentLibrary, name: &str, context: &Context) -> Result<(), Stop> {
    let unknown = || {
        let help = match nearest(name, library.names()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "see `legwork agents`".to_owned(),
        };
        Fault::new(Code::UnknownAgent, format!("there is no agent `{name}`"), help)
    };
    let view = view(library, name).ok_or_else(unknown)?;
    context.out.view(&view, |view| text(view))
}

fn text(AgentView { origin, spec }: &AgentView<'_>) -> String {
    let list = |names: Option<&Vec<String>>, absent: &str| match names {
        None => absent.to_owned(),
        Some(names) if names.is_empty() => "none".to_owned(),
        Some(names) => names.join(", "),
    };
    let lines = [
        ("from", origin.clone()),
        ("runner", spec.runner.name().to_owned()),
        ("model", spec.model.clone().unwrap_or_else(|| "the run's".to_owned())),
        ("tools", list(spec.tools.as_ref(), "all")),
        ("without", spec.excluded_tools.join(", ")),
        ("may delegate to", list(spec.agents.as_ref(), "nobody")),
    ];
    let mut text = format!("{}  {}\n", strong(&spec.name), without_controls(&spec.description));
    for (label, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{} {value}\n", dim(&format!("{label}:")));
    }
    text + "\n" + without_controls(spec.prompt.trim_end()).as_ref() + "\n"
}

fn check(file: &Path, context: &Context) -> Result<(), Stop> {
    let (text, name) = (read_text(file)?, file.display().to_string());
    let is_json = file
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let parsed = if is_json {
        parse::json(&text, &name)?
    } else {
        parse::markdown(&text, &name)?
    };
    library::check_tools(&parsed.spec, &ToolBox::standard()).map_err(|fault| fault.at(format!("{name}: tools")))?;
    for warning in &parsed.warnings {
        tracing::warn!("{warning}");
    }
    let origin = name;
    context.out.view(
        &AgentView {
            origin,
            spec: &parsed.spec,
        },
        |view| format!("{} is an agent\n", view.spec.name),
    )
}
