//! What an agent is, what it and a model say to each other, and the loop between them.

pub mod arguments;
pub mod compose;
pub mod control;
pub mod data;
pub mod delegation;
pub mod machine;
pub mod outcome;
pub mod parse;
pub mod spec;
pub mod todos;
pub mod tool;
pub mod transcript;

pub use spec::{AgentSpec, RunnerSpec};
pub use tool::{CallId, Effect, ToolCall, ToolReply, ToolSpec};
pub use transcript::{Message, ModelReply, ModelRequest, StopReason};
