//! Where the replies come from: a model with others behind it, or a script.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use legwork_shared::agent::{ModelReply, ModelRequest};
use legwork_shared::budget::{Reservation, Usage, estimate_tokens};

use crate::model::{ChatModel, ModelConfigError, ModelError, Models, Price};

/// Which reply is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runner) struct Turn {
    /// How many replies there were before it.
    pub step: u32,
    /// How many attempts have begun and not got past it.
    pub tries: u32,
}

/// Gives replies.
#[async_trait]
pub(in crate::runner) trait Mind: Send + Sync {
    /// The next reply of the conversation.
    async fn reply(&self, turn: Turn, request: &ModelRequest) -> Result<ModelReply, ModelError>;

    /// The most that the call may cost, in millionths of a US dollar.
    fn cost_micro_usd(&self, ahead: &Reservation) -> u64;
}

/// A model as an agent uses it.
#[derive(Clone)]
pub struct FoundModel {
    /// The model.
    pub chat: Arc<dyn ChatModel>,
    /// The provider's name of it.
    pub name: String,
    /// Its price, where it is known.
    pub price: Option<Price>,
}

/// Finds models by the names that agents and runs give.
pub trait FindModel: Send + Sync + 'static {
    /// The model called `name`, or the usual one.
    ///
    /// # Errors
    /// [`ModelConfigError`] says what to set.
    fn find(&self, name: Option<&str>) -> Result<FoundModel, ModelConfigError>;
}

impl FindModel for Models {
    fn find(&self, name: Option<&str>) -> Result<FoundModel, ModelConfigError> {
        let found = match name {
            Some(name) => self.resolve(name)?,
            None => self.usual()?,
        };
        Ok(FoundModel {
            chat: found.chat,
            name: found.name,
            price: found.price,
        })
    }
}

/// A worker without any model: each agent that needs one is told what to set.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModels;

impl FindModel for NoModels {
    fn find(&self, _name: Option<&str>) -> Result<FoundModel, ModelConfigError> {
        Err(ModelConfigError::NothingConfigured)
    }
}

/// A model, and those to go to when it cannot answer.
pub(super) struct Chain {
    models: Vec<FoundModel>,
    /// The one that answered last: a model that is down is not asked again at each step.
    current: AtomicUsize,
}

impl Chain {
    /// `first`, then `others` in order.
    pub(super) fn new(first: FoundModel, others: Vec<FoundModel>) -> Self {
        Self {
            models: std::iter::once(first).chain(others).collect(),
            current: AtomicUsize::new(0),
        }
    }

    /// The name of the first model.
    pub(super) fn name(&self) -> &str {
        self.models.first().map_or("", |model| &model.name)
    }
}

#[async_trait]
impl Mind for Chain {
    async fn reply(&self, _turn: Turn, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let from = self.current.load(Ordering::Relaxed);
        let mut worst: Option<ModelError> = None;
        let mut lost = Usage::default();
        for (place, model) in self.models.iter().enumerate().skip(from) {
            match model.chat.chat(&for_model(request, &model.name), &|_| {}).await {
                Ok(mut reply) => {
                    self.current.store(place, Ordering::Relaxed);
                    reply.usage = reply.usage.plus(&lost);
                    return Ok(reply);
                }
                Err(error) => {
                    lost = lost.plus(&error.usage.unwrap_or_default());
                    worst = Some(graver(worst, error));
                }
            }
        }
        // The next attempt begins with the first model again.
        let mut worst = worst.expect("a chain has a model, and the one that answered last is in it");
        worst.usage = Some(lost).filter(|lost| *lost != Usage::default()).or(worst.usage);
        Err(worst)
    }

    fn cost_micro_usd(&self, ahead: &Reservation) -> u64 {
        let usage = ahead.as_usage();
        let costs = self.models.iter().filter_map(|model| model.price.as_ref());
        costs.map(|price| price.cost_micro_usd(&usage)).max().unwrap_or(0)
    }
}

/// The request to the model `name`: a copy only where another one was meant first.
fn for_model<'a>(request: &'a ModelRequest, name: &str) -> Cow<'a, ModelRequest> {
    if request.model == name {
        return Cow::Borrowed(request);
    }
    Cow::Owned(ModelRequest {
        model: name.to_owned(),
        ..request.clone()
    })
}

/// Which of two failures decides: one that another try may get past, the one of the model that comes first.
fn graver(before: Option<ModelError>, after: ModelError) -> ModelError {
    match before {
        Some(before) if before.is_retryable() || !after.is_retryable() => before,
        Some(_) | None => after,
    }
}

/// What a call may spend, before its price: an estimate of what the model reads, and the ceiling of what it writes.
pub(super) fn estimate(request: &ModelRequest) -> Reservation {
    let tools = serde_json::to_string(&request.tools).unwrap_or_default();
    let messages = serde_json::to_string(&request.messages).unwrap_or_default();
    let read = [request.system.as_str(), &tools, &messages].map(estimate_tokens);
    Reservation {
        input_tokens: read.into_iter().fold(0, u64::saturating_add),
        output_tokens: u64::from(request.max_output_tokens),
        cost_micro_usd: 0,
    }
}
