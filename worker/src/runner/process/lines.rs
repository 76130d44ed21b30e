//! Lines of bounded length.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest line in bytes: the largest answer that a job may give by default.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why there is no next line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line is too long.
    #[error("a line has more than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// The pipe broke.
    #[error("its output cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Cuts a stream of bytes into lines.
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// How far the buffer was searched for a line's end.
    searched: usize,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines of `source`.
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            searched: 0,
            ended: false,
        }
    }

    /// The next line, without its end; a last one without an end counts too. `None` when there are no more.
    ///
    /// # Errors
    /// [`LineError`]; there is no line after it.
    ///
    /// # Cancel safety
    /// Safe: what was read is kept for the next call.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > LINE_BYTES_MAX {
                return Err(LineError::TooLong);
            }
            if self.ended {
                self.searched = 0;
                return Ok((!self.buffer.is_empty()).then(|| std::mem::take(&mut self.buffer)));
            }
            self.ended = self.source.read_buf(&mut self.buffer).await? == 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        found
    }

    #[tokio::test]
    async fn lines_come_whole_the_last_one_even_without_its_end() {
        assert_eq!(lines(b"").await, Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"a\n\nbc").await, [b"a".to_vec(), b"".to_vec(), b"bc".to_vec()]);
    }

    #[tokio::test]
    async fn d21_a_line_without_an_end_is_refused_before_it_fills_the_memory() {
        let mut lines = Lines::new(tokio::io::repeat(b'x'));
        assert!(matches!(lines.next().await, Err(LineError::TooLong)));
        assert!(lines.buffer.capacity() <= 4 * LINE_BYTES_MAX);
    }
}
