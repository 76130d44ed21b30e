//! Which model, in the words of people.

use std::fmt;
use std::str::FromStr;

use super::ModelConfigError;

/// The longest name of a model. Real ones have fewer than a hundred characters, paths of local files included.
const NAME_CHARS_MAX: usize = 256;

/// Who serves a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI, or a server that speaks as it does.
    OpenAi,
    /// Anthropic, or a server that speaks as it does.
    Anthropic,
    /// An Ollama, most often on this machine.
    Ollama,
}

impl Provider {
    /// Every provider, in the order in which they are tried for a name that tells nothing.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Ollama];

    /// The word before the colon.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    /// The variable that makes it usable.
    #[must_use]
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    /// The variable that says where it stands.
    #[must_use]
    pub fn url_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    /// The model to use where none is named: each provider's middle one as of October 2026. None for Ollama, which
    /// serves what was pulled.
    #[must_use]
    pub fn usual_model(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("gpt-6.1-terra"),
            Self::Anthropic => Some("claude-sonnet-5-5"),
            Self::Ollama => None,
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A model as it is written: `openai:gpt-…`, `anthropic:claude-…`, `ollama:llama3:8b`, or a bare name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The provider, where it was named.
    pub provider: Option<Provider>,
    /// The provider's name of the model.
    pub name: String,
}

impl ModelChoice {
    /// The provider that a bare name belongs to by its family, if it is one that we know.
    #[must_use]
    pub fn family(&self) -> Option<Provider> {
        let name = self.name.as_str();
        if name.starts_with("claude") {
            return Some(Provider::Anthropic);
        }
        let is_o_series = name
            .strip_prefix('o')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let is_openai = is_o_series || name.starts_with("gpt-") || name.starts_with("chatgpt");
        is_openai.then_some(Provider::OpenAi)
    }
}

impl FromStr for ModelChoice {
    type Err = ModelConfigError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        // Only a known word is a provider: names of local models have colons of their own.
        let named = text.split_once(':').and_then(|(word, name)| {
            Provider::ALL
                .into_iter()
                .find(|provider| provider.as_str() == word)
                .map(|provider| (provider, name))
        });
        let (provider, name) = match named {
            Some((provider, name)) => (Some(provider), name.trim()),
            None => (None, text),
        };
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || name.contains(char::is_control) {
            return Err(ModelConfigError::BadName {
                text: super::text::excerpt(text, 80),
            });
        }
        Ok(Self {
            provider,
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.provider {
            Some(provider) => write!(f, "{provider}:{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_and_written_in_every_form() {
        for (text, provider, name) in [
            ("openai:gpt-5", Some(Provider::OpenAi), "gpt-5"),
            ("anthropic:claude-x", Some(Provider::Anthropic), "claude-x"),
            ("ollama:llama3:8b", Some(Provider::Ollama), "llama3:8b"),
            ("llama3:8b", None, "llama3:8b"),
            ("ft:gpt-4o:acme", None, "ft:gpt-4o:acme"),
            ("org/model-7b", None, "org/model-7b"),
        ] {
            let choice: ModelChoice = text.parse().expect("a choice");
            assert_eq!(
                choice,
                ModelChoice {
                    provider,
                    name: name.into()
                }
            );
            assert_eq!(choice.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "  ", "openai:", "a\nb", &"x".repeat(300)] {
            assert!(
                matches!(text.parse::<ModelChoice>(), Err(ModelConfigError::BadName { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn families_are_known_by_their_names() {
        for (name, family) in [
            ("claude-sonnet-5-5", Some(Provider::Anthropic)),
            ("gpt-5", Some(Provider::OpenAi)),
            ("o3-mini", Some(Provider::OpenAi)),
            ("olmo-2", None),
            ("llama3", None),
        ] {
            assert_eq!(
                name.parse::<ModelChoice>().expect("a choice").family(),
                family,
                "{name}"
            );
        }
    }
}
