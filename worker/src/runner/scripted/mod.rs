//! The `scripted` runner: the agent loop with replies from a script, for tests and demonstrations.
//!
//! Tools, delegation, budgets and the journal are the real ones; only the model is not.

mod script;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use legwork_shared::agent::{Message, ModelReply, ModelRequest, RunnerSpec, StopReason, ToolCall};
use legwork_shared::budget::{Reservation, Usage, estimate_tokens};
use legwork_shared::job::{FailReason, JobError, Verdict};

pub use script::{Fail, Script, ScriptCall, ScriptTurn, parse};

use super::Runner;
use super::agent::{Mind, Turn, Workshop, work};
use crate::attempt::Attempt;
use crate::model::{ErrorClass, ModelError, ModelErrorCode};

/// The name that a scripted agent's replies give as their model.
const MODEL: &str = "scripted";
/// What a text may say instead of a word: the last message of the user.
const LAST_USER: &str = "{last_user}";
/// What a text may say instead of a word: the last results of tools, one after the other.
const LAST_RESULTS: &str = "{last_results}";

/// Runs the agents whose runner is `scripted`.
pub struct Scripted {
    workshop: Arc<Workshop>,
}

impl Scripted {
    /// A runner in that workshop.
    #[must_use]
    pub fn new(workshop: Arc<Workshop>) -> Self {
        Self { workshop }
    }
}

#[async_trait]
impl Runner for Scripted {
    async fn run(&self, attempt: &Attempt) -> Verdict {
        let agent = match attempt.agent() {
            Ok(agent) => agent,
            Err(error) => return Verdict::Failed(error),
        };
        let RunnerSpec::Scripted { script } = &agent.runner else {
            let message = format!("the agent `{}` is not scripted", agent.name);
            return Verdict::Failed(JobError::fatal(FailReason::Error, "bad_script", message));
        };
        match parse(script, &format!("script of {}", agent.name)) {
            Ok(script) => work(&self.workshop, attempt, &agent, &Actor { script }, MODEL).await,
            Err(fault) => Verdict::Failed(JobError::fatal(FailReason::Error, "bad_script", fault.to_string())),
        }
    }
}

/// Replies by the script.
struct Actor {
    script: Script,
}

#[async_trait]
impl Mind for Actor {
    async fn reply(&self, turn: Turn, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let Some(line) = self.script.turn(turn.step) else {
            let message = format!(
                "the script has {} turns, and another one was asked for",
                self.script.turns.len()
            );
            return Err(error(ModelErrorCode::BadRequest, ErrorClass::Fatal, message));
        };
        if line.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(line.delay_ms)).await;
        }
        match &line.fail {
            Some(fail) if turn.tries < fail.times => Err(failure(fail)),
            Some(_) | None => Ok(spoken(line, turn, request)),
        }
    }

    fn cost_micro_usd(&self, _ahead: &Reservation) -> u64 {
        0
    }
}

fn failure(fail: &Fail) -> ModelError {
    let class = if fail.fatal {
        ErrorClass::Fatal
    } else {
        ErrorClass::Retryable {
            after_ms: fail.retry_after_ms,
        }
    };
    error(ModelErrorCode::Unavailable, class, fail.message.clone())
}

fn error(code: ModelErrorCode, class: ErrorClass, message: String) -> ModelError {
    ModelError {
        class,
        code,
        status: None,
        message,
        partial: String::new(),
        usage: None,
    }
}

fn spoken(line: &ScriptTurn, turn: Turn, request: &ModelRequest) -> ModelReply {
    let text = filled(&line.text, request);
    let calls: Vec<ToolCall> = line
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| ToolCall {
            id: call.id.clone().unwrap_or_else(|| format!("s{}_{index}", turn.step)),
            name: call.tool.clone(),
            arguments: call.raw.clone().unwrap_or_else(|| call.arguments.to_string()),
        })
        .collect();
    let stop = line.stop.clone().unwrap_or(if calls.is_empty() {
        StopReason::End
    } else {
        StopReason::ToolCalls
    });
    let usage = line.usage.unwrap_or_else(|| Usage {
        input_tokens: request.messages.iter().map(weight).sum(),
        output_tokens: estimate_tokens(&text).max(1),
        ..Usage::default()
    });
    ModelReply {
        text,
        calls,
        stop,
        usage: Usage {
            model_calls: 1,
            ..usage
        },
        model: MODEL.to_owned(),
    }
}

fn weight(message: &Message) -> u64 {
    match message {
        Message::User { text } | Message::Assistant { text, .. } => estimate_tokens(text),
        Message::Tool(reply) => estimate_tokens(&reply.content),
    }
}

/// The text with what it takes from the conversation.
fn filled(text: &str, request: &ModelRequest) -> String {
    let last_user = request.messages.iter().rev().find_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        Message::Assistant { .. } | Message::Tool(_) => None,
    });
    let results = request
        .messages
        .iter()
        .rev()
        .skip_while(|message| !matches!(message, Message::Tool(_)));
    let mut results: Vec<&str> = results
        .map_while(|message| match message {
            Message::Tool(reply) => Some(reply.content.as_str()),
            Message::User { .. } | Message::Assistant { .. } => None,
        })
        .collect();
    results.reverse();
    let results = results.join("\n");
    let values = BTreeMap::from([
        (LAST_USER, last_user.unwrap_or_default()),
        (LAST_RESULTS, results.as_str()),
    ]);
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    // From left to right, so that nothing inside a value is filled in again.
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((name, value)) = values.iter().find(|(name, _)| rest.starts_with(**name)) {
            filled.push_str(value);
            rest = &rest[name.len()..];
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    filled
}
