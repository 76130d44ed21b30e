//! How a job ends: a result, or a typed reason.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::JobState;
use crate::id::JobId;

/// What a succeeded job gives to its dependents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobResult {
    /// The final answer. A longer one than the record holds is an artifact; this is then its beginning.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The structured answer, where the agent has a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The workspace file that holds the whole answer, where it was too long for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What a reader must know about the answer, such as `final turn was empty`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Why a job failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// Its runner gave up, or its attempts are used up.
    Error,
    /// It ran longer than it may.
    Timeout,
    /// Tokens, cost or retries of its budget are used up.
    Budget,
    /// A limit of size, steps or depth was reached.
    Limit,
    /// The model could not produce a result that fits the schema.
    Schema,
    /// It took its worker down too often.
    Poison,
    /// It was not started in time.
    QueueTimeout,
}

impl FailReason {
    /// The word for it, as stored and as shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::Schema => "schema",
            Self::Poison => "poison",
            Self::QueueTimeout => "queue_timeout",
        }
    }
}

/// Whether trying again can help. Decided once, where the error arises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It may: overload, time-outs, broken connections.
    Retryable,
    /// It cannot: refused keys, malformed requests, given-up schemas.
    Fatal,
}

/// What went wrong in an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct JobError {
    /// What a failed job shows as its reason.
    pub reason: FailReason,
    /// Whether trying again can help.
    pub severity: Severity,
    /// A stable word for programs, such as `rate_limited` or `malformed_tool_calls`.
    pub code: String,
    /// One sentence for people: what happened and what to do. Never a key, at most 2,000 characters.
    pub message: String,
    /// How long to wait before the next attempt, where the provider said so; in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What was done until then, kept for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
}

impl JobError {
    /// The longest message that is kept, in characters: a screenful, not a provider's whole page.
    pub const MESSAGE_CHARS_MAX: usize = 2_000;

    /// A fatal error: no attempt after it.
    #[must_use]
    pub fn fatal(reason: FailReason, code: &str, message: impl Into<String>) -> Self {
        Self::new(reason, Severity::Fatal, code, message)
    }

    /// An error that another attempt may not meet.
    #[must_use]
    pub fn retryable(code: &str, message: impl Into<String>) -> Self {
        Self::new(FailReason::Error, Severity::Retryable, code, message)
    }

    fn new(reason: FailReason, severity: Severity, code: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        let message = message.chars().take(Self::MESSAGE_CHARS_MAX).collect();
        Self {
            reason,
            severity,
            code: code.to_owned(),
            message,
            retry_after_ms: None,
            partial: None,
        }
    }
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// With a result.
    Succeeded {
        /// What it found.
        result: JobResult,
    },
    /// With an error that no attempt got past.
    Failed {
        /// The last error.
        error: JobError,
    },
    /// Because somebody asked for it.
    Cancelled {
        /// Who, in words: `command line`, `parent`.
        by: String,
        /// Why, in their words; may be empty.
        reason: String,
    },
    /// Never run, because of another job's outcome.
    Skipped {
        /// The job that caused it: the first in the chain that did not end as needed.
        cause: JobId,
    },
}

impl Outcome {
    /// The terminal state it means.
    #[must_use]
    pub fn state(&self) -> JobState {
        match self {
            Self::Succeeded { .. } => JobState::Succeeded,
            Self::Failed { .. } => JobState::Failed,
            Self::Cancelled { .. } => JobState::Cancelled,
            Self::Skipped { .. } => JobState::Skipped,
        }
    }

    /// The result of a succeeded job.
    #[must_use]
    pub fn result(&self) -> Option<&JobResult> {
        match self {
            Self::Succeeded { result } => Some(result),
            Self::Failed { .. } | Self::Cancelled { .. } | Self::Skipped { .. } => None,
        }
    }
}
