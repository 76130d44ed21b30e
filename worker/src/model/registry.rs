//! From the name of a model to the model itself.

use std::sync::Arc;

use super::anthropic::AnthropicModel;
use super::choice::{ModelChoice, Provider};
use super::client::HttpClients;
use super::openai::OpenAiModel;
use super::pricing::{Price, PriceTable, Priced, Prices};
use super::settings::{ProviderSettings, usual_ollama};
use super::{ChatModel, ModelLimits};

/// Why there is no such model here. Each message says what to set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelConfigError {
    /// No provider at all.
    #[error(
        "no language model is configured: set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), \
         ANTHROPIC_API_KEY, or OLLAMA_HOST"
    )]
    NothingConfigured,
    /// The provider that the model names.
    #[error("model `{model}` needs {provider}, which is not configured: set {variable}")]
    ProviderMissing {
        /// The model as it was asked for.
        model: String,
        /// Its provider.
        provider: Provider,
        /// The variable to set.
        variable: &'static str,
    },
    /// Nothing says which model to use.
    #[error("no model is named, and {provider} has no usual one: set LEGWORK_MODEL, for example to `ollama:llama3`")]
    NoModelNamed {
        /// The provider that would be used.
        provider: Provider,
    },
    /// The text is no name of a model.
    #[error(
        "`{text}` is no name of a model: it should be like `openai:gpt-5`, `anthropic:claude-…` or `ollama:llama3`"
    )]
    BadName {
        /// What was given, cut to a printable length.
        text: String,
    },
    /// The base URL cannot be used.
    #[error("{variable} is no usable URL: {reason}")]
    BadBaseUrl {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The key has characters that cannot be sent.
    #[error("{variable} holds characters that no HTTP header can carry: copy the key again")]
    UnusableKey {
        /// The variable.
        variable: &'static str,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// A model that was found.
#[derive(Clone)]
pub struct ResolvedModel {
    /// The model; its usage carries the cost where the price is known.
    pub chat: Arc<dyn ChatModel>,
    /// Who serves it.
    pub provider: Provider,
    /// The provider's name of it, for [`legwork_shared::agent::ModelRequest::model`].
    pub name: String,
    /// Its price; where it is not known, a cost of zero says nothing.
    pub price: Option<Price>,
}

impl std::fmt::Debug for ResolvedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ResolvedModel({}:{}, {:?})", self.provider, self.name, self.price)
    }
}

/// The models of every configured provider, over shared connections.
pub struct Models {
    openai: Option<Arc<Priced>>,
    anthropic: Option<Arc<Priced>>,
    ollama: Arc<Priced>,
    /// Whether Ollama was named; if not, it serves only models that ask for it.
    ollama_named: bool,
    model: Option<ModelChoice>,
}

impl Models {
    /// The models of the providers in `settings`; touches no network.
    ///
    /// # Errors
    /// [`ModelConfigError`] for a key that cannot be sent, a bad default name, or TLS that cannot be set up.
    pub fn new(settings: &ProviderSettings, limits: ModelLimits, prices: PriceTable) -> Result<Self, ModelConfigError> {
        let mut clients = HttpClients::new(limits);
        let prices = Arc::new(prices);
        let with_cost = |model: Arc<dyn ChatModel>| Arc::new(Priced::new(model, Prices::Table(prices.clone())));
        let openai = settings
            .openai
            .as_ref()
            .map(|access| OpenAiModel::new(access, &mut clients, limits))
            .transpose()?;
        let anthropic = settings
            .anthropic
            .as_ref()
            .map(|access| AnthropicModel::new(access, &mut clients, limits))
            .transpose()?;
        let ollama = settings.ollama.clone().map_or_else(usual_ollama, Ok)?;
        let ollama = OpenAiModel::new(&ollama, &mut clients, limits)?;
        Ok(Self {
            openai: openai.map(|model| with_cost(Arc::new(model))),
            anthropic: anthropic.map(|model| with_cost(Arc::new(model))),
            ollama: Arc::new(Priced::new(Arc::new(ollama), Prices::Free)),
            ollama_named: settings.ollama.is_some(),
            model: settings.model.as_deref().map(str::parse).transpose()?,
        })
    }

    /// The model called `name`, as a [`ModelChoice`] is written.
    ///
    /// A bare name goes to the provider of its family if that is configured, else to the first that is.
    ///
    /// # Errors
    /// [`ModelConfigError`] says which variable to set.
    pub fn resolve(&self, name: &str) -> Result<ResolvedModel, ModelConfigError> {
        self.find(name.parse()?)
    }

    /// The model for agents that name none: `LEGWORK_MODEL`, else the usual one of the first configured provider.
    ///
    /// # Errors
    /// [`ModelConfigError`] says which variable to set.
    pub fn usual(&self) -> Result<ResolvedModel, ModelConfigError> {
        if let Some(choice) = &self.model {
            return self.find(choice.clone());
        }
        let provider = self.first().ok_or(ModelConfigError::NothingConfigured)?;
        let name = provider
            .usual_model()
            .ok_or(ModelConfigError::NoModelNamed { provider })?;
        self.find(ModelChoice {
            provider: Some(provider),
            name: name.to_owned(),
        })
    }

    fn find(&self, choice: ModelChoice) -> Result<ResolvedModel, ModelConfigError> {
        let provider = match choice.provider {
            Some(provider) => provider,
            None => self.provider_of_bare(&choice)?,
        };
        let model = match provider {
            Provider::OpenAi => self.openai.as_ref(),
            Provider::Anthropic => self.anthropic.as_ref(),
            Provider::Ollama => Some(&self.ollama),
        };
        let model = model.ok_or_else(|| missing(&choice, provider))?;
        Ok(ResolvedModel {
            chat: model.clone(),
            provider,
            price: model.price(&choice.name),
            name: choice.name,
        })
    }

    fn provider_of_bare(&self, choice: &ModelChoice) -> Result<Provider, ModelConfigError> {
        match (choice.family(), self.first()) {
            (Some(family), _) if self.has(family) => Ok(family),
            (_, Some(first)) => Ok(first),
            (Some(family), None) => Err(missing(choice, family)),
            (None, None) => Err(ModelConfigError::NothingConfigured),
        }
    }

    fn first(&self) -> Option<Provider> {
        Provider::ALL.into_iter().find(|provider| self.has(*provider))
    }

    fn has(&self, provider: Provider) -> bool {
        match provider {
            Provider::OpenAi => self.openai.is_some(),
            Provider::Anthropic => self.anthropic.is_some(),
            Provider::Ollama => self.ollama_named,
        }
    }
}

fn missing(choice: &ModelChoice, provider: Provider) -> ModelConfigError {
    ModelConfigError::ProviderMissing {
        model: choice.to_string(),
        provider,
        variable: provider.key_variable(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn models(variables: &[(&str, &str)]) -> Result<Models, ModelConfigError> {
        let find = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let settings = ProviderSettings::from_env(&find).expect("settings");
        Models::new(&settings, ModelLimits::default(), PriceTable::new(BTreeMap::new()))
    }

    fn resolved(variables: &[(&str, &str)], name: &str) -> Result<String, String> {
        let models = models(variables).expect("models");
        let found = models.resolve(name).map_err(|error| error.to_string())?;
        Ok(format!("{}:{}", found.provider, found.name))
    }

    type Variable = (&'static str, &'static str);

    const OPENAI: Variable = ("OPENAI_API_KEY", "k");
    const ANTHROPIC: Variable = ("ANTHROPIC_API_KEY", "k");
    const OLLAMA: Variable = ("OLLAMA_HOST", "127.0.0.1");

    #[test]
    fn a_name_finds_its_provider() {
        let cases: [(&[Variable], &str, &str); 8] = [
            (&[OPENAI, ANTHROPIC], "openai:gpt-5", "openai:gpt-5"),
            (&[OPENAI, ANTHROPIC], "claude-x", "anthropic:claude-x"),
            (&[OPENAI, ANTHROPIC], "gpt-5", "openai:gpt-5"),
            (&[ANTHROPIC], "mistral", "anthropic:mistral"),
            (&[OPENAI], "claude-x", "openai:claude-x"),
            (&[], "ollama:llama3:8b", "ollama:llama3:8b"),
            (&[OLLAMA], "llama3:8b", "ollama:llama3:8b"),
            (&[OPENAI, OLLAMA], "llama3", "openai:llama3"),
        ];
        for (variables, name, expected) in cases {
            assert_eq!(resolved(variables, name), Ok(expected.into()), "{variables:?} {name}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let nothing = "no language model is configured: set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), \
                       ANTHROPIC_API_KEY, or OLLAMA_HOST";
        assert_eq!(resolved(&[], "mistral"), Err(nothing.into()));
        assert_eq!(
            models(&[]).expect("models").usual().expect_err("nothing").to_string(),
            nothing
        );
        let anthropic = "model `anthropic:claude-x` needs anthropic, which is not configured: set ANTHROPIC_API_KEY";
        assert_eq!(resolved(&[OPENAI], "anthropic:claude-x"), Err(anthropic.into()));
        let bare = "model `gpt-5` needs openai, which is not configured: set OPENAI_API_KEY";
        assert_eq!(resolved(&[], "gpt-5"), Err(bare.into()));
        let no_name = models(&[OLLAMA]).expect("models").usual().expect_err("no name");
        assert_eq!(
            no_name,
            ModelConfigError::NoModelNamed {
                provider: Provider::Ollama
            }
        );
        let unusable = models(&[("OPENAI_API_KEY", "canary\u{1}key")]).err();
        assert_eq!(
            unusable,
            Some(ModelConfigError::UnusableKey {
                variable: "OPENAI_API_KEY"
            })
        );
    }

    #[test]
    fn the_usual_model_is_the_configured_one_or_the_providers() {
        let usual = |variables: &[(&str, &str)]| {
            let found = models(variables).expect("models").usual().expect("a model");
            (found.provider, found.name, found.price.is_some())
        };
        assert_eq!(
            usual(&[OPENAI, ANTHROPIC]),
            (Provider::OpenAi, "gpt-6.1-terra".into(), true)
        );
        assert_eq!(
            usual(&[ANTHROPIC]),
            (Provider::Anthropic, "claude-sonnet-5-5".into(), true)
        );
        assert_eq!(
            usual(&[OPENAI, ("LEGWORK_MODEL", "mine")]),
            (Provider::OpenAi, "mine".into(), false)
        );
        assert_eq!(
            usual(&[("LEGWORK_MODEL", "ollama:llama3")]),
            (Provider::Ollama, "llama3".into(), true)
        );
    }
}
