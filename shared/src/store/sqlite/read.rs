//! Lists and logs, read from one consistent state.

use rusqlite::{Connection, Params, params};

use super::error::classify;
use super::job_row;
use super::query::{prepared, sql};
use super::run_row::RunCache;
use super::value::{column, document, from_limit, from_moment, to_moment};
use crate::batch::{FileRecord, JournalEntry, NewEvent};
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, JobState, Mail};
use crate::run::RunView;
use crate::store::{Due, EventRecord, JobQuery, Match, Page, RunQuery, StoreError, WorkerRecord};
use crate::time::Timestamp;

type Read<T> = Result<T, StoreError>;

/// Reads each row of a query.
fn each<T>(
    conn: &Connection,
    query: &'static str,
    params: impl Params,
    read: impl Fn(&rusqlite::Row<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let mut statement = prepared(conn, query).map_err(|error| classify(&error))?;
    let mut rows = statement.query(params).map_err(|error| classify(&error))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn job_ids(conn: &Connection, query: &'static str, params: impl Params) -> Read<Vec<JobId>> {
    each(conn, query, params, |row| column(row, 0).map(JobId::from_bytes))
}

fn records(conn: &Connection, ids: Vec<JobId>) -> Read<Vec<Job>> {
    let jobs = ids.into_iter().filter_map(|id| job_row::load(conn, id).transpose());
    jobs.collect()
}

/// The part of `found` that fits the page; one more than fit was asked for.
fn page<T>(mut found: Vec<T>, limit: usize) -> Page<T> {
    let more = found.len() > limit;
    found.truncate(limit);
    Page { items: found, more }
}

/// Jobs by query, through the index that leaves the least to filter.
pub(super) fn jobs(conn: &Connection, query: &JobQuery) -> Read<Page<Job>> {
    let limit = query.limit.max(1);
    let fetch = from_limit(limit.saturating_add(1));
    let after = query.after.map_or_else(Vec::new, |after| after.as_bytes().to_vec());
    let words: Vec<&str> = query.states.iter().map(|state| state.as_str()).collect();
    let states = (!words.is_empty()).then(|| words.join(","));
    let (run, parent) = (
        query.run.as_ref().map(RunId::as_bytes),
        query.parent.as_ref().map(JobId::as_bytes),
    );
    let name = &query.name;
    let mut ids = match (run, parent) {
        (_, Some(parent)) => {
            let params = params![parent, after, fetch, states, name, run];
            job_ids(conn, sql!("job_ids_of_parent"), params)?
        }
        (Some(run), None) if name.is_some() => {
            let params = params![run, after, fetch, states, name];
            job_ids(conn, sql!("job_ids_by_name"), params)?
        }
        (Some(run), None) => job_ids(conn, sql!("job_ids_of_run"), params![run, after, fetch, states])?,
        (None, None) if words.is_empty() => job_ids(conn, sql!("job_ids"), params![after, fetch, name])?,
        (None, None) => {
            let mut ids = Vec::new();
            for word in words {
                ids.extend(job_ids(
                    conn,
                    sql!("job_ids_by_state"),
                    params![word, after, fetch, name],
                )?);
            }
            ids
        }
    };
    ids.sort_unstable();
    ids.dedup();
    let Page { items, more } = page(ids, limit);
    Ok(Page {
        items: records(conn, items)?,
        more,
    })
}

/// Runs by query.
pub(super) fn runs(conn: &Connection, cache: &RunCache, query: &RunQuery) -> Read<Page<RunView>> {
    let limit = query.limit.max(1);
    // Longer than an id and of the highest bytes: after all of them.
    let before = query
        .before
        .map_or_else(|| vec![u8::MAX; 17], |before| before.as_bytes().to_vec());
    let fetch = from_limit(limit.saturating_add(1));
    let id = |row: &rusqlite::Row<'_>| column(row, 0).map(RunId::from_bytes);
    let ids = match &query.tenant {
        Some(tenant) => each(conn, sql!("run_ids"), params![tenant, before, fetch], id)?,
        None => each(conn, sql!("run_ids_of_all"), params![before, fetch], id)?,
    };
    let Page { items, more } = page(ids, limit);
    let views = items.into_iter().filter_map(|id| cache.view(conn, id).transpose());
    Ok(Page {
        items: views.collect::<Read<_>>()?,
        more,
    })
}

/// A part of a job's journal.
pub(super) fn journal(conn: &Connection, job: JobId, from: u32, limit: usize) -> Read<Vec<JournalEntry>> {
    let params = params![job.as_bytes(), from, from_limit(limit)];
    each(conn, sql!("journal"), params, |row| {
        Ok(JournalEntry {
            job,
            seq: column(row, 0)?,
            attempt: column(row, 1)?,
            at: to_moment(column(row, 2)?),
            entry: document(row, 3, "a journal entry")?,
        })
    })
}

/// A job's mailbox.
pub(super) fn mail(conn: &Connection, job: JobId) -> Read<Vec<Mail>> {
    each(conn, sql!("mail"), [job.as_bytes()], |row| {
        document(row, 0, "an update")
    })
}

/// A part of a run's log.
pub(super) fn events(conn: &Connection, run: RunId, after: u64, limit: usize) -> Read<Vec<EventRecord>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let params = params![run.as_bytes(), after, from_limit(limit)];
    each(conn, sql!("events"), params, |row| event(run, row))
}

/// The newest event of a run.
pub(super) fn last_event(conn: &Connection, run: RunId) -> Read<Option<EventRecord>> {
    let found = each(conn, sql!("event_newest"), [run.as_bytes()], |row| event(run, row))?;
    Ok(found.into_iter().next())
}

fn event(run: RunId, row: &rusqlite::Row<'_>) -> Read<EventRecord> {
    let event = NewEvent {
        run,
        job: column::<Option<[u8; 16]>>(row, 2)?.map(JobId::from_bytes),
        kind: document(row, 3, "an event")?,
    };
    Ok(EventRecord {
        seq: column::<i64>(row, 0)?.cast_unsigned(),
        at: to_moment(column(row, 1)?),
        event,
    })
}

/// A published file.
pub(super) fn file(conn: &Connection, run: RunId, path: &str) -> Read<Option<FileRecord>> {
    let params = params![run.as_bytes(), path];
    let found = each(conn, sql!("file"), params, |row| document(row, 0, "a file"))?;
    Ok(found.into_iter().next())
}

/// A run's published files whose path begins with `prefix`.
pub(super) fn files(conn: &Connection, run: RunId, prefix: &str) -> Read<Vec<FileRecord>> {
    let mut statement = prepared(conn, sql!("files")).map_err(|error| classify(&error))?;
    let mut rows = statement
        .query(params![run.as_bytes(), prefix])
        .map_err(|error| classify(&error))?;
    let mut files = Vec::new();
    while let Some(row) = rows.next().map_err(|error| classify(&error))? {
        // In the order of their bytes, paths with the prefix stand together, from the prefix on.
        if !column::<String>(row, 0)?.starts_with(prefix) {
            break;
        }
        files.push(document(row, 1, "a file")?);
    }
    Ok(files)
}

/// The runs and jobs whose id begins with `prefix`.
pub(super) fn resolve(conn: &Connection, prefix: &str, limit: usize) -> Read<Match> {
    let limit = from_limit(limit);
    let mut found = Match::default();
    if let Some((low, high)) = RunId::range_of(prefix) {
        let params = params![low.as_bytes(), high.as_bytes(), limit];
        found.runs = each(conn, sql!("run_ids_between"), params, |row| {
            column(row, 0).map(RunId::from_bytes)
        })?;
    }
    if let Some((low, high)) = JobId::range_of(prefix) {
        found.jobs = job_ids(
            conn,
            sql!("job_ids_between"),
            params![low.as_bytes(), high.as_bytes(), limit],
        )?;
    }
    Ok(found)
}

/// What maintenance has to look at.
pub(super) fn due(conn: &Connection, now: Timestamp, limit: usize) -> Read<Due> {
    let mut due = Due::default();
    let lists = [
        (JobState::Scheduled, &mut due.scheduled),
        (JobState::Running, &mut due.expired),
        (JobState::Queued, &mut due.overdue),
    ];
    for (state, list) in lists {
        let word = state.as_str();
        let params = params![word, from_moment(now), from_limit(limit.saturating_add(1))];
        let Page { items, more } = page(job_ids(conn, sql!("job_ids_due"), params)?, limit);
        *list = records(conn, items)?;
        let upcoming = each(conn, sql!("due_next"), params![word, from_moment(now)], |row| {
            column(row, 0).map(to_moment)
        })?;
        let left = more.then_some(now);
        due.next = due.next.into_iter().chain(upcoming).chain(left).min();
    }
    let waiting = job_ids(conn, sql!("cascades"), [from_limit(limit.saturating_add(1))])?;
    let Page { items, more } = page(waiting, limit);
    due.cascades = items;
    due.next = due.next.into_iter().chain(more.then_some(now)).min();
    Ok(due)
}

/// The running jobs of a worker.
pub(super) fn held(conn: &Connection, worker: WorkerId) -> Read<Vec<Job>> {
    records(conn, job_ids(conn, sql!("job_ids_held"), [worker.as_bytes()])?)
}

/// All workers on record.
pub(super) fn workers(conn: &Connection) -> Read<Vec<WorkerRecord>> {
    each(conn, sql!("workers"), [], |row| document(row, 0, "a worker"))
}

/// What is damaged, in words.
pub(super) fn problems(conn: &Connection, limit: u32) -> Read<Vec<String>> {
    let found: Vec<String> = each(conn, sql!("quick_check"), [limit], |row| column(row, 0))?;
    Ok(found.into_iter().filter(|problem| problem != "ok").collect())
}
