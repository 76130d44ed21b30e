//! The Anthropic wire, the messages API.

mod fold;
mod request;

use async_trait::async_trait;
use fold::AnthropicFold;
use legwork_shared::agent::{ModelReply, ModelRequest};
use reqwest::header::{HeaderName, HeaderValue};

use super::base_url::anthropic_endpoint;
use super::client::HttpClients;
use super::http::Endpoint;
use super::settings::Access;
use super::{ChatModel, Delta, ModelConfigError, ModelError, ModelLimits};

const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");
/// The version of the wire that the fold was written for; the provider keeps it stable.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// The models of one server that speaks the messages API.
#[derive(Debug)]
pub(crate) struct AnthropicModel {
    endpoint: Endpoint,
}

impl AnthropicModel {
    /// The models behind `access`.
    pub(crate) fn new(
        access: &Access,
        clients: &mut HttpClients,
        limits: ModelLimits,
    ) -> Result<Self, ModelConfigError> {
        let url = anthropic_endpoint(&access.base_url);
        let endpoint = Endpoint::new(clients.for_url(&url)?, url, limits).with_header(VERSION_HEADER, VERSION);
        let endpoint = match &access.key {
            Some(key) => endpoint
                .with_key(KEY_HEADER, "", key.clone())
                .map_err(|_| ModelConfigError::UnusableKey {
                    variable: "ANTHROPIC_API_KEY",
                })?,
            None => endpoint,
        };
        Ok(Self { endpoint })
    }
}

#[async_trait]
impl ChatModel for AnthropicModel {
    async fn chat(
        &self,
        request: &ModelRequest,
        on_delta: &(dyn for<'a> Fn(Delta<'a>) + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        let fold = AnthropicFold::new(&request.model, self.endpoint.limits());
        // As text at once: as a document it takes several times the room, for as long as the model thinks.
        let body = request::body(request).to_string();
        self.endpoint.ask(body, fold, on_delta).await
    }
}
