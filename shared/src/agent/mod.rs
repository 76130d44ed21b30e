//! What an agent is, and what it and a model say to each other.

pub mod spec;
pub mod tool;
pub mod transcript;

pub use spec::{AgentSpec, RunnerSpec};
pub use tool::{CallId, Effect, ToolCall, ToolReply, ToolSpec};
pub use transcript::{Message, ModelReply, ModelRequest, StopReason};
