//! What is logged in this process, for tests that count how often something is said.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

/// All lines that were logged since it was made.
#[derive(Clone, Default)]
pub struct Log {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Log {
    /// Hears everything that is logged in this process from now on, whichever thread says it.
    ///
    /// # Panics
    /// If somebody else hears already: a test has a process of its own.
    #[must_use]
    pub fn of_this_process() -> Self {
        let log = Self::default();
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(tracing::Level::INFO)
            .with_writer(log.clone())
            .init();
        log
    }

    /// The lines that hold those words.
    #[must_use]
    pub fn lines(&self, words: &str) -> Vec<String> {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter(|line| line.contains(words));
        lines.map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
