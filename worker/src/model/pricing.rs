//! What tokens cost, as far as we know.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use legwork_shared::agent::{ModelReply, ModelRequest};
use legwork_shared::budget::Usage;
use serde::{Deserialize, Serialize};

use super::{ChatModel, Delta, ModelError};

/// The price of a model's tokens, in millionths of a US dollar for a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// What a million tokens that it reads cost.
    pub input_micro_usd: u64,
    /// What a million tokens that it writes cost.
    pub output_micro_usd: u64,
}

/// The standard list prices, collected in October 2026: name, cents for a million tokens read, cents for a million
/// written. Discounts for cached or batched tokens are left out, so a cost is an upper bound. Configuration goes
/// before this table, which ages.
const LIST_CENTS: [(&str, u64, u64); 13] = [
    ("claude-fable-5-1", 1000, 5000),
    ("claude-haiku-4-5", 100, 500),
    ("claude-haiku-5-5", 10, 50),
    ("claude-opus-4-6", 500, 2500),
    ("claude-opus-4-7", 500, 2500),
    ("claude-sonnet-4-5", 300, 1500),
    ("claude-sonnet-4-6", 300, 1500),
    ("claude-sonnet-5", 200, 1000),
    ("claude-sonnet-5-5", 200, 1000),
    ("gpt-5", 125, 1000),
    ("gpt-5-mini", 25, 200),
    ("gpt-6.1-sol", 200, 1000),
    ("gpt-6.1-terra", 100, 500),
];
const MICRO_USD_PER_CENT: u64 = 10_000;
/// A date at a name's end, as in `-20251001` or `-2024-08-06`, has eight digits.
const DATE_DIGITS: usize = 8;

impl Price {
    /// Costs nothing: a model on one's own machine.
    pub const FREE: Self = Self {
        input_micro_usd: 0,
        output_micro_usd: 0,
    };

    /// The cost of `usage`, rounded up to the next millionth of a dollar.
    #[must_use]
    pub fn cost_micro_usd(&self, usage: &Usage) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(usage.input_tokens, self.input_micro_usd) + part(usage.output_tokens, self.output_micro_usd);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Prices by the name of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceTable {
    configured: BTreeMap<String, Price>,
}

impl PriceTable {
    /// The list prices, under those that were configured.
    #[must_use]
    pub fn new(configured: BTreeMap<String, Price>) -> Self {
        Self { configured }
    }

    /// The price of `model`; none if nobody told us.
    ///
    /// A configured name counts exactly; a listed one also for its dated releases.
    #[must_use]
    pub fn price(&self, model: &str) -> Option<Price> {
        self.configured.get(model).copied().or_else(|| {
            let listed = LIST_CENTS.iter().find(|(name, ..)| is_release_of(model, name));
            listed.map(|(_, input, output)| Price {
                input_micro_usd: input * MICRO_USD_PER_CENT,
                output_micro_usd: output * MICRO_USD_PER_CENT,
            })
        })
    }
}

fn is_release_of(model: &str, name: &str) -> bool {
    let is_date = |suffix: &str| {
        suffix.starts_with('-')
            && suffix.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
            && suffix.bytes().filter(u8::is_ascii_digit).count() == DATE_DIGITS
    };
    model
        .strip_prefix(name)
        .is_some_and(|suffix| suffix.is_empty() || is_date(suffix))
}

/// A model whose usage carries its cost.
pub(crate) struct Priced {
    model: Arc<dyn ChatModel>,
    prices: Prices,
}

/// Where a provider's prices come from.
pub(crate) enum Prices {
    /// It charges nothing.
    Free,
    /// By the name of the model.
    Table(Arc<PriceTable>),
}

impl Prices {
    /// The price of `model`; none if nobody told us.
    pub(crate) fn price(&self, model: &str) -> Option<Price> {
        match self {
            Self::Free => Some(Price::FREE),
            Self::Table(table) => table.price(model),
        }
    }
}

impl Priced {
    /// `model` at `prices`.
    pub(crate) fn new(model: Arc<dyn ChatModel>, prices: Prices) -> Self {
        Self { model, prices }
    }

    /// The price of the model called `name`.
    pub(crate) fn price(&self, name: &str) -> Option<Price> {
        self.prices.price(name)
    }
}

#[async_trait]
impl ChatModel for Priced {
    async fn chat(
        &self,
        request: &ModelRequest,
        on_delta: &(dyn for<'a> Fn(Delta<'a>) + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        let mut outcome = self.model.chat(request, on_delta).await;
        let usage = match &mut outcome {
            Ok(reply) => Some(&mut reply.usage),
            Err(error) => error.usage.as_mut(),
        };
        if let (Some(usage), Some(price)) = (usage, self.price(&request.model)) {
            usage.cost_micro_usd = price.cost_micro_usd(usage);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_model_is_known_by_its_name_and_its_dated_releases() {
        let table = PriceTable::default();
        let haiku = Some(Price {
            input_micro_usd: 1_000_000,
            output_micro_usd: 5_000_000,
        });
        assert_eq!(table.price("claude-haiku-4-5"), haiku);
        assert_eq!(table.price("claude-haiku-4-5-20251001"), haiku);
        assert_eq!(table.price("gpt-5-2025-08-07"), table.price("gpt-5"));
        assert_ne!(table.price("gpt-5-mini"), table.price("gpt-5"));
        assert_eq!(table.price("gpt-5-nano"), None);
        assert_eq!(table.price("llama3"), None);
    }

    #[test]
    fn configuration_goes_before_the_list() {
        let price = Price {
            input_micro_usd: 1,
            output_micro_usd: 2,
        };
        let table = PriceTable::new(BTreeMap::from([("gpt-5".into(), price), ("mine".into(), price)]));
        assert_eq!((table.price("gpt-5"), table.price("mine")), (Some(price), Some(price)));
    }

    #[test]
    fn a_cost_is_rounded_up_and_cannot_overflow() {
        let price = Price {
            input_micro_usd: 1_250_000,
            output_micro_usd: 10_000_000,
        };
        let usage = |input_tokens, output_tokens| Usage {
            input_tokens,
            output_tokens,
            ..Usage::default()
        };
        assert_eq!(price.cost_micro_usd(&usage(1_000, 100)), 2_250);
        assert_eq!(price.cost_micro_usd(&usage(1, 0)), 2);
        assert_eq!(price.cost_micro_usd(&usage(0, 0)), 0);
        assert_eq!(price.cost_micro_usd(&usage(u64::MAX, u64::MAX)), u64::MAX);
        assert_eq!(Price::FREE.cost_micro_usd(&usage(9, 9)), 0);
    }
}
