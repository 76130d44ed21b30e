//! The tools of one agent, and the running of its calls.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use jsonschema::Validator;
use legwork_shared::agent::{Effect, ToolCall, ToolReply, ToolSpec};
use tokio::sync::Semaphore;

use super::calculate::Calculate;
use super::search_docs::SearchDocs;
use super::{Tool, ToolContext, ToolError, ToolErrorCode, arguments, files, reply};

/// Longest name of a tool that providers take.
const NAME_CHARS_MAX: usize = 64;
/// How similar a name must be to be suggested instead of an unknown one.
const SIMILARITY_MIN: f64 = 0.6;
/// How much of an unknown name is repeated in an error.
const SHOWN_CHARS: usize = 64;

/// Why a tool cannot join a [`ToolBox`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolBoxError {
    /// Its name is not one that every provider takes.
    #[error("`{name}` cannot be the name of a tool: use 1 to 64 of a-z, 0-9 and _")]
    BadName {
        /// The name.
        name: String,
    },
    /// Another tool has its name.
    #[error("there are two tools named `{name}`")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// Its schema is none.
    #[error("the parameters of tool `{name}` are not a JSON Schema: {problem}")]
    BadSchema {
        /// The tool.
        name: String,
        /// What is wrong with its schema.
        problem: String,
    },
}

/// A name in an agent's tools that no tool has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{name}`{}; there are: {known}", hint(nearest.as_deref()))]
pub struct SelectError {
    /// The name.
    pub name: String,
    /// The most similar name that there is.
    pub nearest: Option<String>,
    /// All names that there are.
    pub known: String,
}

/// Whether a tool is given to every agent or only where it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Always,
    OnRequest,
}

#[derive(Clone)]
struct Member {
    tool: Arc<dyn Tool>,
    spec: Arc<ToolSpec>,
    validator: Arc<Validator>,
    given: Given,
}

/// The tools of one agent, by name.
///
/// Calls may be dispatched at the same time. Those that write to the workspace ([`Effect::Local`]) run one after
/// another, in the order of their dispatch, because an edit reads before it writes; [`ToolBox::select`] makes a box
/// with a queue of its own, so make one for each job.
pub struct ToolBox {
    members: BTreeMap<String, Member>,
    writers: Semaphore,
}

impl Default for ToolBox {
    fn default() -> Self {
        Self::empty()
    }
}

impl ToolBox {
    /// A box without tools.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            members: BTreeMap::new(),
            writers: Semaphore::new(1),
        }
    }

    /// The tools that come with Legwork and need nothing but a [`ToolContext`]: the file tools, `search_docs` and
    /// `calculate`.
    ///
    /// # Panics
    /// Never: their names differ and their schemas are fixed.
    #[must_use]
    pub fn standard() -> Self {
        let mut toolbox = Self::empty();
        let files: [Arc<dyn Tool>; 6] = [
            Arc::new(files::Ls),
            Arc::new(files::ReadFile),
            Arc::new(files::WriteFile),
            Arc::new(files::EditFile),
            Arc::new(files::Glob),
            Arc::new(files::Grep),
        ];
        for tool in files {
            toolbox
                .add_file_tool(tool)
                .expect("built-in tools have names and schemas of their own");
        }
        let others: [Arc<dyn Tool>; 2] = [Arc::new(SearchDocs), Arc::new(Calculate)];
        for tool in others {
            toolbox
                .add(tool)
                .expect("built-in tools have names and schemas of their own");
        }
        toolbox
    }

    /// Adds a tool that an agent has if its `tools` name it, or if it names none.
    ///
    /// # Errors
    /// [`ToolBoxError`]; the box is as it was.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolBoxError> {
        self.join(tool, Given::OnRequest)
    }

    /// Adds a file tool, which every agent has unless its `excluded_tools` name it.
    ///
    /// # Errors
    /// [`ToolBoxError`]; the box is as it was.
    pub fn add_file_tool(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolBoxError> {
        self.join(tool, Given::Always)
    }

    fn join(&mut self, tool: Arc<dyn Tool>, given: Given) -> Result<(), ToolBoxError> {
        let spec = Arc::new(tool.spec());
        let name = spec.name.clone();
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.bytes().all(fits) {
            return Err(ToolBoxError::BadName { name });
        }
        if self.members.contains_key(&name) {
            return Err(ToolBoxError::DuplicateName { name });
        }
        let validator = jsonschema::validator_for(&spec.parameters).map_err(|error| ToolBoxError::BadSchema {
            name: name.clone(),
            problem: error.to_string(),
        })?;
        self.members.insert(
            name,
            Member {
                tool,
                spec,
                validator: Arc::new(validator),
                given,
            },
        );
        Ok(())
    }

    /// The tools as the model is told of them, by name, so that a prompt does not change from step to step.
    #[must_use]
    pub fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.members.values().map(|member| Arc::clone(&member.spec)).collect()
    }

    /// The tool of a name, as the model is told of it.
    #[must_use]
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.members.get(name).map(|member| member.spec.as_ref())
    }

    /// The box of one agent: the file tools, and of the others those in `names` (all of them if there is no list),
    /// without those in `excluded`.
    ///
    /// Names that the agent loop handles itself must be taken out of both lists before.
    ///
    /// # Errors
    /// [`SelectError`] for a name in either list that no tool has: a slip in `excluded` must not leave a tool in.
    pub fn select(&self, names: Option<&[String]>, excluded: &[String]) -> Result<Self, SelectError> {
        for name in names.unwrap_or_default().iter().chain(excluded) {
            if !self.members.contains_key(name) {
                return Err(SelectError {
                    name: shown(name),
                    nearest: self.nearest(name),
                    known: self.known(),
                });
            }
        }
        let chosen = |(name, member): &(&String, &Member)| {
            let wanted = member.given == Given::Always || names.is_none_or(|names| names.contains(*name));
            wanted && !excluded.contains(*name)
        };
        let members = self
            .members
            .iter()
            .filter(chosen)
            .map(|(name, member)| (name.clone(), member.clone()));
        Ok(Self {
            members: members.collect(),
            writers: Semaphore::new(1),
        })
    }

    /// Runs one call of the model and returns its one reply, whatever the call looks like and whatever the tool does.
    ///
    /// # Cancel safety
    /// Dropped before its end, the tool's future is dropped and its `ctx.cancel` fires.
    pub async fn dispatch(&self, call: &ToolCall, ctx: &ToolContext) -> ToolReply {
        let outcome = self.run(call, ctx).await;
        let error = outcome.is_err();
        let content = outcome.unwrap_or_else(|error| error.to_string());
        ToolReply {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: reply::bounded(content, ctx.limits.reply_bytes_max),
            error,
        }
    }

    async fn run(&self, call: &ToolCall, ctx: &ToolContext) -> Result<String, ToolError> {
        let member = self.members.get(&call.name).ok_or_else(|| self.unknown(&call.name))?;
        let args = arguments::parse(&call.arguments, ctx.limits.arguments_bytes_max)?;
        arguments::validate(&args, &member.validator)?;
        let ctx = ToolContext {
            cancel: ctx.cancel.child_token(),
            ..ctx.clone()
        };
        let _stop_what_it_began = ctx.cancel.clone().drop_guard();
        let _turn = match member.spec.effect {
            Effect::Local => Some(self.writers.acquire().await.map_err(|_| cancelled())?),
            Effect::None | Effect::External => None,
        };
        let time_ms = member.tool.time_ms(&ctx.limits);
        let call = AssertUnwindSafe(member.tool.call(args, &ctx)).catch_unwind();
        tokio::select! {
            biased;
            () = ctx.cancel.cancelled() => Err(cancelled()),
            ended = tokio::time::timeout(Duration::from_millis(time_ms), call) => match ended {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_panic)) => {
                    let name = &member.spec.name;
                    tracing::error!(tool.name = %name, "tool {name} panicked");
                    Err(ToolError::broken())
                }
                Err(_elapsed) => Err(ToolError::new(
                    ToolErrorCode::TimedOut,
                    format!("the call was stopped after {time_ms} ms; ask for less at once"),
                )),
            },
        }
    }

    fn unknown(&self, name: &str) -> ToolError {
        let nearest = self.nearest(name);
        let message = if self.members.is_empty() {
            format!(
                "there is no tool `{}`, nor any other: answer without tools",
                shown(name)
            )
        } else {
            SelectError {
                name: shown(name),
                nearest,
                known: self.known(),
            }
            .to_string()
        };
        ToolError::new(ToolErrorCode::UnknownTool, message)
    }

    fn known(&self) -> String {
        self.members.keys().cloned().collect::<Vec<_>>().join(", ")
    }

    fn nearest(&self, name: &str) -> Option<String> {
        // A name of a megabyte is no slip of the pen, and comparing it takes time that grows with its square.
        if name.len() > 2 * NAME_CHARS_MAX {
            return None;
        }
        let similarity = |known: &&String| strsim::jaro_winkler(&name.to_ascii_lowercase(), known);
        let best = self
            .members
            .keys()
            .max_by(|one, other| similarity(one).total_cmp(&similarity(other)))?;
        (similarity(&best) >= SIMILARITY_MIN).then(|| best.clone())
    }
}

fn cancelled() -> ToolError {
    ToolError::new(ToolErrorCode::Cancelled, "the job is being cancelled")
}

fn hint(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(", did you mean `{name}`?"))
        .unwrap_or_default()
}

fn shown(name: &str) -> String {
    name.chars()
        .filter(|letter| !letter.is_control())
        .take(SHOWN_CHARS)
        .collect()
}

#[cfg(test)]
mod tests;
