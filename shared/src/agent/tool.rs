//! Tools as data: what the model is told of them, what it calls, what it gets back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The id by which one call and its one result find each other inside a conversation.
pub type CallId = String;

/// What a tool changes outside its own reply; decides whether a call whose result was lost may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads only: repeating it is free.
    None,
    /// Writes inside the run's own workspace, published by the commit: repeating it is safe.
    Local,
    /// Acts on the outside world: it receives the call's stable id as its idempotency key.
    External,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: `[a-z0-9_]`, at most 64 characters.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Value,
    /// What it changes.
    pub effect: Effect,
}

/// One call in a model's reply. Untrusted: the name may be unknown and the arguments malformed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the conversation once the agent loop has repaired it.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments exactly as the model wrote them: JSON text, or what should have been JSON.
    pub arguments: String,
}

/// The one result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReply {
    /// The call that it answers.
    pub call_id: CallId,
    /// The tool's name.
    pub name: String,
    /// What the model reads.
    pub content: String,
    /// Whether the call failed; the content then says how, and what to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
}
