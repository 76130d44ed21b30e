//! The thin edge between the pure parts and the network.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use legwork_shared::agent::ModelReply;
use legwork_shared::budget::Usage;
use legwork_shared::clock::{Clock, SystemClock};
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use reqwest::{Body, Client, Response, Url};
use tokio::time::timeout;

use super::body::BodyDecoder;
use super::classify::classify;
use super::failure::{Failure, Fault};
use super::reply::{Fold, OnDelta, Progress};
use super::retry_after::retry_after_ms;
use super::secret::{Secret, mask_key_shapes};
use super::text::{EXCERPT_CHARS_MAX, excerpt, head};
use super::{ModelError, ModelLimits};

/// How much of an error's body is read. The sentence stands at its start; the rest may be a page.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// How long we wait for an error's body; without it the status still tells enough.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How much partial text an error carries.
const PARTIAL_BYTES_MAX: usize = 64 << 10;
/// How long we wait after the end marker for the connection to become free for the next call.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Where one wire sends its requests, and with which key.
#[derive(Debug)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    key: Option<Secret>,
    limits: ModelLimits,
}

impl Endpoint {
    /// An endpoint without a key.
    pub(crate) fn new(client: Client, url: Url, limits: ModelLimits) -> Self {
        Self {
            client,
            url,
            headers: HeaderMap::new(),
            key: None,
            limits,
        }
    }

    /// The limits of each call.
    pub(crate) fn limits(&self) -> ModelLimits {
        self.limits
    }

    /// Sends `value` under `name` with each request.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sends `prefix` and the key under `name` with each request, and keeps the key out of every error.
    pub(crate) fn with_key(mut self, name: HeaderName, prefix: &str, key: Secret) -> Result<Self, InvalidHeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        self.key = Some(key);
        Ok(self)
    }

    /// Sends `body`, a JSON document, and folds the answer into a reply.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub(crate) async fn ask<F: Fold>(
        &self,
        body: String,
        mut fold: F,
        on_delta: OnDelta<'_>,
    ) -> Result<ModelReply, ModelError> {
        let call = self.fold_answer(body, &mut fold, on_delta);
        let outcome = timeout(Duration::from_millis(self.limits.call_timeout_ms), call).await;
        match outcome.unwrap_or_else(|_| Err(self.too_long())) {
            Ok(()) => Ok(fold.reply().finish()),
            Err(failure) => Err(self.error(&failure, fold.so_far())),
        }
    }

    async fn fold_answer<F: Fold>(&self, body: String, fold: &mut F, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(CONTENT_LENGTH, body.len())
            .body(sent_once(body));
        let mut response = self.unless_silent(request.send()).await?;
        if !response.status().is_success() {
            return Err(refusal(response).await);
        }
        let mut decoder = BodyDecoder::new(self.limits.event_bytes_max);
        while let Some(chunk) = self.unless_silent(response.chunk()).await? {
            for event in decoder.feed(&chunk)? {
                if fold.event(&event, on_delta)? == Progress::Done {
                    let _ = timeout(DRAIN_TIMEOUT, response.chunk()).await;
                    return Ok(());
                }
            }
        }
        let last = match decoder.finish() {
            Some(event) => fold.event(&event, on_delta),
            None => Ok(Progress::More),
        };
        match last {
            Ok(Progress::Done) => Ok(()),
            Ok(Progress::More) if fold.may_end() => Ok(()),
            // What stands at a stream's end may be cut, and then it is no JSON.
            Ok(Progress::More) | Err(Failure::Garbled(_)) => Err(Failure::Incomplete),
            Err(failure) => Err(failure),
        }
    }

    async fn unless_silent<T>(&self, wait: impl Future<Output = reqwest::Result<T>>) -> Result<T, Failure> {
        match timeout(Duration::from_millis(self.limits.idle_timeout_ms), wait).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::Connection(innermost(&error))),
            Err(_) => Err(Failure::Timeout(format!(
                "silent for {} ms",
                self.limits.idle_timeout_ms
            ))),
        }
    }

    fn too_long(&self) -> Failure {
        Failure::Timeout(format!("not done after {} ms", self.limits.call_timeout_ms))
    }

    fn error(&self, failure: &Failure, (text, usage): (&str, Option<Usage>)) -> ModelError {
        let (class, code) = classify(failure);
        let status = match failure {
            Failure::Refused { status, .. } => Some(*status),
            Failure::Streamed(fault) => fault.status,
            _ => None,
        };
        ModelError {
            class,
            code,
            status,
            message: self.redact(&sentence(failure, &shown(&self.url))),
            partial: head(&self.redact_key(text), PARTIAL_BYTES_MAX).to_owned(),
            usage,
        }
    }

    fn redact(&self, text: &str) -> String {
        mask_key_shapes(&self.redact_key(text))
    }

    fn redact_key(&self, text: &str) -> String {
        match &self.key {
            Some(key) => key.redact(text),
            None => text.to_owned(),
        }
    }
}

/// A body that is given away when it has been sent: one that could be sent again is kept until the answer begins, which takes
/// as long as the model thinks.
fn sent_once(body: String) -> Body {
    Body::wrap_stream(futures::stream::once(async { Ok::<_, Infallible>(body) }))
}

/// What an answer that is not a success tells.
async fn refusal(mut response: Response) -> Failure {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let retry_after_ms = retry_after_ms(header("retry-after-ms"), header("retry-after"), SystemClock.now());
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk[..chunk.len().min(ERROR_BYTES_MAX - body.len())]);
            if body.len() == ERROR_BYTES_MAX {
                break;
            }
        }
    };
    // A body that does not come in time changes nothing: what has come of it is used.
    let _ = timeout(ERROR_BODY_TIMEOUT, read).await;
    Failure::Refused {
        status,
        retry_after_ms,
        said: Fault::from_body(&String::from_utf8_lossy(&body)),
    }
}

/// The cause at the end of the chain: "connection refused" rather than "error sending request".
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    excerpt(&cause.to_string(), EXCERPT_CHARS_MAX)
}

/// The address without what may be secret in it.
fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

fn sentence(failure: &Failure, url: &str) -> String {
    match failure {
        Failure::Refused { said, .. } => format!("{url} refused: {}", words(said)),
        Failure::Streamed(said) => format!("{url} broke off: {}", words(said)),
        Failure::Connection(why) => format!("no connection to {url}: {why}"),
        Failure::Timeout(why) => format!("{url} was {why}"),
        Failure::Incomplete => format!("{url} closed the stream before its end"),
        Failure::NotAStream(what) => format!("{url} answered with {what}"),
        Failure::Garbled(why) => format!("{url} sent what cannot be read: {}", excerpt(why, EXCERPT_CHARS_MAX)),
        Failure::ReplyTooLarge(what) => format!("{url} sent {what}"),
    }
}

fn words(said: &Fault) -> &str {
    [&said.message, &said.code, &said.kind]
        .into_iter()
        .find(|word| !word.is_empty())
        .map_or("no reason given", |w| w)
}

#[cfg(test)]
mod tests {
    use super::super::client::HttpClients;
    use super::*;

    fn endpoint(key: &str) -> Endpoint {
        let url = Url::parse("http://user:hidden@127.0.0.1:1/v1/chat?token=hidden").expect("a URL");
        let client = HttpClients::new(ModelLimits::default())
            .for_url(&url)
            .expect("a client");
        Endpoint::new(client, url, ModelLimits::default())
            .with_key(reqwest::header::AUTHORIZATION, "Bearer ", Secret::new(key))
            .expect("a key that a header can carry")
    }

    #[test]
    fn an_error_names_the_address_and_hides_the_key_wherever_it_was_echoed() {
        let endpoint = endpoint("canary-key-1");
        let said = Fault {
            message: "key canary-key-1 (sk-other) is wrong".into(),
            ..Fault::default()
        };
        let failure = Failure::Refused {
            status: 401,
            retry_after_ms: None,
            said,
        };
        let error = endpoint.error(&failure, ("echo canary-key-1", None));
        assert_eq!(
            error.message,
            "http://127.0.0.1:1/v1/chat refused: key *** (***) is wrong"
        );
        assert_eq!(error.partial, "echo ***");
        let shown =
            "model call failed (unauthorized, HTTP 401): http://127.0.0.1:1/v1/chat refused: key *** (***) is wrong";
        assert_eq!(error.to_string(), shown);
        let debug = format!("{endpoint:?}{error:?}");
        assert!(!debug.contains("canary"), "{debug}");
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        let endpoint = endpoint("canary-key-1");
        assert!(
            endpoint
                .with_key(reqwest::header::AUTHORIZATION, "", Secret::new("a\nb"))
                .is_err()
        );
    }

    #[test]
    fn partial_text_in_an_error_is_bounded() {
        let text = "é".repeat(PARTIAL_BYTES_MAX);
        let error = endpoint("canary-key-1").error(&Failure::Incomplete, (&text, None));
        assert_eq!(error.partial.len(), PARTIAL_BYTES_MAX);
    }
}
