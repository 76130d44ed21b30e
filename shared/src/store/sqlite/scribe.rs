//! The one thread of a process that writes: it commits whatever waits as one group, under one sync of the disk, and looks
//! in between whether another process has written.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::watch;

use super::connection::{self, Closing};
use super::error::classify;
use super::run_row::RunCache;
use super::writer::{Message, Operation, Survives, Tx};
use super::{SqliteOptions, Synchronous};
use crate::store::StoreError;

/// Operations in one transaction. More would make the first of them wait long for little: the cost of a sync is spread
/// thin already.
pub(super) const GROUP_MAX: usize = 512;
/// How often the writer looks whether another process has changed the file, while somebody wants to know and something
/// goes on. A look costs two locks and a wake-up, some 100 µs on a virtual machine.
const LOOK_BUSY: Duration = Duration::from_millis(10);
/// The same when nothing has gone on for a while: a change must be seen within 50 ms.
const LOOK_QUIET: Duration = Duration::from_millis(40);
/// Looks in vain after which nothing goes on: a second.
const BUSY_LOOKS: u32 = 100;

/// What the thread owns.
pub(super) struct Scribe {
    conn: Connection,
    path: PathBuf,
    options: SqliteOptions,
    /// What the connection stands at.
    synchronous: Synchronous,
    runs: Arc<RunCache>,
    changes: watch::Sender<u64>,
    closing: Closing,
    /// `data_version` as last seen: it moves when another connection commits. `None` if that is not known: a connection's
    /// number says nothing beside that of another.
    seen: Option<i64>,
    /// Looks since anything went on here or elsewhere.
    looks_in_vain: u32,
}

/// How long to wait before the next look.
fn pace(looks_in_vain: u32) -> Duration {
    if looks_in_vain < BUSY_LOOKS {
        LOOK_BUSY
    } else {
        LOOK_QUIET
    }
}

impl Scribe {
    /// A scribe over a connection that is open already.
    pub fn new(
        conn: Connection,
        path: PathBuf,
        options: SqliteOptions,
        runs: Arc<RunCache>,
        changes: watch::Sender<u64>,
        closing: Closing,
    ) -> Self {
        Self {
            // Seen before anybody can wait: whatever is committed from here on is a change.
            seen: data_version(&conn),
            conn,
            path,
            synchronous: options.synchronous,
            options,
            runs,
            changes,
            closing,
            looks_in_vain: 0,
        }
    }

    /// Writes what comes until nobody can send any more.
    pub fn serve(&mut self, messages: &Receiver<Message>) {
        loop {
            let first = if self.changes.receiver_count() == 0 {
                messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                messages.recv_timeout(pace(self.looks_in_vain))
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
                self.looks_in_vain = 0;
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

    /// Tells those who wait when another process has changed the file since the last look. The first look after a while
    /// without anybody may tell of what they have seen already: better once too often than once too few.
    fn look_for_others(&mut self) {
        if self.changes.receiver_count() == 0 {
            return;
        }
        let Some(version) = data_version(&self.conn) else {
            return;
        };
        let before = self.seen.replace(version);
        self.looks_in_vain = self.looks_in_vain.saturating_add(1);
        if before != Some(version) {
            self.looks_in_vain = 0;
            self.changes.send_modify(|seen| *seen += 1);
        }
    }
}

/// The number that moves when another connection commits. What stands in the way of asking is met again by the next
/// operation, which reports it.
fn data_version(conn: &Connection) -> Option<i64> {
    conn.prepare_cached("PRAGMA data_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_looked_for_often_while_something_goes_on_and_soon_enough_always() {
        assert_eq!(pace(0), LOOK_BUSY);
        assert!(pace(BUSY_LOOKS) > LOOK_BUSY);
        assert!(pace(u32::MAX) < Duration::from_millis(50));
    }

    #[test]
    fn what_others_commit_between_the_wish_to_know_and_the_first_look_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let (options, closing) = (SqliteOptions::default(), Closing::default());
        let open = || connection::writer(&path, &options, &closing).unwrap();
        let (conn, other) = (open(), open());
        let changes = watch::Sender::new(0);
        let mut scribe = Scribe::new(
            conn,
            path.clone(),
            options.clone(),
            Arc::default(),
            changes.clone(),
            closing.clone(),
        );
        // At first nobody has looked yet, and then not since the last one left.
        for table in ["first", "second"] {
            let waiting = changes.subscribe();
            other
                .execute_batch(&format!("CREATE TABLE {table} (number INTEGER)"))
                .unwrap();
            scribe.look_for_others();
            assert!(waiting.has_changed().unwrap(), "{table}");
            drop(waiting);
            scribe.look_for_others();
        }
        let waiting = changes.subscribe();
        scribe.look_for_others();
        assert!(!waiting.has_changed().unwrap(), "nobody has written");
    }
}
