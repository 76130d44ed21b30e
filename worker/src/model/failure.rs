//! What can go wrong in a call, as it was observed, before anybody judges it.

use serde_json::Value;

use super::json;
use super::text::{EXCERPT_CHARS_MAX, excerpt};

/// One observed failure of a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The provider answered with a status that is not 200.
    Refused {
        status: u16,
        retry_after_ms: Option<u64>,
        said: Fault,
    },
    /// The provider answered 200 and then told of an error, as the body or inside the stream.
    Streamed(Fault),
    /// No connection, or it broke before the stream's end.
    Connection(String),
    /// Silence for too long, or too long as a whole.
    Timeout(String),
    /// A clean close before the end marker.
    Incomplete,
    /// An answer in another form than a stream of events.
    NotAStream(String),
    /// An event that this wire does not have, or that is no JSON.
    Garbled(String),
    /// More than [`super::ModelLimits`] allows.
    ReplyTooLarge(String),
}

/// An error in a provider's own words. Empty strings where it said nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Fault {
    /// The word for its kind, `type` on both wires.
    pub kind: String,
    /// A second word, `code` on the OpenAI wire.
    pub code: String,
    /// An HTTP status inside the body, as gateways write it into a stream that has begun.
    pub status: Option<u16>,
    /// The sentence.
    pub message: String,
}

impl Fault {
    /// Reads an error body of any shape in use; a body that is no JSON is itself the message.
    pub(crate) fn from_body(body: &str) -> Self {
        let trimmed = body.trim_start();
        match json::parse(trimmed) {
            Ok(value) => Self::from_json(&value).unwrap_or_else(|| Self::from_words(trimmed)),
            Err(_) if trimmed.starts_with('<') => Self::from_words("an HTML page"),
            Err(_) => Self::from_words(trimmed),
        }
    }

    /// The error that `value` tells of, if it tells of one.
    ///
    /// Known shapes: `{"error": {"type", "code", "message"}}` with either wire's envelope, `{"error": "…"}` (Ollama),
    /// `{"object": "error", "message", …}` (vLLM), `{"detail": …}` (gateways in Python), and an array of one of these.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        if let Some(first) = value.as_array().and_then(|items| items.first()) {
            return first.as_object().and_then(|_| Self::from_json(first));
        }
        match value.get("error") {
            Some(Value::Object(_)) => Some(Self::from_fields(&value["error"])),
            Some(Value::String(message)) => Some(Self {
                kind: words(value, "type"),
                ..Self::from_words(message)
            }),
            _ if value["object"] == "error" => Some(Self::from_fields(value)),
            _ => match value.get("detail") {
                Some(Value::String(message)) => Some(Self::from_words(message)),
                Some(other @ (Value::Array(_) | Value::Object(_))) => Some(Self::from_words(&other.to_string())),
                _ => None,
            },
        }
    }

    fn from_fields(error: &Value) -> Self {
        let status = ["code", "status"].into_iter().find_map(|key| http_status(&error[key]));
        let kind = ["type", "status"]
            .into_iter()
            .map(|key| words(error, key))
            .find(|kind| !kind.is_empty());
        Self {
            kind: kind.unwrap_or_default(),
            code: words(error, "code"),
            status,
            message: words(error, "message"),
        }
    }

    fn from_words(message: &str) -> Self {
        Self {
            message: excerpt(message, EXCERPT_CHARS_MAX),
            ..Self::default()
        }
    }
}

/// The text under `key`, cut to the length of an excerpt.
fn words(value: &Value, key: &str) -> String {
    json::text(value, key)
        .map(|text| excerpt(text, EXCERPT_CHARS_MAX))
        .unwrap_or_default()
}

/// A number that can only be an HTTP error status.
fn http_status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: &str, code: &str, status: Option<u16>, message: &str) -> Fault {
        Fault {
            kind: kind.into(),
            code: code.into(),
            status,
            message: message.into(),
        }
    }

    #[test]
    fn every_shape_of_an_error_body_is_read() {
        let cases = [
            (
                r#"{"error":{"message":"No","type":"invalid_request_error","code":"model_not_found","param":null}}"#,
                fault("invalid_request_error", "model_not_found", None, "No"),
            ),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                fault("overloaded_error", "", None, "Overloaded"),
            ),
            (
                r#"{"error":"model 'x' not found"}"#,
                fault("", "", None, "model 'x' not found"),
            ),
            (
                r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
                fault("BadRequestError", "", Some(400), "bad"),
            ),
            (
                r#"{"error":{"code":502,"message":"upstream"}}"#,
                fault("", "", Some(502), "upstream"),
            ),
            (
                r#"[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]"#,
                fault("RESOURCE_EXHAUSTED", "", Some(429), "slow"),
            ),
            (r#"{"detail":"Not Found"}"#, fault("", "", None, "Not Found")),
            (
                r#"{"detail":[{"loc":["body"]}]}"#,
                fault("", "", None, r#"[{"loc":["body"]}]"#),
            ),
            ("\n<!doctype html><p>Bad gateway", fault("", "", None, "an HTML page")),
            (
                "upstream\n connect error",
                fault("", "", None, "upstream connect error"),
            ),
            (r#"{"odd":1}"#, fault("", "", None, r#"{"odd":1}"#)),
            ("", Fault::default()),
        ];
        for (body, expected) in cases {
            assert_eq!(Fault::from_body(body), expected, "{body}");
        }
    }

    #[test]
    fn a_chunk_without_an_error_is_none() {
        for body in [
            r#"{"choices":[]}"#,
            r#"{"error":null}"#,
            "[]",
            "[[]]",
            "3",
            r#"{"detail":null}"#,
        ] {
            assert_eq!(Fault::from_json(&json::parse(body).expect("JSON")), None, "{body}");
        }
    }

    #[test]
    fn a_long_message_is_cut() {
        let body = format!(r#"{{"error":"{}"}}"#, "x".repeat(10_000));
        assert_eq!(Fault::from_body(&body).message.chars().count(), EXCERPT_CHARS_MAX + 1);
    }
}
