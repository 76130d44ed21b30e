//! Queues and runs that are held back. The queued jobs of a paused run are put aside: at once, and those that are queued
//! later by the first claim that meets them. So no claim walks over them twice.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::commit::Log;
use super::error::{Fault, classify};
use super::prepared::EventRow;
use super::query::{prepared, sql};
use super::run_row;
use super::value::{column, document, encode};
use super::writer::Tx;
use crate::id::RunId;
use crate::job::EventKind;
use crate::run::{Pausable, Pause};
use crate::store::StoreError;
use crate::time::Timestamp;

/// All pauses.
pub(super) fn pauses(conn: &Connection) -> Result<Vec<Pause>, StoreError> {
    let mut statement = prepared(conn, sql!("pauses")).map_err(|error| classify(&error))?;
    let mut rows = statement.query([]).map_err(|error| classify(&error))?;
    let mut found: Vec<Pause> = Vec::new();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        found.push(document(row, 2, "a pause")?);
    }
    found.sort_unstable_by(|one, other| one.of.cmp(&other.of));
    Ok(found)
}

/// What is held back, as a claim looks at it. Mostly nothing, which costs one look at an empty table.
#[derive(Default)]
pub(super) struct HeldBack {
    queues: BTreeSet<String>,
    runs: BTreeSet<RunId>,
}

impl HeldBack {
    /// As of the transaction.
    pub fn load(conn: &Connection) -> Result<Self, StoreError> {
        let mut held = Self::default();
        let mut statement = prepared(conn, sql!("pauses")).map_err(|error| classify(&error))?;
        let mut rows = statement.query([]).map_err(|error| classify(&error))?;
        while let Some(row) = rows.next().map_err(|error| classify(&error))? {
            held.queues.extend(column::<Option<String>>(row, 0)?);
            held.runs
                .extend(column::<Option<[u8; 16]>>(row, 1)?.map(RunId::from_bytes));
        }
        Ok(held)
    }

    /// Whether a queue is.
    pub fn has_queue(&self, queue: &str) -> bool {
        self.queues.contains(queue)
    }

    /// Whether a run is.
    pub fn has_run(&self, run: RunId) -> bool {
        self.runs.contains(&run)
    }
}

/// Puts the queued jobs of a paused run aside.
pub(super) fn put_aside(conn: &Connection, run: RunId) -> rusqlite::Result<usize> {
    prepared(conn, sql!("jobs_put_aside"))?.execute([run.as_bytes()])
}

fn names(of: &Pausable) -> (Option<&str>, Option<&[u8; 16]>) {
    match of {
        Pausable::Queue(queue) => (Some(queue), None),
        Pausable::Run(run) => (None, Some(run.as_bytes())),
    }
}

/// Pauses a queue or a run.
pub(super) fn pause(tx: &mut Tx<'_>, pause: &Pause) -> Result<bool, Fault> {
    let conn = tx.conn;
    let run = match &pause.of {
        Pausable::Run(run) if run_row::version(conn, *run)? == 0 => return Ok(false),
        Pausable::Run(run) => Some(*run),
        Pausable::Queue(_) => None,
    };
    let (queue, id) = names(&pause.of);
    let doc = encode(pause, "a pause")?;
    if prepared(conn, sql!("pause_insert"))?.execute(params![queue, id, doc])? == 0 {
        return Ok(false);
    }
    if let Some(run) = run {
        put_aside(conn, run)?;
        let kind = EventKind::Paused { by: pause.by.clone() };
        Log::default().append(conn, &EventRow::of(run, None, &kind)?, pause.at)?;
    }
    tx.changed = true;
    Ok(true)
}

/// Ends a pause.
pub(super) fn resume(tx: &mut Tx<'_>, of: &Pausable, by: &str, now: Timestamp) -> Result<bool, Fault> {
    let conn = tx.conn;
    let (queue, id) = names(of);
    if prepared(conn, sql!("pause_delete"))?.execute(params![queue, id])? == 0 {
        return Ok(false);
    }
    if let Pausable::Run(run) = of {
        prepared(conn, sql!("jobs_put_back"))?.execute([run.as_bytes()])?;
        let kind = EventKind::Resumed { by: by.to_owned() };
        Log::default().append(conn, &EventRow::of(*run, None, &kind)?, now)?;
    }
    tx.changed = true;
    Ok(true)
}
