//! A model over each wire, pointed at a scripted server.

use std::collections::BTreeMap;
use std::sync::Arc;

use legwork_shared::agent::{Message, ModelReply, ModelRequest};
use legwork_tests::model_server::{ModelServer, Script, Turn, Wire};
use legwork_worker::model::{ChatModel, ModelError, ModelLimits, Models, PriceTable, ProviderSettings};

/// Both wires, for tests that hold on each.
pub const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Anthropic];

/// The key of every test; it must never come to light.
pub const KEY: &str = "canary-4711-key";

/// Limits that no test waits for: only the tests of a limit lower it.
pub fn patient() -> ModelLimits {
    ModelLimits {
        idle_timeout_ms: 15_000,
        call_timeout_ms: 30_000,
        ..ModelLimits::default()
    }
}

/// The models behind the variables.
pub fn models(variables: &[(&str, &str)], limits: ModelLimits) -> Models {
    let find = |name: &str| {
        variables
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    };
    let settings = ProviderSettings::from_env(&find).expect("settings");
    Models::new(&settings, limits, PriceTable::new(BTreeMap::new())).expect("models")
}

/// The model called `m` on `wire` at `openai` or `anthropic` base URLs.
pub fn model_at(wire: Wire, base_url: &str, limits: ModelLimits) -> Arc<dyn ChatModel> {
    let (variables, name) = match wire {
        Wire::OpenAi => ([("OPENAI_BASE_URL", base_url), ("OPENAI_API_KEY", KEY)], "openai:m"),
        Wire::Anthropic => (
            [("ANTHROPIC_BASE_URL", base_url), ("ANTHROPIC_API_KEY", KEY)],
            "anthropic:m",
        ),
    };
    models(&variables, limits).resolve(name).expect("a model").chat
}

/// The model on `wire` at `server`.
pub fn model_of(wire: Wire, server: &ModelServer, limits: ModelLimits) -> Arc<dyn ChatModel> {
    let base_url = match wire {
        Wire::OpenAi => server.openai_base_url(),
        Wire::Anthropic => server.anthropic_base_url(),
    };
    model_at(wire, &base_url, limits)
}

/// A question.
pub fn question() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        messages: vec![Message::User { text: "Hello?".into() }],
        tools: [].into(),
        max_output_tokens: 100,
        temperature_milli: None,
    }
}

/// Asks the question of a server that answers `turn` on `wire`.
pub async fn ask(wire: Wire, turn: Turn) -> Result<ModelReply, ModelError> {
    ask_within(wire, turn, patient()).await
}

/// The same within other limits.
pub async fn ask_within(wire: Wire, turn: Turn, limits: ModelLimits) -> Result<ModelReply, ModelError> {
    let server = ModelServer::start(Script::always(turn)).await;
    model_of(wire, &server, limits).chat(&question(), &|_| ()).await
}

/// The error of asking; also makes sure that it does not show the key.
pub async fn error_of(wire: Wire, turn: Turn) -> ModelError {
    error_within(wire, turn, patient()).await
}

/// The same within other limits.
pub async fn error_within(wire: Wire, turn: Turn, limits: ModelLimits) -> ModelError {
    let error = ask_within(wire, turn, limits).await.expect_err("the call fails");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(KEY), "{shown}");
    error
}
