//! What the environment says about providers.

use reqwest::Url;

use super::ModelConfigError;
use super::base_url::{self, ANTHROPIC_BASE_URL, OLLAMA_BASE_URL, OPENAI_BASE_URL};
use super::choice::Provider;
use super::secret::Secret;

/// A look into the environment: the value of a variable, if it is set.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The way to one provider.
#[derive(Clone)]
pub struct Access {
    /// Where its API stands, as it was given.
    pub base_url: Url,
    /// The key; absent for a server that asks for none.
    pub key: Option<Secret>,
}

impl std::fmt::Debug for Access {
    /// Without what a URL may hide: a user, a password, a query.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let origin = self.base_url.origin().ascii_serialization();
        f.debug_struct("Access")
            .field("base_url", &origin)
            .field("key", &self.key)
            .finish()
    }
}

/// The providers that are configured, and the model to use where none is named.
#[derive(Debug, Clone, Default)]
pub struct ProviderSettings {
    /// OpenAI, or a server that speaks as it does.
    pub openai: Option<Access>,
    /// Anthropic, or a server that speaks as it does.
    pub anthropic: Option<Access>,
    /// A local Ollama that was named; one at its usual place needs no configuration if the model says `ollama:`.
    pub ollama: Option<Access>,
    /// The model for agents that name none, as a [`super::ModelChoice`] is written.
    pub model: Option<String>,
}

impl ProviderSettings {
    /// Reads `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`, `OLLAMA_HOST` and
    /// `LEGWORK_MODEL`. An empty variable counts as unset; a base URL without a key is a server that needs none.
    ///
    /// # Errors
    /// [`ModelConfigError::BadBaseUrl`] names the variable.
    pub fn from_env(env: Environment<'_>) -> Result<Self, ModelConfigError> {
        let set = |variable: &str| env(variable).filter(|value| !value.trim().is_empty());
        let access = |provider: Provider, default_url: &str| {
            let key = set(provider.key_variable()).map(|key| Secret::new(&key));
            let base_url = set(provider.url_variable());
            if key.is_none() && base_url.is_none() {
                return Ok(None);
            }
            let base_url = base_url::parse(base_url.as_deref().unwrap_or(default_url)).map_err(|reason| {
                ModelConfigError::BadBaseUrl {
                    variable: provider.url_variable(),
                    reason,
                }
            })?;
            Ok(Some(Access { base_url, key }))
        };
        Ok(Self {
            openai: access(Provider::OpenAi, OPENAI_BASE_URL)?,
            anthropic: access(Provider::Anthropic, ANTHROPIC_BASE_URL)?,
            ollama: set("OLLAMA_HOST").map(|host| ollama_at(&host)).transpose()?,
            model: set("LEGWORK_MODEL").map(|model| model.trim().to_owned()),
        })
    }

    /// Whether any provider is configured.
    #[must_use]
    pub fn any(&self) -> bool {
        self.openai.is_some() || self.anthropic.is_some() || self.ollama.is_some()
    }
}

/// The Ollama at `host`.
fn ollama_at(host: &str) -> Result<Access, ModelConfigError> {
    base_url::parse_ollama_host(host)
        .map(|base_url| Access { base_url, key: None })
        .map_err(|reason| ModelConfigError::BadBaseUrl {
            variable: "OLLAMA_HOST",
            reason,
        })
}

/// The Ollama at its usual place.
pub(crate) fn usual_ollama() -> Result<Access, ModelConfigError> {
    ollama_at(OLLAMA_BASE_URL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<ProviderSettings, ModelConfigError> {
        let find = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        ProviderSettings::from_env(&find)
    }

    fn shown(access: Option<&Access>) -> Option<(String, Option<String>)> {
        access.map(|access| {
            (
                access.base_url.to_string(),
                access.key.as_ref().map(|key| key.expose().to_owned()),
            )
        })
    }

    #[test]
    fn keys_and_base_urls_are_read_with_public_defaults() {
        let settings = read(&[
            ("OPENAI_API_KEY", "k1\n"),
            ("ANTHROPIC_API_KEY", "k2"),
            ("LEGWORK_MODEL", " m "),
        ])
        .expect("settings");
        assert_eq!(
            shown(settings.openai.as_ref()),
            Some(("https://api.openai.com/v1".into(), Some("k1".into())))
        );
        assert_eq!(
            shown(settings.anthropic.as_ref()),
            Some(("https://api.anthropic.com/".into(), Some("k2".into())))
        );
        assert_eq!(
            (settings.ollama.is_none(), settings.model.as_deref()),
            (true, Some("m"))
        );
    }

    #[test]
    fn a_base_url_alone_is_a_server_without_a_key() {
        let settings = read(&[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OLLAMA_HOST", "box")]).expect("settings");
        assert_eq!(
            shown(settings.openai.as_ref()),
            Some(("http://127.0.0.1:9/v1".into(), None))
        );
        assert_eq!(
            shown(settings.ollama.as_ref()),
            Some(("http://box:11434/".into(), None))
        );
        assert!(settings.any());
    }

    #[test]
    fn empty_variables_count_as_unset_and_bad_ones_are_named() {
        assert!(
            !read(&[("OPENAI_API_KEY", " "), ("OPENAI_BASE_URL", "")])
                .expect("settings")
                .any()
        );
        let error = read(&[("ANTHROPIC_BASE_URL", "nonsense")]).expect_err("no URL");
        assert_eq!(
            error.to_string(),
            "ANTHROPIC_BASE_URL is no usable URL: relative URL without a base"
        );
    }

    #[test]
    fn settings_never_print_a_key_or_a_password() {
        let settings = read(&[
            ("OPENAI_API_KEY", "canary"),
            ("OPENAI_BASE_URL", "http://u:canary@h/v1?k=canary"),
        ]);
        let debug = format!("{settings:?}");
        assert!(!debug.contains("canary") && debug.contains("***"), "{debug}");
    }
}
