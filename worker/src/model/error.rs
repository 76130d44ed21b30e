//! How a model call fails.

use std::fmt;

use legwork_shared::budget::Usage;

/// Why a model call gave no reply, and whether another try may help.
///
/// It never holds a key: the provider's words are redacted and cut before they get here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model call failed ({code}{}): {message}", StatusSuffix(*.status))]
pub struct ModelError {
    /// Whether to try again.
    pub class: ErrorClass,
    /// What happened.
    pub code: ModelErrorCode,
    /// The HTTP status, where the provider answered with one.
    pub status: Option<u16>,
    /// One sentence for people, with the start of what the provider said.
    pub message: String,
    /// The start of the text that had arrived; empty if none had.
    pub partial: String,
    /// What the provider had counted before it failed; absent if it had not.
    pub usage: Option<Usage>,
}

impl ModelError {
    /// Whether another try may help.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.class, ErrorClass::Retryable { .. })
    }

    /// How long the provider asked us to wait before the next try, if it did.
    #[must_use]
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self.class {
            ErrorClass::Retryable { after_ms } => after_ms,
            ErrorClass::Fatal => None,
        }
    }
}

/// Whether another try of the same call may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// It may.
    Retryable {
        /// The wait that the provider asked for, at most an hour; it goes before our own back-off.
        after_ms: Option<u64>,
    },
    /// It will not: the request, the key or the account has to change.
    Fatal,
}

/// What happened to a model call. The words of [`Self::as_str`] are stable: they stand in events and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelErrorCode {
    /// Too many requests or tokens in a short time.
    RateLimited,
    /// The account has nothing left to spend.
    QuotaExhausted,
    /// The provider has no capacity at the moment.
    Overloaded,
    /// The provider failed.
    Unavailable,
    /// Nothing came for too long, or the call as a whole took too long.
    Timeout,
    /// No connection, or it broke.
    Connection,
    /// The stream was closed cleanly before its end marker.
    Incomplete,
    /// The key is missing, wrong or not allowed to do this.
    Unauthorized,
    /// The provider refuses the request as it is.
    BadRequest,
    /// No such model, or the base URL is wrong.
    NotFound,
    /// The request is too large for the provider, or the reply is too large for us.
    TooLarge,
    /// The answer is not what this wire speaks.
    Protocol,
}

impl ModelErrorCode {
    /// The code as a stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Incomplete => "incomplete",
            Self::Unauthorized => "unauthorized",
            Self::BadRequest => "bad_request",
            Self::NotFound => "not_found",
            Self::TooLarge => "too_large",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for ModelErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Writes `, HTTP 429` where there is a status.
struct StatusSuffix(Option<u16>);

impl fmt::Display for StatusSuffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(status) => write!(f, ", HTTP {status}"),
            None => Ok(()),
        }
    }
}
