//! Keys, kept out of every text.

use std::fmt;

/// What a secret is replaced by in any text.
const MASK: &str = "***";
/// Shorter values are not searched for: they would blank out ordinary words, and no provider's key is that short.
const REDACTED_LEN_MIN: usize = 6;

/// A key or token. Printing it prints `***`, and it cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `value`, without the white space that copying or a file's last line leaves around it.
    #[must_use]
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// The value itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without this secret, should somebody have echoed it.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < REDACTED_LEN_MIN {
            return text.to_owned();
        }
        text.replace(&self.0, MASK)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// `text` with every word that looks like a key masked, even one that is not ours or that the provider half hid.
#[must_use]
pub fn mask_key_shapes(text: &str) -> String {
    let is_key_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.');
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("sk-") {
        let inside_word = rest[..start].chars().next_back().is_some_and(char::is_alphanumeric);
        let end = rest[start..]
            .find(|c| !is_key_char(c))
            .map_or(rest.len(), |len| start + len);
        masked.push_str(&rest[..start]);
        masked.push_str(if inside_word { &rest[start..end] } else { MASK });
        rest = &rest[end..];
    }
    masked.push_str(rest);
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        let secret = Secret::new(" sk-canary-1234\n");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.expose(), "sk-canary-1234");
        assert_eq!(secret.redact("key sk-canary-1234 is wrong"), "key *** is wrong");
    }

    #[test]
    fn a_short_secret_does_not_blank_out_words() {
        assert_eq!(Secret::new("none").redact("none of it"), "none of it");
        assert_eq!(Secret::new("").redact("text"), "text");
    }

    #[test]
    fn key_shapes_are_masked_and_ordinary_words_are_not() {
        assert_eq!(
            mask_key_shapes("Incorrect API key provided: sk-proj-****wxyz. See sk-ant-1, disk-full, ask-me"),
            "Incorrect API key provided: *** See ***, disk-full, ask-me"
        );
    }
}
