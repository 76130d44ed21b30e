//! Jobs in the background, as the agent that started them asks and hears of them.
//!
//! The words are those of the `AsyncSubAgent` tools of the Python package `deepagents`, so that prompts written for it work.

use serde_json::{Map, Value, json};

use super::delegation::{CANCEL, CHECK, START, UPDATE};
use super::machine::{Child, ChildMode, Control};
use super::tool::ToolReply;
use super::{data, outcome};
use crate::job::{JobState, Outcome};

/// What `list_async_tasks` says when there is nothing to list.
pub const NONE_TRACKED: &str = "No async subagent tasks tracked.";

/// The longest message to a job; more belongs into a file.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// The statuses that a list may be filtered by.
const STATUSES: [&str; 6] = ["running", "pending", "waiting", "success", "error", "cancelled"];

/// How far a job in the background is, as far as its parent is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The state of the job.
    pub state: JobState,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
}

impl Standing {
    /// The status as these tools name it.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self.state {
            JobState::Blocked | JobState::Scheduled | JobState::Queued => "pending",
            JobState::Running => "running",
            JobState::Succeeded => "success",
            JobState::Failed | JobState::Skipped => "error",
            JobState::Cancelled => "cancelled",
        }
    }
}

/// What a started job is answered.
#[must_use]
pub fn launched(child: &Child) -> ToolReply {
    ToolReply {
        call_id: child.call_id.clone(),
        name: START.to_owned(),
        content: format!("Launched async subagent. task_id: {}", child.id),
        error: false,
    }
}

/// Reads the arguments of a control call.
pub(super) fn read(tool: &str, arguments: &Map<String, Value>, children: &[Child]) -> Result<Control, String> {
    let child = || tracked(arguments.get("task_id"), children).map(|child| (child.id.clone(), child.job));
    match tool {
        CHECK => child().map(|(id, job)| Control::Check { id, job }),
        CANCEL => child().map(|(id, job)| Control::Cancel { id, job }),
        UPDATE => {
            let (id, job) = child()?;
            let message = match arguments.get("message") {
                Some(Value::String(text)) if text.trim().is_empty() => return Err("`message` is empty".to_owned()),
                Some(Value::String(text)) if text.len() > MESSAGE_BYTES_MAX => {
                    return Err(format!(
                        "`message` may have {MESSAGE_BYTES_MAX} bytes; give the path of a file instead"
                    ));
                }
                Some(Value::String(text)) => text.clone(),
                Some(_) | None => return Err("`message` is missing: what shall the agent be told?".to_owned()),
            };
            Ok(Control::Update { id, job, message })
        }
        _ => Ok(Control::List {
            status: filter(arguments.get("status_filter"))?,
        }),
    }
}

fn tracked<'a>(id: Option<&Value>, children: &'a [Child]) -> Result<&'a Child, String> {
    let id = id.and_then(Value::as_str).unwrap_or_default();
    let background = |child: &&Child| child.mode == ChildMode::Background;
    children
        .iter()
        .filter(background)
        .find(|child| child.id == id || child.job.to_string() == id)
        .ok_or_else(|| {
            let shown: String = id.chars().filter(|letter| !letter.is_control()).take(64).collect();
            format!("No tracked task found for task_id: '{shown}'")
        })
}

fn filter(value: Option<&Value>) -> Result<Option<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) if word.is_empty() || word == "all" => Ok(None),
        Some(Value::String(word)) if STATUSES.contains(&word.as_str()) => Ok(Some(word.clone())),
        Some(_) => Err(format!("`status_filter` must be one of: {}, all", STATUSES.join(", "))),
    }
}

/// The answer of `check_async_task`: a JSON object with the status, and the result or the error once there is one.
#[must_use]
pub fn checked(id: &str, standing: &Standing) -> String {
    let mut said = json!({"status": standing.status(), "thread_id": id});
    match &standing.outcome {
        Some(Outcome::Succeeded { result }) => {
            said["result"] = data::quote(&format!("result of job {id}"), &outcome::answer(result)).into();
        }
        Some(Outcome::Failed { .. } | Outcome::Skipped { .. }) => {
            let outcome = standing.outcome.as_ref().map(outcome::explain).unwrap_or_default();
            said["error"] = data::quote_output(&format!("job {id}"), &outcome).into();
        }
        Some(Outcome::Cancelled { .. }) => {}
        None if standing.state == JobState::Running => {}
        None => said["note"] = "The job has not started yet.".into(),
    }
    said.to_string()
}

/// The answer of `update_async_task` for a job that took the message.
#[must_use]
pub fn updated(id: &str) -> String {
    format!("Queued follow-up to async subagent without interrupting its current run. task_id: {id}")
}

/// The answer of `cancel_async_task`.
#[must_use]
pub fn cancelled(id: &str) -> String {
    format!("Cancelled async subagent task: {id}")
}

/// The answer of `list_async_tasks`.
#[must_use]
pub fn listed<'a>(standings: impl IntoIterator<Item = (&'a Child, &'a Standing)>, status: Option<&str>) -> String {
    let lines: Vec<String> = standings
        .into_iter()
        .filter(|(_, standing)| status.is_none_or(|status| standing.status() == status))
        .map(|(child, standing)| {
            format!(
                "- task_id: {}  agent: {}  status: {}",
                child.id,
                child.agent,
                standing.status()
            )
        })
        .collect();
    if lines.is_empty() {
        return NONE_TRACKED.to_owned();
    }
    format!("{} tracked task(s):\n{}", lines.len(), lines.join("\n"))
}
