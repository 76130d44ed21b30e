//! The conversation between an agent and its model, independent of any provider's wire.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::tool::{ToolCall, ToolReply, ToolSpec};
use crate::budget::Usage;

/// One message of a conversation. The system prompt stands apart, on the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From the user, or from Legwork on the user's behalf.
    User {
        /// What it says.
        text: String,
    },
    /// From the model.
    Assistant {
        /// Its text; may be empty when it only calls tools.
        text: String,
        /// The tools it calls, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// The result of one call of the assistant message before it.
    Tool(ToolReply),
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The provider's name of the model.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation; begins with a user message, and each call in it has exactly one result.
    pub messages: Vec<Message>,
    /// The tools it may call. Shared, because a thousand agents may wait for their models at the same time.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// The most tokens the reply may have.
    pub max_output_tokens: u32,
    /// Sampling temperature in thousandths; absent leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_milli: Option<u32>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It said all it had to say.
    End,
    /// It waits for the results of its calls.
    ToolCalls,
    /// Its reply hit `max_output_tokens`: text and calls may be cut.
    Length,
    /// The provider's filter stopped it.
    ContentFilter,
    /// A reason of the provider that we do not know, as it was written.
    Other(String),
}

/// A complete reply of a model. A stream that broke off is an error, never a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReply {
    /// Its text, all parts joined; may be empty.
    pub text: String,
    /// The tools it calls, in order; ids and arguments exactly as received.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What the provider counted for this call.
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    pub model: String,
}
