//! The model: whether one is configured, and whether it answers.

use legwork_shared::agent::{Message, ModelRequest};
use legwork_worker::model::{Models, ResolvedModel};

use super::Finding;
use crate::cli::base::Context;
use crate::cli::models;

/// Tokens that the model may write: a word, and room for those that think before they speak.
const OUTPUT_TOKENS_MAX: u32 = 64;

/// Looks at the model that agents use which name none.
pub async fn look(context: &Context, online: bool) -> Finding {
    match models::configured(&context.settings) {
        Err(fault) => Finding::fault("model", &fault),
        Ok(None) => Finding::warning(
            "model",
            "none is configured: `legwork run` searches and quotes without one",
            "set OPENAI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST",
        ),
        Ok(Some(models)) => match usual(&models) {
            Err(fault) => fault,
            Ok(model) if online => ask(&model).await,
            Ok(model) => Finding::fine(
                "model",
                format!("{} is configured; ask it with --online", name_of(&model)),
            ),
        },
    }
}

fn usual(models: &Models) -> Result<ResolvedModel, Finding> {
    models
        .usual()
        .map_err(|error| Finding::fault("model", &models::fault_of(&error)))
}

fn name_of(model: &ResolvedModel) -> String {
    format!("{}:{}", model.provider, model.name)
}

async fn ask(model: &ResolvedModel) -> Finding {
    let request = ModelRequest {
        model: model.name.clone(),
        system: "You answer in one word.".to_owned(),
        messages: vec![Message::User {
            text: "Say: ready".to_owned(),
        }],
        tools: [].into(),
        max_output_tokens: OUTPUT_TOKENS_MAX,
        temperature_milli: None,
    };
    match model.chat.chat(&request, &|_| ()).await {
        Ok(reply) => Finding::fine("model", format!("{} answers, as {}", name_of(model), reply.model)),
        Err(error) => {
            let detail = format!("{} does not answer: {error}", name_of(model));
            Finding::problem("model", detail, "check the key, the name of the model and the network")
        }
    }
}
