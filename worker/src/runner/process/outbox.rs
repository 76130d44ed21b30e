//! What a program is told, on its way into the program's stdin.

use legwork_shared::job::JobError;
use serde::Serialize;
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

use super::protocol::broken;

/// How many messages may wait for a program that does not read: updates, and answers to what it asked itself.
const WAITING_MAX: usize = 64;

/// Where messages are put.
pub struct Outbox(mpsc::Sender<Vec<u8>>);

/// An outbox, and the messages in it.
pub fn open() -> (Outbox, mpsc::Receiver<Vec<u8>>) {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    (Outbox(sender), receiver)
}

impl Outbox {
    /// Puts a message into the outbox. One for a program that has closed its stdin is dropped: it wants no more.
    ///
    /// # Errors
    /// The failure of a program that does not read what it is told.
    pub fn post(&self, message: &impl Serialize) -> Result<(), JobError> {
        let mut line = serde_json::to_vec(message).map_err(|error| broken(&error.to_string()))?;
        line.push(b'\n');
        match self.0.try_send(line) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(_)) => Err(broken(&format!(
                "{WAITING_MAX} messages wait for it on its stdin, which it does not read"
            ))),
        }
    }
}

/// Writes messages until the outbox is closed or the program does not listen any more; closes its stdin then.
pub async fn write(mut stdin: ChildStdin, mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = messages.recv().await {
        if stdin.write_all(&message).await.is_err() {
            return;
        }
    }
}
