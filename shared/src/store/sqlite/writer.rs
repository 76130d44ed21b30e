//! How callers hand operations to the thread that writes, and get their answers.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use super::SqliteOptions;
use super::connection::Closing;
use super::error::Fault;
use super::run_row::RunCache;
use super::scribe::{GROUP_MAX, Scribe};
use crate::store::StoreError;

/// Operations that wait or are being written; further callers wait for a place.
const WAITING_MAX: usize = 4 * GROUP_MAX;

/// The writer's transaction, as an operation sees it.
pub(super) struct Tx<'a> {
    /// The connection, inside a transaction.
    pub conn: &'a Connection,
    /// The runs known so far.
    pub runs: &'a RunCache,
    /// Set by an operation that changed what others may wait for.
    pub changed: bool,
}

/// What an operation has to survive once it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Survives {
    /// What the store was opened for: by default a crash of the machine.
    Everything,
    /// A crash of every process. After a crash of the machine there is nobody whose lease or record it could be.
    Processes,
}

/// Something to do in a transaction. It may be done again if the transaction was rolled back because of another one.
pub(super) trait Operation: Send {
    /// What it has to survive.
    fn survives(&self) -> Survives;

    /// Does it and keeps the answer.
    ///
    /// # Errors
    /// Why the whole transaction must be rolled back.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError>;

    /// Gives the caller its answer, now that the transaction is on disk or has failed.
    fn answer(self: Box<Self>, fate: Result<(), StoreError>);
}

struct Call<T, F> {
    survives: Survives,
    work: F,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    /// The place among those that wait; free again once there is an answer.
    _place: OwnedSemaphorePermit,
}

impl<T, F> Operation for Call<T, F>
where
    T: Send,
    F: FnMut(&mut Tx<'_>) -> Result<T, Fault> + Send,
{
    fn survives(&self) -> Survives {
        self.survives
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        match (self.work)(tx) {
            Ok(answer) => self.result = Some(Ok(answer)),
            Err(Fault::Refused(error)) => self.result = Some(Err(error)),
            Err(Fault::Broken(error)) => return Err(error),
        }
        Ok(())
    }

    fn answer(self: Box<Self>, fate: Result<(), StoreError>) {
        let answer = match (fate, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(gone()),
            (Err(error), _) => Err(error),
        };
        // Nobody listens if the caller's future was dropped.
        let _ = self.reply.send(answer);
    }
}

/// What a caller sends.
pub(super) enum Message {
    /// An operation.
    Do(Box<dyn Operation>),
    /// Somebody now wants to know of other processes' changes.
    Watched,
}

/// The hand that callers hold of the writing thread.
pub(super) struct Writer {
    sender: Mutex<Option<Sender<Message>>>,
    places: Arc<Semaphore>,
    changes: watch::Sender<u64>,
    closing: Closing,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread over a connection that is open already.
    pub fn start(
        conn: Connection,
        path: PathBuf,
        options: SqliteOptions,
        runs: Arc<RunCache>,
        closing: Closing,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = channel();
        let changes = watch::Sender::new(0);
        let mut scribe = Scribe::new(conn, path, options, runs, changes.clone(), closing.clone());
        let thread = std::thread::Builder::new()
            .name("legwork-sqlite".to_owned())
            .spawn(move || scribe.serve(&receiver))
            .map_err(|error| StoreError::Unavailable {
                message: format!("no thread for the writer: {error}"),
            })?;
        Ok(Self {
            sender: Mutex::new(Some(sender)),
            places: Arc::new(Semaphore::new(WAITING_MAX)),
            changes,
            closing,
            thread: Some(thread),
        })
    }

    /// Does `work` in a transaction and answers once that is on disk.
    ///
    /// # Cancel safety
    /// The work may be done even if the future is dropped.
    pub async fn call<T: Send + 'static>(
        &self,
        survives: Survives,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        self.send(Message::Do(Box::new(Call {
            survives,
            work,
            result: None,
            reply,
            _place: place,
        })))?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// The counter of changes, by this process and others.
    pub fn changes(&self) -> watch::Receiver<u64> {
        let receiver = self.changes.subscribe();
        // A writer that is gone makes no changes either; the next call says so.
        let _ = self.send(Message::Watched);
        receiver
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = sender.as_ref().ok_or_else(gone)?;
        sender.send(message).map_err(|_| gone())
    }
}

impl Drop for Writer {
    /// Waits until what was handed over is written and the file is closed.
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        self.sender.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = self.thread.take() {
            // It catches its own panics; one that got through has lost nothing that was acknowledged.
            let _ = thread.join();
        }
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable {
        message: "the writer stopped before it answered".to_owned(),
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
