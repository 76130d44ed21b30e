//! The one thread of a process that writes: it commits whatever waits as one group, under one sync of the disk.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use super::connection::{self, Closing};
use super::error::{Fault, classify};
use super::run_row::RunCache;
use super::{SqliteOptions, Synchronous};
use crate::store::StoreError;

/// Operations in one transaction. More would make the first of them wait long for little: the cost of a sync is spread
/// thin already.
const GROUP_MAX: usize = 512;
/// Operations that wait or are being written; further callers wait for a place.
const WAITING_MAX: usize = 4 * GROUP_MAX;
/// How often the writer looks whether another process has changed the file, while somebody wants to know. A look takes
/// some microseconds; a change must be seen within 50 ms.
const LOOK_EVERY: Duration = Duration::from_millis(15);

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
trait Operation: Send {
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

enum Message {
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
        let mut scribe = Scribe {
            conn,
            path,
            runs,
            changes: changes.clone(),
            closing: closing.clone(),
            seen: None,
            synchronous: options.synchronous,
            options,
        };
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

/// What the thread owns.
struct Scribe {
    conn: Connection,
    path: PathBuf,
    options: SqliteOptions,
    /// What the connection stands at.
    synchronous: Synchronous,
    runs: Arc<RunCache>,
    changes: watch::Sender<u64>,
    closing: Closing,
    /// `data_version` as last seen: it moves when another connection commits.
    seen: Option<i64>,
}

impl Scribe {
    fn serve(&mut self, messages: &Receiver<Message>) {
        loop {
            let first = if self.changes.receiver_count() == 0 {
                messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                messages.recv_timeout(LOOK_EVERY)
            };
            let mut group: Vec<Box<dyn Operation>> = Vec::new();
            match first {
                Ok(Message::Do(operation)) => group.push(operation),
                Ok(Message::Watched) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while group.len() < GROUP_MAX
                && let Ok(message) = messages.try_recv()
            {
                match message {
                    Message::Do(operation) => group.push(operation),
                    Message::Watched => {}
                }
            }
            if !group.is_empty() {
                self.serve_group(group);
            }
            self.look_for_others();
        }
    }

    /// Writes a group. A panic drops its operations, and with them the callers' replies, so that nobody waits in vain.
    fn serve_group(&mut self, group: Vec<Box<dyn Operation>>) {
        let written = catch_unwind(AssertUnwindSafe(|| self.write(group)));
        if written.is_err() {
            tracing::error!("an operation on the store panicked; its caller was told that the store is not available");
            self.reopen();
        }
    }

    fn write(&mut self, mut group: Vec<Box<dyn Operation>>) {
        match self.transact(&mut group) {
            Ok(changed) => {
                if changed {
                    self.changes.send_modify(|seen| *seen += 1);
                }
                for operation in group {
                    operation.answer(Ok(()));
                }
            }
            // It may be the fault of one of them: each for itself, so that it takes no other down.
            Err(StoreError::Corrupt { .. }) if group.len() > 1 => {
                for operation in group {
                    self.write(vec![operation]);
                }
            }
            Err(error) => {
                for operation in group {
                    operation.answer(Err(error.clone()));
                }
            }
        }
    }

    /// One transaction; says whether it changed what others may wait for.
    fn transact(&mut self, group: &mut [Box<dyn Operation>]) -> Result<bool, StoreError> {
        self.set_synchronous(group)?;
        let execute = |sql| {
            self.conn
                .prepare_cached(sql)
                .and_then(|mut statement| statement.execute([]))
                .map_err(|error| classify(&error))
        };
        execute("BEGIN IMMEDIATE")?;
        let mut tx = Tx {
            conn: &self.conn,
            runs: &self.runs,
            changed: false,
        };
        let done = group.iter_mut().try_for_each(|operation| operation.run(&mut tx));
        let changed = tx.changed;
        done.and_then(|()| execute("COMMIT").map(|_| changed))
            .inspect_err(|_| self.roll_back())
    }

    /// Waits for the disk only if an operation of the group has to survive the machine: a worker that claims its next
    /// job does not.
    fn set_synchronous(&mut self, group: &[Box<dyn Operation>]) -> Result<(), StoreError> {
        let is_lasting = group
            .iter()
            .any(|operation| operation.survives() == Survives::Everything);
        let wanted = if is_lasting {
            self.options.synchronous
        } else {
            Synchronous::Normal
        };
        if wanted != self.synchronous {
            connection::set_synchronous(&self.conn, wanted)?;
            self.synchronous = wanted;
        }
        Ok(())
    }

    fn roll_back(&self) {
        self.runs.clear();
        // A full disk rolls back by itself.
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "the store's transaction cannot be rolled back: {error}");
        }
    }

    /// A new connection in place of one in an unknown state.
    fn reopen(&mut self) {
        self.runs.clear();
        match connection::writer(&self.path, &self.options, &self.closing) {
            Ok(conn) => {
                self.conn = conn;
                self.synchronous = self.options.synchronous;
                self.seen = None;
            }
            Err(error) => {
                self.roll_back();
                tracing::error!(%error, "the store cannot be opened again: {error}");
            }
        }
    }

    /// Tells those who wait when another process has changed the file.
    fn look_for_others(&mut self) {
        if self.changes.receiver_count() == 0 {
            self.seen = None;
            return;
        }
        let version = self
            .conn
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)));
        // What stands in the way of this look is met again by the next operation, which reports it.
        let Ok(version) = version else { return };
        let before = self.seen.replace(version);
        if before.is_some_and(|before| before != version) {
            self.changes.send_modify(|seen| *seen += 1);
        }
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
