//! What maintenance asks of the file: who leads it, and the deletion of what has ended.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::{Fault, classify, conflict};
use super::query::{prepared, sql};
use super::run_row;
use super::value::{from_moment, to_moment};
use super::writer::Tx;
use crate::budget::Counter;
use crate::id::{RunId, WorkerId};
use crate::store::{Lead, StoreError};
use crate::time::Timestamp;

/// The most pages that one deletion gives back to the file system, 8 MiB: each is moved by hand, and others wait.
const PAGES_FREED_MAX: u32 = 2_000;

/// Who leads, or led last.
fn recorded(conn: &Connection) -> rusqlite::Result<Option<Lead>> {
    prepared(conn, sql!("lead"))?
        .query_row([], |row| {
            Ok(Lead {
                holder: WorkerId::from_bytes(row.get(0)?),
                until: to_moment(row.get(1)?),
            })
        })
        .optional()
}

/// Asks for the lead.
pub(super) fn lead(conn: &Connection, who: WorkerId, until: Timestamp, now: Timestamp) -> Result<Lead, Fault> {
    let before = recorded(conn)?;
    let lead = Lead::after(before, who, until, now);
    if before != Some(lead) {
        prepared(conn, sql!("lead_set"))?.execute(params![lead.holder.as_bytes(), from_moment(lead.until)])?;
    }
    Ok(lead)
}

/// Who leads now.
pub(super) fn leader(conn: &Connection, now: Timestamp) -> Result<Option<Lead>, StoreError> {
    let lead = recorded(conn).map_err(|error| classify(&error))?;
    Ok(lead.filter(|lead| lead.until > now))
}

/// Deletes an ended run whose newest event has the number `last`.
pub(super) fn prune(tx: &mut Tx<'_>, run: RunId, last: u64) -> Result<(), Fault> {
    let conn = tx.conn;
    if run_row::version(conn, run)? == 0 {
        return Ok(());
    }
    let newest: i64 = prepared(conn, sql!("event_last"))?.query_row([run.as_bytes()], |row| row.get(0))?;
    let open = run_row::counters(conn, run)?[Counter::Open as usize];
    if open > 0 || newest.cast_unsigned() != last {
        return Err(Fault::Refused(conflict(run)));
    }
    // The jobs after all that is found by them, and the run after all.
    let statements = [
        sql!("prune_journals"),
        sql!("prune_mail"),
        sql!("prune_edges"),
        sql!("prune_cascades"),
        sql!("prune_specs"),
        sql!("prune_jobs"),
        sql!("prune_events"),
        sql!("prune_files"),
        sql!("prune_keys"),
        sql!("prune_pause"),
        sql!("prune_run"),
    ];
    for statement in statements {
        prepared(conn, statement)?.execute([run.as_bytes()])?;
    }
    // One page a row. A file that was made by an older version keeps its free pages for what comes next.
    conn.pragma(None, "incremental_vacuum", PAGES_FREED_MAX, |_| Ok(()))?;
    tx.changed = true;
    Ok(())
}
