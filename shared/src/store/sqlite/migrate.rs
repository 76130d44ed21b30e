//! The format of the file, brought up to date when it is opened.

use std::path::Path;

use rusqlite::Connection;

use super::connection::why_not_open;
use super::error::{classify, corrupt};
use super::query::sql;
use crate::store::StoreError;

/// The formats in order; the file's `user_version` counts those it has been through.
const MIGRATIONS: &[&str] = &[
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/V1__runs_and_jobs.sql")),
    include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/migrations/V2__retention_and_lead.sql"
    )),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/V3__pauses.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/V4__turns.sql")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/V5__schedules.sql")),
];
/// Marks the file as ours: `LGWK` in ASCII.
const APPLICATION_ID: u32 = 0x4c47_574b;
/// Switching a new file to its log needs it alone for a moment, and `SQLite` does not wait for that by itself.
const SWITCH_TRIES: u32 = 1_000;

/// The newest format that this version knows.
pub(super) fn newest() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Brings the file to the newest format.
///
/// Each step is one transaction, so a process that is killed here leaves the format before or after it; of two
/// processes that come at the same time, the second finds the work done. A file of the newest format is only read: who
/// wants to look at it does not wait for those who write.
pub(super) fn migrate(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let explain = |error: rusqlite::Error| why_not_open(path, &error);
    // In one read transaction: another process may be making the tables between two reads.
    let reading = conn.unchecked_transaction().map_err(explain)?;
    let found = check_identity(&reading, path)?;
    reading.finish().map_err(explain)?;
    if found == 0 {
        // Only a file that is still empty takes this: what is deleted later can then be given back piece by piece.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")
            .map_err(explain)?;
    }
    switch_to_log(conn).map_err(explain)?;
    if found == newest() {
        return check_writable(conn, path);
    }
    conn.execute_batch("BEGIN IMMEDIATE").map_err(explain)?;
    let done = migrate_in_transaction(conn, path);
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    conn.execute_batch(end).map_err(|error| classify(&error)).and(done)
}

fn migrate_in_transaction(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    // Asked again now that nobody else can write.
    let found = check_identity(conn, path)?;
    check_writable(conn, path)?;
    for (step, script) in (1_u32..)
        .zip(MIGRATIONS)
        .skip(usize::try_from(found).unwrap_or(usize::MAX))
    {
        conn.execute_batch(script)
            .and_then(|()| conn.pragma_update(None, "user_version", step))
            .and_then(|()| conn.pragma_update(None, "application_id", APPLICATION_ID))
            .map_err(|error| classify(&error))?;
    }
    Ok(())
}

/// `SQLite` opens a file that may not be written without a word, to complain at the first write.
fn check_writable(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    if conn.is_readonly("main").map_err(|error| classify(&error))? {
        let message = format!("{} may not be written", path.display());
        return Err(StoreError::ReadOnly { message });
    }
    Ok(())
}

/// The format of the file, if it is ours and not too new.
fn check_identity(conn: &Connection, path: &Path) -> Result<u32, StoreError> {
    let number = |name: &str| {
        conn.pragma_query_value(None, name, |row| row.get::<_, u32>(0))
            .map_err(|error| why_not_open(path, &error))
    };
    let (found, owner) = (number("user_version")?, number("application_id")?);
    let tables: u32 = conn
        .query_row(sql!("tables"), [], |row| row.get(0))
        .map_err(|error| why_not_open(path, &error))?;
    let is_new = found == 0 && owner == 0 && tables == 0;
    if owner != APPLICATION_ID && !is_new {
        return Err(corrupt(path.display(), "it is a database of another program"));
    }
    if found > newest() {
        return Err(StoreError::Newer { found, known: newest() });
    }
    Ok(found)
}

fn switch_to_log(conn: &Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        let switched = conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match switched {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) && tries < SWITCH_TRIES =>
            {
                tries += 1;
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            other => return other,
        }
    }
}
