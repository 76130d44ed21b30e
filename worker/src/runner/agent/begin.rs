//! How an attempt begins: the loop's setup, its journal, its first message.

use std::sync::Arc;

use legwork_shared::agent::compose::{self, Brief, FileLine, Parent};
use legwork_shared::agent::machine::{self, AgentCard, Input, JournalError, Machine, Setup};
use legwork_shared::agent::{AgentSpec, delegation, todos};
use legwork_shared::job::{FailReason, JobError};

use super::session::{Pending, Session};
use super::{Mind, Stop, Workshop, check, tools};
use crate::attempt::{Attempt, AttemptError};
use crate::tool::{DocSearch, ToolContext};
use crate::workspace::VPath;

/// How many files the first message lists; the tools find the others.
const FILES_LISTED_MAX: usize = 50;

/// The session of an attempt, standing where its journal ends.
pub(super) async fn session<'a>(
    workshop: &'a Workshop,
    attempt: &'a Attempt,
    agent: &'a Arc<AgentSpec>,
    mind: &'a dyn Mind,
    model: &str,
) -> Result<Session<'a>, Stop> {
    let sources = attempt.sources().await.map_err(|error| {
        // Another machine may have the folder.
        JobError::retryable("sources", error.to_string())
    })?;
    let docs = workshop.docs.of(&attempt.run().sources, &sources);
    let tools = tools::of_agent(&workshop.tools, agent)?;
    let mut machine = Machine::new(setup(attempt, agent, model, &tools)?);
    let journal = attempt.journal(0).await?;
    let entries = machine::read(journal.iter().map(|stored| &stored.entry)).map_err(|error| unreadable(&error))?;
    machine.apply(&entries).map_err(|error| unreadable(&error))?;
    let wrote_last = journal.last().map_or(attempt.token().attempt, |stored| stored.attempt);
    let mut session = Session {
        attempt,
        agent,
        mind,
        machine,
        tools,
        context: ToolContext {
            workspace: attempt.workspace(),
            sources,
            docs: docs.map(|docs| docs as Arc<dyn DocSearch>),
            call_key: String::new(),
            cancel: attempt.cancelled().child_token(),
            limits: workshop.limits,
        },
        pending: Pending::default(),
        tries: attempt.token().attempt.saturating_sub(wrote_last),
        has_replied: false,
    };
    if !entries.is_empty() {
        session.note(Input::Retried {
            generation: attempt.job().generation,
        })?;
    }
    Ok(session)
}

fn setup(attempt: &Attempt, agent: &AgentSpec, model: &str, tools: &crate::tool::ToolBox) -> Result<Setup, JobError> {
    let job = attempt.job();
    let limits = job.spec.limits;
    let mut setup = Setup::new(&job.spec.name, agent, model);
    setup.limits = limits;
    setup.tools = tools.specs();
    setup.todos = agent.todos.unwrap_or(true) && !tools::is_excluded(agent, todos::WRITE);
    setup.depth = job.spec.depth;
    setup.depth_max = attempt.run().limits.depth();
    if !tools::is_excluded(agent, delegation::TASK) {
        setup.agents = cards(attempt, agent)?;
    }
    if let Some(schema) = &agent.response_format {
        setup.answer = Some(check::of_schema(&agent.name, "response_format", schema)?);
    }
    Ok(setup)
}

/// The agents that the run has of those that work may be handed to.
fn cards(attempt: &Attempt, agent: &AgentSpec) -> Result<Vec<AgentCard>, JobError> {
    let known = agent
        .agents
        .iter()
        .flatten()
        .filter_map(|name| attempt.run().agents.get(name));
    let cards = known.map(|other| {
        let accepts = other.input_schema.as_ref();
        let accepts = accepts.map(|schema| check::of_schema(&other.name, "input_schema", schema));
        Ok(AgentCard {
            name: other.name.clone(),
            description: other.description.clone(),
            accepts: accepts.transpose()?,
        })
    });
    cards.collect()
}

fn unreadable(error: &JournalError) -> JobError {
    JobError::fatal(FailReason::Error, "journal", error.to_string())
}

/// The first input of a job: what it is told, composed from the record, its parents and the files there are.
pub(super) async fn opening(
    attempt: &Attempt,
    agent: &AgentSpec,
    context: &ToolContext,
) -> Result<Input, AttemptError> {
    let inputs = attempt.inputs().await?;
    let parents: Vec<Parent<'_>> = inputs
        .parents
        .iter()
        .map(|input| Parent {
            name: &input.name,
            agent: &input.agent,
            outcome: &input.outcome,
        })
        .collect();
    let files = files(context).await;
    let job = attempt.job();
    Ok(Input::Opened {
        system: compose::system(agent),
        text: compose::first_message(&Brief {
            job: &job.spec,
            parents: &parents,
            files: &files[..files.len().min(FILES_LISTED_MAX)],
            more_files: files.len().saturating_sub(FILES_LISTED_MAX),
        }),
    })
}

/// The files that the agent may read: those of the workspace, then the sources.
async fn files(context: &ToolContext) -> Vec<FileLine> {
    // A list that cannot be had is no reason to stop: the tools will say what is wrong, should the agent need a file.
    let written = context.workspace.list(&VPath::root()).await.unwrap_or_default();
    let written = written.into_iter().map(|file| FileLine {
        path: file.path.to_string(),
        size: file.size,
        media_type: file.media_type,
    });
    let given = context.sources.files().iter().map(|file| FileLine {
        path: file.path.to_string(),
        size: file.size,
        media_type: crate::workspace::media_type::guess(&file.path, b"").to_owned(),
    });
    written.chain(given).collect()
}
