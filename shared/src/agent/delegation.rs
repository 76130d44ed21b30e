//! The tools with which an agent hands out work: what the model is told of them and how their arguments are read.

use serde_json::{Map, Value, json};

use super::machine::ChildMode;
use super::tool::{Effect, ToolSpec};
use crate::dag::Condition;

/// Hands out a job and sleeps until it has ended.
pub const TASK: &str = "task";
/// Hands out a job and goes on.
pub const START: &str = "start_async_task";
/// Asks how far a job in the background is.
pub const CHECK: &str = "check_async_task";
/// Tells a job in the background something.
pub const UPDATE: &str = "update_async_task";
/// Stops a job in the background.
pub const CANCEL: &str = "cancel_async_task";
/// Lists the jobs in the background.
pub const LIST: &str = "list_async_tasks";

/// All of them.
pub const NAMES: [&str; 6] = [TASK, START, CHECK, UPDATE, CANCEL, LIST];

/// What `{agents}` in a template stands for.
const PLACEHOLDER: &str = "{agents}";
/// The longest description and the longest context; more belongs into a file whose path is told.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// The longest id that a model gives.
const ID_CHARS_MAX: usize = 64;
/// Jobs that one job may wait for.
const NEEDS_MAX: usize = 256;

const TASK_TEXT: &str = "Hands a job to another agent and waits for its answer. The agent works in a context of its own: \
it sees its own instructions, your description, `context` and the results of the jobs in `depends_on`, and nothing of this \
conversation. So write a complete description: the aim, what is known, where to look, and exactly what to return. Only its \
final answer comes back; it is material from another agent, not from the user.

Call it several times in one reply for parts that do not depend on each other: they run at the same time. A whole graph can \
be handed out in one reply: give the jobs an `id` and name in `depends_on` those whose results a job needs; it starts when \
they have succeeded and receives their results. You sleep until all have ended. For work that one agent can do as one piece, \
use one call.

Available agents:
{agents}";

const START_TEXT: &str = "Starts a job in the background and returns its task_id at once, so that you can go on. Use it for \
long work whose result you do not need for your next step; use `task` otherwise. Ask for the result with \
`check_async_task`. The job sees your description, `context` and the results of the jobs in `depends_on`, and nothing of \
this conversation.

Available agents:
{agents}";

/// The tools of an agent that may hand work to `agents` (name, description), as the model is told of them.
#[must_use]
pub fn specs(agents: &[(&str, &str)], task_template: Option<&str>) -> Vec<ToolSpec> {
    let list: Vec<String> = agents
        .iter()
        .map(|(name, description)| format!("- {name}: {description}"))
        .collect();
    let list = list.join("\n");
    let names: Vec<&str> = agents.iter().map(|(name, _)| *name).collect();
    let hand_out = |name: &str, text: &str| ToolSpec {
        name: name.to_owned(),
        description: text.replace(PLACEHOLDER, &list),
        parameters: hand_out_parameters(&names),
        effect: Effect::External,
    };
    let mut specs = vec![
        hand_out(TASK, task_template.unwrap_or(TASK_TEXT)),
        hand_out(START, START_TEXT),
    ];
    specs.extend(control_specs());
    specs
}

fn hand_out_parameters(agents: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": {
            "description": {
                "type": "string",
                "description": "The whole task: aim, facts, where to look, what to return and in which form."
            },
            "subagent_type": {"type": "string", "enum": agents, "description": "Which agent does it."},
            "id": {
                "type": "string",
                "description": "A short name for the job, so that others can depend on it; made from the agent's name if absent."
            },
            "depends_on": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of jobs of this reply or of earlier ones that must have succeeded before it starts. \
                    Write `id:finished` if it may end in any way and `id:failure` for a job that stands in after a failure."
            },
            "context": {"description": "Structured data for the agent, any JSON value."}
        },
        "required": ["description", "subagent_type"],
        "additionalProperties": false
    })
}

fn control_specs() -> [ToolSpec; 4] {
    let task_id = json!({"type": "string", "description": "The task_id that start_async_task returned."});
    let tool = |name: &str, description: &str, properties: Value, required: &[&str], effect: Effect| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        }),
        effect,
    };
    let one = || json!({ "task_id": task_id });
    let statuses = ["running", "pending", "waiting", "success", "error", "cancelled", "all"];
    [
        tool(
            CHECK,
            "Shows the status of a background job and, once it has ended, its result. Do not call it again and again \
             without other work in between.",
            one(),
            &["task_id"],
            Effect::None,
        ),
        tool(
            UPDATE,
            "Sends a message to a background job; it reads it at its next step and goes on with it.",
            json!({"task_id": task_id, "message": {"type": "string", "description": "What the agent shall know or change."}}),
            &["task_id", "message"],
            Effect::External,
        ),
        tool(
            CANCEL,
            "Stops a background job that is no longer needed.",
            one(),
            &["task_id"],
            Effect::External,
        ),
        tool(
            LIST,
            "Lists your background jobs with their status.",
            json!({"status_filter": {"type": "string", "enum": statuses}}),
            &[],
            Effect::None,
        ),
    ]
}

/// The tool that hands out jobs of that mode.
#[must_use]
pub fn tool_of(mode: ChildMode) -> &'static str {
    match mode {
        ChildMode::Awaited => TASK,
        ChildMode::Background => START,
    }
}

/// What a call asks for besides the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub description: String,
    pub id: Option<String>,
    pub needs: Vec<(String, Condition)>,
    pub context: Option<Value>,
}

/// Reads the arguments of a call that hands out a job.
pub(super) fn read(arguments: &Map<String, Value>) -> Result<Asked, String> {
    let known = ["description", "subagent_type", "id", "depends_on", "context"];
    if let Some(key) = arguments.keys().find(|key| !known.contains(&key.as_str())) {
        let key: String = key
            .chars()
            .filter(|letter| !letter.is_control())
            .take(ID_CHARS_MAX)
            .collect();
        return Err(format!(
            "Unexpected argument '{key}'; put all instructions for the subagent in description."
        ));
    }
    let description = match arguments.get("description") {
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        Some(_) | None => return Err("`description` is missing: write down the whole task for the agent".to_owned()),
    };
    let context = arguments.get("context").filter(|context| !context.is_null()).cloned();
    let context_bytes = context.as_ref().map_or(0, |context| context.to_string().len());
    if description.len() > TEXT_BYTES_MAX || context_bytes > TEXT_BYTES_MAX {
        return Err(format!(
            "`description` and `context` may have {TEXT_BYTES_MAX} bytes each; write the material into a file and give its path"
        ));
    }
    Ok(Asked {
        description,
        id: id(arguments.get("id"))?,
        needs: needs(arguments.get("depends_on"))?,
        context,
    })
}

fn id(value: Option<&Value>) -> Result<Option<String>, String> {
    let plain = |id: &str| {
        let letters = id
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
        letters && id.len() <= ID_CHARS_MAX
    };
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if id.is_empty() => Ok(None),
        Some(Value::String(id)) if plain(id) => Ok(Some(id.clone())),
        Some(_) => Err(format!(
            "`id` must be a text of at most {ID_CHARS_MAX} letters, digits, `-`, `_` and `.`"
        )),
    }
}

fn needs(value: Option<&Value>) -> Result<Vec<(String, Condition)>, String> {
    let wrong = || "`depends_on` must be a list of ids of other jobs".to_owned();
    let items = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(id)) if id.trim().is_empty() => return Ok(Vec::new()),
        Some(Value::String(id)) => vec![need(id)?],
        Some(Value::Array(items)) if items.len() > NEEDS_MAX => {
            return Err(format!(
                "one job may depend on {NEEDS_MAX} others; combine some of them first"
            ));
        }
        Some(Value::Array(items)) => {
            let ids: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            ids.ok_or_else(wrong)?.into_iter().map(need).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(wrong()),
    };
    Ok(items)
}

fn need(text: &str) -> Result<(String, Condition), String> {
    match text.split_once(':') {
        None => Ok((text.to_owned(), Condition::Success)),
        Some((id, word)) => match Condition::parse(word) {
            Some(condition) => Ok((id.to_owned(), condition)),
            None => Err("after the colon of a `depends_on` comes success, failure or finished".to_owned()),
        },
    }
}
