//! Connections to the file, and how they wait for other processes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::classify;
use super::{SqliteOptions, Synchronous};
use crate::clock;
use crate::store::StoreError;

/// More statements than this engine has, so that each is compiled once.
const STATEMENTS_MAX: usize = 128;
/// Pages of the write-ahead log after which it is copied into the file, 16 MiB. `SQLite`'s own 1,000 makes a busy
/// writer copy the same hot pages four times as often.
const CHECKPOINT_PAGES: u32 = 4_000;
/// The log is cut back to this after a burst, 64 MiB.
const LOG_BYTES_MAX: u32 = 64 << 20;
/// Pages kept in memory per connection, as negative kibibytes: 16 MiB holds the hot part of a million jobs' indexes.
const CACHE_KIB: i32 = -16 * 1024;
/// The longest nap while another process writes. Naps are random up to this, so that waiting processes do not come in
/// step; a transaction of another process takes some 5 ms.
const NAP_MAX_MS: u64 = 8;

/// Tells waiting connections to give up, because the store is being closed.
pub(super) type Closing = Arc<AtomicBool>;

/// A connection that writes.
pub(super) fn writer(path: &Path, options: &SqliteOptions, closing: &Closing) -> Result<Connection, StoreError> {
    let conn = open(path, options, closing)?;
    set_synchronous(&conn, options.synchronous)?;
    set(&conn, "wal_autocheckpoint", &CHECKPOINT_PAGES)?;
    set(&conn, "journal_size_limit", &LOG_BYTES_MAX)?;
    Ok(conn)
}

/// Says what a commit has to survive; outside a transaction.
pub(super) fn set_synchronous(conn: &Connection, synchronous: Synchronous) -> Result<(), StoreError> {
    let word = match synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Normal => "NORMAL",
    };
    set(conn, "synchronous", &word)
}

/// Some settings answer with their new value, some do not; neither is of interest.
fn set(conn: &Connection, name: &str, value: &dyn rusqlite::ToSql) -> Result<(), StoreError> {
    let done = conn.pragma_update_and_check(None, name, value, |_| Ok(()));
    match done {
        Ok(()) | Err(rusqlite::Error::QueryReturnedNoRows) => Ok(()),
        Err(error) => Err(classify(&error)),
    }
}

/// A connection that only reads.
pub(super) fn reader(path: &Path, options: &SqliteOptions, closing: &Closing) -> Result<Connection, StoreError> {
    let conn = open(path, options, closing)?;
    conn.pragma_update(None, "query_only", true)
        .map_err(|error| classify(&error))?;
    Ok(conn)
}

fn open(path: &Path, options: &SqliteOptions, closing: &Closing) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags).map_err(|error| why_not_open(path, &error))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    let mut patience = Patience::new(options.busy_timeout_ms, closing.clone());
    conn.busy_handler(Some(move |tries| patience.nap(tries)))
        // Without it a statement is compiled anew whenever another value is bound to its LIMIT.
        .and_then(|()| conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true))
        .and_then(|_| conn.pragma_update(None, "cache_size", CACHE_KIB))
        .and_then(|()| conn.pragma_update(None, "temp_store", "MEMORY"))
        .map_err(|error| why_not_open(path, &error))?;
    Ok(conn)
}

/// What a connection that cannot be opened means. `SQLite` says the same of a missing folder and of one that may not
/// be written; a file beside it tells them apart. (The file itself must not be opened here: closing it would drop the
/// locks that this process may hold on it.)
pub(super) fn why_not_open(path: &Path, error: &rusqlite::Error) -> StoreError {
    let cannot_open = error.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen);
    if !cannot_open {
        return classify(error);
    }
    let message = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let beside = path.with_extension("probe");
    match std::fs::File::create(&beside) {
        Ok(_) => {
            // Whatever is left of the probe does no harm.
            let _ = std::fs::remove_file(&beside);
            StoreError::Unavailable {
                message: message(error),
            }
        }
        Err(why) => match why.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly { message: message(&why) }
            }
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::Full { message: message(&why) }
            }
            _ => StoreError::Unavailable { message: message(&why) },
        },
    }
}

/// How long a connection waits for another process to finish its write.
struct Patience {
    limit_ms: u64,
    waited_ms: u64,
    random: u64,
    closing: Closing,
}

impl Patience {
    fn new(limit_ms: u64, closing: Closing) -> Self {
        let random = u64::try_from(clock::entropy() >> 64).unwrap_or(0) | 1;
        Self {
            limit_ms,
            waited_ms: 0,
            random,
            closing,
        }
    }

    /// Sleeps a little and says whether to try again; `tries` counts from zero for each new wait.
    fn nap(&mut self, tries: i32) -> bool {
        if tries == 0 {
            self.waited_ms = 0;
        }
        if self.waited_ms >= self.limit_ms || self.closing.load(Ordering::Relaxed) {
            return false;
        }
        let nap_ms = 1 + self.next_random() % NAP_MAX_MS;
        std::thread::sleep(Duration::from_millis(nap_ms));
        self.waited_ms += nap_ms;
        true
    }

    /// Xorshift (Marsaglia, "Xorshift RNGs", 2003): any sequence will do that differs from process to process.
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_at_its_limit_and_begins_anew() {
        let mut patience = Patience::new(20, Closing::default());
        for _ in 0..2 {
            let naps = (0..i32::MAX).take_while(|tries| patience.nap(*tries)).count();
            assert!((3..=20).contains(&naps), "{naps} naps of 1 to {NAP_MAX_MS} ms");
        }
    }

    #[test]
    fn nobody_waits_for_a_store_that_is_closed() {
        let mut patience = Patience::new(60_000, Arc::new(AtomicBool::new(true)));
        assert!(!patience.nap(0));
    }
}
