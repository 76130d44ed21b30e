//! What a tool says when it could not do what the model asked.

use std::fmt;

/// The kind of a failed call, for whoever decides what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolErrorCode {
    /// The arguments are not JSON, or not text.
    MalformedArguments,
    /// The arguments are JSON that the tool's schema, or the tool, does not take.
    InvalidArguments,
    /// No tool of this name is given to the agent.
    UnknownTool,
    /// What the call names is not there.
    NotFound,
    /// The call asks for something that it may not do: leave the workspace, write into the sources.
    Refused,
    /// The call does not fit what is there: an edit whose text occurs twice or never.
    Conflict,
    /// A bound would be passed.
    TooLarge,
    /// The call took longer than it may.
    TimedOut,
    /// The job is being cancelled.
    Cancelled,
    /// The tool broke; the call is not at fault.
    Failed,
}

impl ToolErrorCode {
    /// The code as the model reads it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MalformedArguments => "malformed_arguments",
            Self::InvalidArguments => "invalid_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for ToolErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A failed call: what went wrong and what to do, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    /// Its kind.
    pub code: ToolErrorCode,
    /// What went wrong and what to do.
    pub message: String,
}

impl ToolError {
    /// An error of a kind.
    #[must_use]
    pub fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// For a tool that ended without an answer, by a fault of its own.
    #[must_use]
    pub fn broken() -> Self {
        let message = "the tool broke on this call; go on without it, or call it with other arguments";
        Self::new(ToolErrorCode::Failed, message)
    }
}
