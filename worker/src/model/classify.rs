//! The one judgement of a failed call: may another try help, and what was it?

use super::error::{ErrorClass, ModelErrorCode};
use super::failure::{Failure, Fault};

/// Kinds and codes that mean that the account is empty, whatever the status.
const QUOTA_WORDS: [&str; 8] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_credits",
    "quota_exhausted",
    "access_terminated",
];
/// The same said in a sentence, by providers that have no word for it. "Quota" alone does not count: some providers
/// say it of a limit per minute.
const QUOTA_SENTENCES: [&str; 6] = [
    "credit balance is too low",
    "insufficient balance",
    "insufficient credit",
    "out of credits",
    "billing hard limit",
    "insufficient_quota",
];

/// Judges a failure of either wire, whether it came as a status, as a body or inside a stream.
pub(crate) fn classify(failure: &Failure) -> (ErrorClass, ModelErrorCode) {
    let code = code_of(failure);
    let class = match (failure, code) {
        (Failure::Refused { retry_after_ms, .. }, code) if may_help(code) => ErrorClass::Retryable {
            after_ms: *retry_after_ms,
        },
        // A garbled event is a glitch of this stream; an answer in another form will be the same next time.
        (Failure::Garbled(_), _) => ErrorClass::Retryable { after_ms: None },
        (_, code) if may_help(code) => ErrorClass::Retryable { after_ms: None },
        _ => ErrorClass::Fatal,
    };
    (class, code)
}

fn may_help(code: ModelErrorCode) -> bool {
    use ModelErrorCode as Code;
    match code {
        Code::RateLimited
        | Code::Overloaded
        | Code::Unavailable
        | Code::Timeout
        | Code::Connection
        | Code::Incomplete => true,
        Code::QuotaExhausted
        | Code::Unauthorized
        | Code::BadRequest
        | Code::NotFound
        | Code::TooLarge
        | Code::Protocol => false,
    }
}

fn code_of(failure: &Failure) -> ModelErrorCode {
    match failure {
        Failure::Refused { status, said, .. } => by_status(*status, said),
        Failure::Streamed(said) => match (by_word(said), said.status) {
            (Some(code), _) => code,
            (None, Some(status)) => by_status(status, said),
            // A provider that breaks off in the middle, for a reason that we do not know, has failed.
            (None, None) => ModelErrorCode::Unavailable,
        },
        Failure::Connection(_) => ModelErrorCode::Connection,
        Failure::Timeout(_) => ModelErrorCode::Timeout,
        Failure::Incomplete => ModelErrorCode::Incomplete,
        Failure::NotAStream(_) | Failure::Garbled(_) => ModelErrorCode::Protocol,
        Failure::ReplyTooLarge(_) => ModelErrorCode::TooLarge,
    }
}

fn by_status(status: u16, said: &Fault) -> ModelErrorCode {
    match status {
        400 | 402 | 403 | 429 if is_quota(said) => ModelErrorCode::QuotaExhausted,
        402 => ModelErrorCode::QuotaExhausted,
        401 | 403 => ModelErrorCode::Unauthorized,
        404 => ModelErrorCode::NotFound,
        408 => ModelErrorCode::Timeout,
        409 | 425 => ModelErrorCode::Unavailable,
        413 => ModelErrorCode::TooLarge,
        429 => ModelErrorCode::RateLimited,
        400..=499 => ModelErrorCode::BadRequest,
        529 => ModelErrorCode::Overloaded,
        503 if by_word(said) == Some(ModelErrorCode::Overloaded) => ModelErrorCode::Overloaded,
        500..=599 => ModelErrorCode::Unavailable,
        // A redirect is not followed, because it would carry the key and the prompt to another place.
        _ => ModelErrorCode::Protocol,
    }
}

fn is_quota(said: &Fault) -> bool {
    let is_word = |word: &str| QUOTA_WORDS.iter().any(|quota| word.eq_ignore_ascii_case(quota));
    let message = said.message.to_ascii_lowercase();
    is_word(&said.kind) || is_word(&said.code) || QUOTA_SENTENCES.iter().any(|part| message.contains(part))
}

/// What the words of a fault say, if we know them. The second word is the more exact one and goes first.
fn by_word(said: &Fault) -> Option<ModelErrorCode> {
    if is_quota(said) {
        return Some(ModelErrorCode::QuotaExhausted);
    }
    [&said.code, &said.kind].into_iter().find_map(|word| word_code(word))
}

fn word_code(word: &str) -> Option<ModelErrorCode> {
    let code = match word.to_ascii_lowercase().as_str() {
        "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" | "requests" | "tokens" => {
            ModelErrorCode::RateLimited
        }
        "overloaded_error" | "overloaded" | "engine_overloaded" | "engine_overloaded_error" | "server_overloaded" => {
            ModelErrorCode::Overloaded
        }
        "api_error"
        | "server_error"
        | "internal_server_error"
        | "internal_error"
        | "internalservererror"
        | "service_unavailable"
        | "unavailable" => ModelErrorCode::Unavailable,
        "timeout_error" | "timeout" | "deadline_exceeded" => ModelErrorCode::Timeout,
        "authentication_error" | "invalid_api_key" | "unauthenticated" | "permission_error" | "permission_denied" => {
            ModelErrorCode::Unauthorized
        }
        "invalid_request_error" | "badrequesterror" | "invalid_argument" | "context_length_exceeded" => {
            ModelErrorCode::BadRequest
        }
        "not_found_error" | "not_found" | "notfounderror" | "model_not_found" => ModelErrorCode::NotFound,
        "request_too_large" => ModelErrorCode::TooLarge,
        _ => return None,
    };
    Some(code)
}

#[cfg(test)]
mod tests {
    use ModelErrorCode as Code;

    use super::*;

    fn said(kind: &str, code: &str, message: &str) -> Fault {
        Fault {
            kind: kind.into(),
            code: code.into(),
            status: None,
            message: message.into(),
        }
    }

    fn refused(status: u16, said: Fault) -> Failure {
        Failure::Refused {
            status,
            retry_after_ms: Some(1_500),
            said,
        }
    }

    #[test]
    fn every_status_has_its_class_and_code() {
        let retry = ErrorClass::Retryable { after_ms: Some(1_500) };
        let cases = [
            (301, ErrorClass::Fatal, Code::Protocol),
            (400, ErrorClass::Fatal, Code::BadRequest),
            (401, ErrorClass::Fatal, Code::Unauthorized),
            (402, ErrorClass::Fatal, Code::QuotaExhausted),
            (403, ErrorClass::Fatal, Code::Unauthorized),
            (404, ErrorClass::Fatal, Code::NotFound),
            (405, ErrorClass::Fatal, Code::BadRequest),
            (408, retry, Code::Timeout),
            (409, retry, Code::Unavailable),
            (413, ErrorClass::Fatal, Code::TooLarge),
            (422, ErrorClass::Fatal, Code::BadRequest),
            (425, retry, Code::Unavailable),
            (429, retry, Code::RateLimited),
            (500, retry, Code::Unavailable),
            (502, retry, Code::Unavailable),
            (503, retry, Code::Unavailable),
            (504, retry, Code::Unavailable),
            (520, retry, Code::Unavailable),
            (529, retry, Code::Overloaded),
        ];
        for (status, class, code) in cases {
            assert_eq!(classify(&refused(status, Fault::default())), (class, code), "{status}");
        }
    }

    #[test]
    fn an_empty_account_is_fatal_and_a_limit_per_minute_is_not() {
        let quota = (ErrorClass::Fatal, Code::QuotaExhausted);
        let openai = said(
            "insufficient_quota",
            "insufficient_quota",
            "You exceeded your current quota",
        );
        assert_eq!(classify(&refused(429, openai.clone())), quota);
        assert_eq!(classify(&Failure::Streamed(openai)), quota);
        assert_eq!(classify(&refused(403, said("billing_error", "", "x"))), quota);
        assert_eq!(
            classify(&refused(
                400,
                said("invalid_request_error", "", "Your credit balance is too low")
            )),
            quota
        );
        assert_eq!(
            classify(&refused(402, said("unknown_error", "", "Insufficient Balance"))),
            quota
        );

        let per_minute = said("RESOURCE_EXHAUSTED", "", "You exceeded your current quota");
        let (class, code) = classify(&refused(429, per_minute));
        assert_eq!(
            (class, code),
            (ErrorClass::Retryable { after_ms: Some(1_500) }, Code::RateLimited)
        );
    }

    #[test]
    fn an_error_inside_a_stream_is_classified_by_its_words() {
        let retry = ErrorClass::Retryable { after_ms: None };
        let cases = [
            (said("overloaded_error", "", ""), retry, Code::Overloaded),
            (said("api_error", "", ""), retry, Code::Unavailable),
            (said("rate_limit_error", "", ""), retry, Code::RateLimited),
            (said("timeout_error", "", ""), retry, Code::Timeout),
            (said("server_error", "", ""), retry, Code::Unavailable),
            (said("", "rate_limit_exceeded", ""), retry, Code::RateLimited),
            (said("something_new", "", ""), retry, Code::Unavailable),
            (
                said("authentication_error", "", ""),
                ErrorClass::Fatal,
                Code::Unauthorized,
            ),
            (said("permission_error", "", ""), ErrorClass::Fatal, Code::Unauthorized),
            (said("not_found_error", "", ""), ErrorClass::Fatal, Code::NotFound),
            (said("request_too_large", "", ""), ErrorClass::Fatal, Code::TooLarge),
            (
                said("invalid_request_error", "", ""),
                ErrorClass::Fatal,
                Code::BadRequest,
            ),
            (
                said("invalid_request_error", "model_not_found", ""),
                ErrorClass::Fatal,
                Code::NotFound,
            ),
        ];
        for (fault, class, code) in cases {
            assert_eq!(classify(&Failure::Streamed(fault.clone())), (class, code), "{fault:?}");
        }
        let by_number = Fault {
            status: Some(429),
            ..Fault::default()
        };
        assert_eq!(classify(&Failure::Streamed(by_number)), (retry, Code::RateLimited));
        let by_number = Fault {
            status: Some(401),
            ..Fault::default()
        };
        assert_eq!(
            classify(&Failure::Streamed(by_number)),
            (ErrorClass::Fatal, Code::Unauthorized)
        );
    }

    #[test]
    fn every_other_failure_has_its_class_and_code() {
        let retry = ErrorClass::Retryable { after_ms: None };
        let cases = [
            (Failure::Connection(String::new()), retry, Code::Connection),
            (Failure::Timeout(String::new()), retry, Code::Timeout),
            (Failure::Incomplete, retry, Code::Incomplete),
            (Failure::Garbled(String::new()), retry, Code::Protocol),
            (Failure::NotAStream(String::new()), ErrorClass::Fatal, Code::Protocol),
            (Failure::ReplyTooLarge(String::new()), ErrorClass::Fatal, Code::TooLarge),
        ];
        for (failure, class, code) in cases {
            assert_eq!(classify(&failure), (class, code), "{failure:?}");
        }
        let overloaded = refused(503, said("overloaded_error", "", ""));
        assert_eq!(classify(&overloaded).1, Code::Overloaded);
    }
}
