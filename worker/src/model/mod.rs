//! Chat models: one trait, two wires of our own, and the choice between providers.
//!
//! The wires ask for a stream, fold its events into one reply and insist on the end marker: a reply is whole or it is
//! an error. Requests are built and streams are folded by pure code; only `http` and the models themselves do I/O.
//! Nothing here retries: an error says whether a retry may help and when, and the job decides.

mod anthropic;
mod base_url;
mod body;
mod choice;
mod classify;
mod client;
mod error;
mod failure;
mod http;
mod json;
mod limits;
mod names;
mod openai;
mod pricing;
mod registry;
mod reply;
mod retry_after;
#[cfg(test)]
mod samples;
mod secret;
mod settings;
mod sse;
#[cfg(test)]
mod testing;
mod text;

use async_trait::async_trait;
pub use choice::{ModelChoice, Provider};
pub use error::{ErrorClass, ModelError, ModelErrorCode};
use legwork_shared::agent::{ModelReply, ModelRequest};
pub use limits::ModelLimits;
pub use pricing::{Price, PriceTable};
pub use registry::{ModelConfigError, Models, ResolvedModel};
pub use secret::Secret;
pub use settings::{Access, Environment, ProviderSettings};

/// A model that can be asked to continue a conversation.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Asks for the next message of the conversation and waits for all of it.
    ///
    /// `on_delta` is told of the reply while it arrives, for live progress only: what it was told is void if the
    /// call fails. A `Usage` without tokens in the reply means that the provider did not count.
    ///
    /// # Errors
    /// [`ModelError`], already classified; what had arrived of the reply is in [`ModelError::partial`].
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection, which stops the provider; nothing runs on behind it.
    async fn chat(
        &self,
        request: &ModelRequest,
        on_delta: &(dyn for<'a> Fn(Delta<'a>) + Send + Sync),
    ) -> Result<ModelReply, ModelError>;
}

/// A piece of a reply that is still arriving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text, never empty.
    Text(&'a str),
    /// A call of a tool has begun; its arguments are still to come.
    CallBegun {
        /// The tool's name as the model wrote it.
        name: &'a str,
    },
}
