//! What a model call may take.

/// The bounds of one model call. A provider is not trusted with our memory or our time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelLimits {
    /// The longest wait for a connection, TLS included. A host that does not answer in ten seconds is down.
    pub connect_timeout_ms: u64,
    /// The longest silence, before the first byte and between any two. Two minutes: a large prompt on a busy provider
    /// takes tens of seconds to its first token, and keep-alives count as life.
    pub idle_timeout_ms: u64,
    /// The longest call as a whole. Ten minutes is what providers themselves allow a streamed reply.
    pub call_timeout_ms: u64,
    /// The most text of one reply. Four megabytes is about a million tokens, more than any model writes at once.
    pub text_bytes_max: usize,
    /// The longest arguments of one call. A megabyte is a large file written by one call.
    pub arguments_bytes_max: usize,
    /// The most calls in one reply; more is a model that repeats itself.
    pub calls_max: usize,
    /// The largest event of a stream, and the largest answer that is not a stream. Twice the text plus its JSON
    /// escapes, for servers that send a whole reply as one event.
    pub event_bytes_max: usize,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self {
            connect_timeout_ms: 10_000,
            idle_timeout_ms: 120_000,
            call_timeout_ms: 600_000,
            text_bytes_max: 4 << 20,
            arguments_bytes_max: 1 << 20,
            calls_max: 128,
            event_bytes_max: 8 << 20,
        }
    }
}
