//! How a worker is asked to end.

use tokio_util::sync::CancellationToken;

/// Two requests to a worker: to finish what it has begun, and to let go of it.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    abort: CancellationToken,
}

impl Shutdown {
    /// A handle of which nothing was asked yet. Its clones are the same handle.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Claims no more, gives back what has not started, and lets the rest finish within the drain time.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Drains, and gives back what runs as well, at once.
    pub fn abort(&self) {
        self.drain.cancel();
        self.abort.cancel();
    }

    /// Fires when the worker is to drain.
    #[must_use]
    pub fn draining(&self) -> &CancellationToken {
        &self.drain
    }

    /// Fires when the worker is to let go of what runs.
    #[must_use]
    pub fn aborting(&self) -> &CancellationToken {
        &self.abort
    }

    /// Drains at the first SIGTERM or Ctrl-C, and aborts at the second.
    ///
    /// # Errors
    /// What the system says when it does not let signals be caught.
    #[cfg(unix)]
    pub fn on_signals(&self) -> std::io::Result<impl Future<Output = ()> + Send + use<>> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let asked = self.clone();
        Ok(async move {
            for ask in [Self::drain, Self::abort] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                ask(&asked);
            }
        })
    }
}
