//! What work costs, and what it may cost. Enforced by the core, not asked of the model.
//!
//! In every limit zero means zero and absent means unlimited, or the default that its accessor documents.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::Refusal;

/// What was spent. Sums saturate instead of overflowing: a provider's absurd figure must not wrap a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens the models read.
    pub input_tokens: u64,
    /// Tokens the models wrote.
    pub output_tokens: u64,
    /// The price, in millionths of a US dollar; zero where the price is not known.
    pub cost_micro_usd: u64,
    /// Calls of a model.
    pub model_calls: u64,
    /// Calls of a tool.
    pub tool_calls: u64,
}

impl Usage {
    /// Tokens read and written together.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cost_micro_usd: self.cost_micro_usd.saturating_add(other.cost_micro_usd),
            model_calls: self.model_calls.saturating_add(other.model_calls),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
        }
    }
}

/// What a model call may spend, set aside before it is made and settled with the provider's figures after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reservation {
    /// The estimate of what the model reads.
    pub input_tokens: u64,
    /// The most it may write.
    pub output_tokens: u64,
    /// The price of both, in millionths of a US dollar.
    pub cost_micro_usd: u64,
}

impl Reservation {
    /// What is charged when nobody can say any more what the call really cost: all of it, as one call.
    #[must_use]
    pub fn as_usage(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cost_micro_usd: self.cost_micro_usd,
            model_calls: 1,
            tool_calls: 0,
        }
    }
}

/// An upper-ish bound of the tokens in `text`: a third of its bytes, rounded up.
///
/// English has about four bytes to a token and Chinese about three, so this errs on the side of reserving too much; the
/// provider's own count settles it after the call.
#[must_use]
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}

/// What one job may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobLimits {
    /// Tokens read and written together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Tokens read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Price, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Model replies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Jobs that one model reply may hand out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<u32>,
    /// Failed attempts after which it has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Leases lost in a row after which it is poison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<u32>,
    /// How long one attempt may run, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How long it may wait for its first worker, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_timeout_ms: Option<u64>,
    /// Bytes of its final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

impl JobLimits {
    /// Failed attempts after which it has failed; 3 by default, at least 1.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts.unwrap_or(3).max(1)
    }

    /// Leases lost in a row, without progress between them, after which it is poison; 3 by default.
    #[must_use]
    pub fn losses(&self) -> u32 {
        self.losses.unwrap_or(3).max(1)
    }

    /// Model replies; 50 by default: more is a loop, not work.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.steps.unwrap_or(50)
    }

    /// Jobs that one model reply may hand out; 32 by default.
    #[must_use]
    pub fn fan_out(&self) -> u32 {
        self.fan_out.unwrap_or(32)
    }

    /// Bytes of its final answer; 8 MiB by default.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.output_bytes.unwrap_or(8 * 1024 * 1024)
    }

    /// These limits, and `fallback`'s where these are absent.
    #[must_use]
    pub fn or(&self, fallback: &Self) -> Self {
        Self {
            tokens: self.tokens.or(fallback.tokens),
            input_tokens: self.input_tokens.or(fallback.input_tokens),
            output_tokens: self.output_tokens.or(fallback.output_tokens),
            cost_micro_usd: self.cost_micro_usd.or(fallback.cost_micro_usd),
            tool_calls: self.tool_calls.or(fallback.tool_calls),
            steps: self.steps.or(fallback.steps),
            fan_out: self.fan_out.or(fallback.fan_out),
            attempts: self.attempts.or(fallback.attempts),
            losses: self.losses.or(fallback.losses),
            timeout_ms: self.timeout_ms.or(fallback.timeout_ms),
            queue_timeout_ms: self.queue_timeout_ms.or(fallback.queue_timeout_ms),
            output_bytes: self.output_bytes.or(fallback.output_bytes),
        }
    }

    /// Whether a job that has used `usage` may spend `ahead` as well.
    ///
    /// # Errors
    /// [`Refusal::Budget`] names the first limit that would be passed.
    pub fn allow(&self, usage: &Usage, ahead: &Reservation) -> Result<(), Refusal> {
        let input = usage.input_tokens.saturating_add(ahead.input_tokens);
        let output = usage.output_tokens.saturating_add(ahead.output_tokens);
        let cost = usage.cost_micro_usd.saturating_add(ahead.cost_micro_usd);
        let checks = [
            ("tokens", self.tokens, input.saturating_add(output)),
            ("input tokens", self.input_tokens, input),
            ("output tokens", self.output_tokens, output),
            ("millionths of a dollar", self.cost_micro_usd, cost),
            ("tool calls", self.tool_calls, usage.tool_calls),
        ];
        for (what, limit, needed) in checks {
            match limit {
                Some(limit) if needed > limit => return Err(Refusal::Budget { what, limit, needed }),
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}

/// What all jobs of a run may use up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunLimits {
    /// Tokens read and written together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Tokens read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Price, in millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Jobs, those handed out by agents included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u64>,
    /// Automatic retries of all jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// How deep jobs may hand out jobs: 0 forbids it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

impl RunLimits {
    /// How deep jobs may hand out jobs; 3 by default.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth.unwrap_or(3)
    }

    /// The bound of a counter.
    #[must_use]
    pub fn bound(&self, counter: Counter) -> Option<u64> {
        match counter {
            Counter::Open => None,
            Counter::Jobs => self.jobs,
            Counter::Retries => self.retries,
            Counter::InputTokens => self.input_tokens,
            Counter::OutputTokens => self.output_tokens,
            Counter::Tokens => self.tokens,
            Counter::Cost => self.cost_micro_usd,
            Counter::ToolCalls => self.tool_calls,
        }
    }
}

/// A figure of a run that its jobs share and that engines add to under a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Jobs that have not ended.
    Open,
    /// Jobs in all.
    Jobs,
    /// Automatic retries.
    Retries,
    /// Tokens read, reservations included.
    InputTokens,
    /// Tokens written, reservations included.
    OutputTokens,
    /// Both together.
    Tokens,
    /// Price in millionths of a US dollar, reservations included.
    Cost,
    /// Tool calls.
    ToolCalls,
}

impl Counter {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Open,
        Self::Jobs,
        Self::Retries,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Tokens,
        Self::Cost,
        Self::ToolCalls,
    ];

    /// Its name, as stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Jobs => "jobs",
            Self::Retries => "retries",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Tokens => "tokens",
            Self::Cost => "cost_micro_usd",
            Self::ToolCalls => "tool_calls",
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "open jobs",
            Self::Jobs => "jobs",
            Self::Retries => "retries",
            Self::InputTokens => "input tokens",
            Self::OutputTokens => "output tokens",
            Self::Tokens => "tokens",
            Self::Cost => "millionths of a dollar",
            Self::ToolCalls => "tool calls",
        })
    }
}
