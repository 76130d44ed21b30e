//! A batch, checked and written inside the writer's transaction.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::edge_row::{self, mark};
use super::error::{Fault, conflict};
use super::job_row::{self, JobRow};
use super::prepared::{EventRow, Prepared};
use super::query::{prepared, sql};
use super::run_row::{self, Counters};
use super::turn_book::TurnBook;
use super::value::from_moment;
use super::writer::Tx;
use crate::batch::KeyClaim;
use crate::id::{JobId, RunId};
use crate::job::{self, Command, Job, JobState, Transition};
use crate::store::{Commit, StoreError};
use crate::time::Timestamp;

/// Writes a batch, or refuses it before the first write.
pub(super) fn commit(tx: &mut Tx<'_>, batch: &Prepared) -> Result<Commit, Fault> {
    if let Some(wanted) = &batch.key
        && let Some(known) = key(tx.conn, &wanted.tenant, &wanted.key)?
    {
        return if known.fingerprint == wanted.fingerprint {
            Ok(Commit::Replayed(known))
        } else {
            Err(Fault::Refused(StoreError::KeyConflict {
                key: wanted.key.clone(),
            }))
        };
    }
    check_versions(tx.conn, batch)?;
    check_journal(tx.conn, batch)?;
    let counters = charge(tx.conn, batch)?;
    tx.changed = true;
    write_runs(tx.conn, batch, counters)?;
    let mut turns = TurnBook::default();
    write_jobs(tx.conn, batch, &mut turns)?;
    write_graph(tx.conn, batch)?;
    write_attachments(tx.conn, batch)?;
    let mut log = Log::of_new(new_runs(batch));
    for event in &batch.events {
        log.append(tx.conn, event, batch.at)?;
    }
    release(tx.conn, batch, &mut log, &mut turns)?;
    turns.write(tx.conn)?;
    Ok(Commit::Done)
}

/// What a key stands for.
pub(super) fn key(conn: &Connection, tenant: &str, key: &str) -> rusqlite::Result<Option<KeyClaim>> {
    let mut statement = prepared(conn, sql!("key"))?;
    let mut rows = statement.query([tenant, key])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(KeyClaim {
        tenant: tenant.to_owned(),
        key: key.to_owned(),
        fingerprint: row.get(0)?,
        run: RunId::from_bytes(row.get(1)?),
        job: row.get::<_, Option<[u8; 16]>>(2)?.map(JobId::from_bytes),
    }))
}

fn refuse(what: impl std::fmt::Display) -> Fault {
    Fault::Refused(conflict(what))
}

fn check_versions(conn: &Connection, batch: &Prepared) -> Result<(), Fault> {
    for run in &batch.runs {
        if run.version != run_row::version(conn, run.id)? + 1 {
            return Err(refuse(run.id));
        }
    }
    for job in &batch.insert {
        if job_row::version(conn, job.row.id)? != 0 {
            return Err(refuse(job.row.id));
        }
    }
    for row in &batch.put {
        if row.version < 2 || row.version != job_row::version(conn, row.id)? + 1 {
            return Err(refuse(row.id));
        }
    }
    for (id, expected) in &batch.touch {
        if *expected == 0 || *expected != job_row::version(conn, *id)? {
            return Err(refuse(id));
        }
    }
    Ok(())
}

fn check_journal(conn: &Connection, batch: &Prepared) -> Result<(), Fault> {
    let mut lengths: BTreeMap<JobId, u32> = BTreeMap::new();
    for entry in &batch.journal {
        let length = match lengths.entry(entry.job) {
            std::collections::btree_map::Entry::Occupied(length) => length.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let stored =
                    prepared(conn, sql!("journal_length"))?.query_row([entry.job.as_bytes()], |row| row.get(0))?;
                place.insert(stored)
            }
        };
        if entry.seq != *length {
            return Err(refuse(format_args!("the journal of {}", entry.job)));
        }
        *length += 1;
    }
    Ok(())
}

/// The runs that are not on record yet: their counters are zero and their logs empty.
fn new_runs(batch: &Prepared) -> impl Iterator<Item = RunId> {
    batch.runs.iter().filter(|run| run.is_new()).map(|run| run.id)
}

/// The counters as they stand after the batch's charges, in their order.
fn charge(conn: &Connection, batch: &Prepared) -> Result<BTreeMap<RunId, Counters>, Fault> {
    let mut counters: BTreeMap<RunId, Counters> = new_runs(batch).map(|run| (run, Counters::default())).collect();
    for row in &batch.charges {
        let of_run = match counters.entry(row.run) {
            std::collections::btree_map::Entry::Occupied(of_run) => of_run.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => place.insert(run_row::counters(conn, row.run)?),
        };
        let value = &mut of_run[row.charge.counter as usize];
        let used = *value;
        *value = value.saturating_add_signed(row.charge.add);
        if let Some(bound) = row.bound
            && row.charge.must_fit
            && row.charge.add > 0
            && *value > bound
        {
            return Err(Fault::Refused(StoreError::Exhausted {
                counter: row.charge.counter,
                bound,
                used,
                wanted: row.charge.add.unsigned_abs(),
            }));
        }
    }
    Ok(counters)
}

fn write_runs(conn: &Connection, batch: &Prepared, mut counters: BTreeMap<RunId, Counters>) -> rusqlite::Result<()> {
    if let Some(claim) = &batch.key {
        prepared(conn, sql!("key_insert"))?.execute(params![
            claim.tenant,
            claim.key,
            claim.fingerprint,
            claim.run.as_bytes(),
            claim.job.as_ref().map(JobId::as_bytes)
        ])?;
    }
    for run in &batch.runs {
        if run.is_new() {
            run.insert(conn, &counters.remove(&run.id).unwrap_or_default())?;
        } else {
            run.update(conn)?;
        }
    }
    for (run, counters) in &counters {
        run_row::set_counters(conn, *run, counters)?;
    }
    Ok(())
}

fn write_jobs(conn: &Connection, batch: &Prepared, turns: &mut TurnBook) -> rusqlite::Result<()> {
    for job in &batch.insert {
        job.insert(conn, turns)?;
    }
    for row in &batch.put {
        row.update(conn, turns)?;
    }
    for (id, _) in &batch.touch {
        prepared(conn, sql!("job_touch"))?.execute([id.as_bytes()])?;
    }
    Ok(())
}

fn write_graph(conn: &Connection, batch: &Prepared) -> rusqlite::Result<()> {
    for (edge, unmet) in &batch.edges {
        edge_row::insert(conn, edge, *unmet)?;
    }
    for edge in &batch.reopen {
        mark(conn, edge, true)?;
    }
    for edge in &batch.countdown {
        mark(conn, edge, false)?;
    }
    for id in &batch.cascade {
        prepared(conn, sql!("cascade_insert"))?.execute([id.as_bytes()])?;
    }
    for id in &batch.cascaded {
        prepared(conn, sql!("cascade_delete"))?.execute([id.as_bytes()])?;
    }
    Ok(())
}

/// What hangs on runs and jobs: journals, mailboxes, files.
fn write_attachments(conn: &Connection, batch: &Prepared) -> rusqlite::Result<()> {
    for entry in &batch.journal {
        prepared(conn, sql!("journal_insert"))?.execute(params![
            entry.job.as_bytes(),
            entry.seq,
            entry.attempt,
            from_moment(entry.at),
            entry.doc
        ])?;
    }
    for (job, id, doc) in &batch.mail {
        prepared(conn, sql!("mail_insert"))?.execute(params![job.as_bytes(), id.as_bytes(), doc])?;
    }
    for (job, id) in &batch.mail_applied {
        prepared(conn, sql!("mail_delete"))?.execute([job.as_bytes(), id.as_bytes()])?;
    }
    for (run, path, doc) in &batch.files {
        prepared(conn, sql!("file_put"))?.execute(params![run.as_bytes(), path, doc])?;
    }
    Ok(())
}

/// The ends of the logs that an operation appends to.
#[derive(Default)]
pub(super) struct Log(BTreeMap<RunId, i64>);

impl Log {
    /// The logs of runs that have none yet.
    fn of_new(runs: impl Iterator<Item = RunId>) -> Self {
        Self(runs.map(|run| (run, 0)).collect())
    }

    /// Appends an event under the next number of its run.
    pub fn append(&mut self, conn: &Connection, event: &EventRow, at: Timestamp) -> rusqlite::Result<()> {
        let last = match self.0.entry(event.run) {
            std::collections::btree_map::Entry::Occupied(last) => last.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let stored = prepared(conn, sql!("event_last"))?.query_row([event.run.as_bytes()], |row| row.get(0))?;
                place.insert(stored)
            }
        };
        *last += 1;
        prepared(conn, sql!("event_insert"))?.execute(params![
            event.run.as_bytes(),
            *last,
            from_moment(at),
            event.job.as_ref().map(JobId::as_bytes),
            event.doc
        ])?;
        Ok(())
    }
}

/// Writes a transition that the engine itself has asked for, and its events.
pub(super) fn write_transition(
    conn: &Connection,
    transition: &Transition,
    log: &mut Log,
    turns: &mut TurnBook,
    at: Timestamp,
) -> Result<(), Fault> {
    let Job { id, run, .. } = transition.job;
    JobRow::of(&transition.job)?.update(conn, turns)?;
    for kind in &transition.events {
        log.append(conn, &EventRow::of(run, Some(id), kind)?, at)?;
    }
    Ok(())
}

/// Releases the blocked jobs that wait for nobody any more.
fn release(conn: &Connection, batch: &Prepared, log: &mut Log, turns: &mut TurnBook) -> Result<(), Fault> {
    let inserted = batch.insert.iter().map(|job| &job.row);
    let mut candidates: BTreeSet<JobId> = inserted
        .chain(&batch.put)
        .filter(|row| row.state == JobState::Blocked)
        .map(|row| row.id)
        .collect();
    candidates.extend(batch.edges.iter().map(|(edge, _)| edge.child));
    candidates.extend(batch.countdown.iter().map(|edge| edge.child));
    for id in candidates {
        if job_row::state(conn, id)? != Some(JobState::Blocked) || edge_row::is_unmet(conn, id)? {
            continue;
        }
        let Some(job) = job_row::load(conn, id)? else {
            continue;
        };
        if let Ok(transition) = job::apply(&job, &Command::Release, batch.at) {
            write_transition(conn, &transition, log, turns, batch.at)?;
        }
    }
    Ok(())
}
