//! The OpenAI wire, chat completions, as most servers speak it.

mod calls;
mod fold;
mod request;

use async_trait::async_trait;
use fold::OpenAiFold;
use legwork_shared::agent::{ModelReply, ModelRequest};
use request::TokenField;
use reqwest::header::AUTHORIZATION;

use super::base_url::{OPENAI_HOST, openai_endpoint};
use super::client::HttpClients;
use super::http::Endpoint;
use super::settings::Access;
use super::{ChatModel, Delta, ModelConfigError, ModelError, ModelLimits};

/// The models of one server that speaks chat completions.
#[derive(Debug)]
pub(crate) struct OpenAiModel {
    endpoint: Endpoint,
    token_field: TokenField,
}

impl OpenAiModel {
    /// The models behind `access`.
    pub(crate) fn new(
        access: &Access,
        clients: &mut HttpClients,
        limits: ModelLimits,
    ) -> Result<Self, ModelConfigError> {
        let url = openai_endpoint(&access.base_url);
        let is_openai = url.host_str() == Some(OPENAI_HOST);
        let token_field = if is_openai {
            TokenField::MaxCompletionTokens
        } else {
            TokenField::MaxTokens
        };
        let endpoint = Endpoint::new(clients.for_url(&url)?, url, limits);
        let endpoint =
            match &access.key {
                Some(key) => endpoint.with_key(AUTHORIZATION, "Bearer ", key.clone()).map_err(|_| {
                    ModelConfigError::UnusableKey {
                        variable: "OPENAI_API_KEY",
                    }
                })?,
                None => endpoint,
            };
        Ok(Self { endpoint, token_field })
    }
}

#[async_trait]
impl ChatModel for OpenAiModel {
    async fn chat(
        &self,
        request: &ModelRequest,
        on_delta: &(dyn for<'a> Fn(Delta<'a>) + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        let fold = OpenAiFold::new(&request.model, self.endpoint.limits());
        // As text at once: as a document it takes several times the room, for as long as the model thinks.
        let body = request::body(request, self.token_field).to_string();
        self.endpoint.ask(body, fold, on_delta).await
    }
}
