//! Tools: what an agent can do besides talking.
//!
//! A [`Tool`] does one thing; a [`ToolBox`] holds an agent's tools and runs the calls of its model, which are
//! untrusted input. Planning and delegation are not here: the agent loop handles them itself.

pub mod arguments;
pub mod calculate;
pub mod error;
pub mod files;
pub mod reply;
pub mod search_docs;
pub mod toolbox;

use std::sync::Arc;

use async_trait::async_trait;
use legwork_shared::agent::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::workspace::{Sources, Workspace};
pub use error::{ToolError, ToolErrorCode};
pub use search_docs::{DocHit, DocSearch, DocSearchError};
pub use toolbox::{SelectError, ToolBox, ToolBoxError};

/// One thing that an agent can do.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model is told of it; asked once, when the tool joins a [`ToolBox`].
    fn spec(&self) -> ToolSpec;

    /// Does it. `args` is an object that the tool's schema takes.
    ///
    /// # Errors
    /// [`ToolError`] is an answer for the model, not a failure of the job.
    ///
    /// # Cancel safety
    /// The future is dropped when its time is up or the job is cancelled; what it has begun elsewhere must stop
    /// with it or when `ctx.cancel` fires.
    async fn call(&self, args: Value, ctx: &ToolContext) -> Result<String, ToolError>;

    /// How long one call may take; the limits' general time unless the tool knows better.
    fn time_ms(&self, limits: &ToolLimits) -> u64 {
        limits.call_time_ms
    }
}

/// What a call may touch, and within which bounds.
#[derive(Clone)]
pub struct ToolContext {
    /// The run's files.
    pub workspace: Arc<dyn Workspace>,
    /// The read-only folders beside them.
    pub sources: Arc<Sources>,
    /// Search over the documents of the run, if it has any.
    pub docs: Option<Arc<dyn DocSearch>>,
    /// `job/step/call`: the same when a call is repeated after a crash, so that its effect can be had once.
    pub call_key: String,
    /// Fires when the job is cancelled, and when this call's time is up.
    pub cancel: CancellationToken,
    /// The bounds.
    pub limits: ToolLimits,
}

/// Bounds of every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolLimits {
    /// How long a call may take.
    pub call_time_ms: u64,
    /// How much the model writes as arguments; the largest good call writes one file's text.
    pub arguments_bytes_max: usize,
    /// How much of a reply the model is shown; what is beyond helps it less than it fills its context.
    pub reply_bytes_max: usize,
    /// How many lines, files or matches a reply lists.
    pub listed_max: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            call_time_ms: 60_000,
            arguments_bytes_max: 4 * 1024 * 1024,
            reply_bytes_max: 64 * 1024,
            listed_max: 1_000,
        }
    }
}
