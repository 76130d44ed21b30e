//! The name of bytes: their SHA-256.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes; as text, 64 digits of lower-case hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; 32]);

/// A text that is not a SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 is written as 64 digits of lower-case hex")]
pub struct ContentHashError;

impl ContentHash {
    /// Computes the name of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ContentHash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = ContentHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(ContentHashError);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

/// Lower case only, so that one hash has one text.
fn hex_digit(digit: u8) -> Result<u8, ContentHashError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(ContentHashError),
    }
}

impl TryFrom<String> for ContentHash {
    type Error = ContentHashError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        let mut text = String::with_capacity(64);
        // Writing to a string cannot fail.
        let _ = write!(text, "{hash}");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn hash_of_abc_is_the_published_one_and_survives_its_text() {
        let hash = ContentHash::of(b"abc");
        assert_eq!(hash.to_string(), OF_ABC);
        assert_eq!(OF_ABC.parse(), Ok(hash));
        assert_eq!(serde_json::to_string(&hash).unwrap(), format!("\"{OF_ABC}\""));
    }

    #[test]
    fn text_that_is_not_64_digits_of_lower_case_hex_is_refused() {
        for text in [
            "",
            "abc",
            &OF_ABC.to_uppercase(),
            &OF_ABC.replace('b', "g"),
            &format!("{OF_ABC}0"),
            &"é".repeat(32),
        ] {
            assert_eq!(text.parse::<ContentHash>(), Err(ContentHashError));
        }
    }
}
