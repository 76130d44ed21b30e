//! The last words of a program: the end of its stderr.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much of stderr is kept: a stack trace, not a log.
const KEPT_BYTES: usize = 16 * 1024;
/// How much of it an error repeats, in characters: its end, which says what went wrong.
const SHOWN_CHARS: usize = 1_000;

/// The end of a stream that is read as fast as it comes, so that its writer never waits.
#[derive(Debug, Default)]
pub struct Tail(Mutex<VecDeque<u8>>);

impl Tail {
    /// Reads to the end of `source`, or until it breaks.
    pub async fn follow(&self, mut source: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; KEPT_BYTES / 2];
        while let Ok(count @ 1..) = source.read(&mut chunk).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&chunk[..count]);
            let surplus = kept.len().saturating_sub(KEPT_BYTES);
            kept.drain(..surplus);
        }
    }

    /// What was said last; bytes that are not text are shown as such.
    pub fn last_words(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        let surplus = text.chars().count().saturating_sub(SHOWN_CHARS);
        text.chars().skip(surplus).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn d29_the_end_is_kept_and_bytes_that_are_not_text_do_no_harm() {
        let tail = Tail::default();
        let mut said = vec![b'x'; 3 * KEPT_BYTES];
        said.extend(b"\xf0\x28\xff the end\n");
        tail.follow(said.as_slice()).await;
        let words = tail.last_words();
        assert!(words.ends_with("x\u{fffd}(\u{fffd} the end"), "{words}");
        assert_eq!(words.chars().count(), SHOWN_CHARS);
    }
}
