//! What work costs.

use serde::{Deserialize, Serialize};

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
