//! The record of a job as a row: what queries look at in columns, the rest as a document.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::{classify, corrupt};
use super::query::{prepared, sql};
use super::turn_book::TurnBook;
use super::value::{column, document, encode, from_moment, to_moment};
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, JobSpec, JobState, Lease, LeaseToken, Phase};
use crate::store::StoreError;
use crate::store::document::{Head, Rest};
use crate::time::Timestamp;

/// The word of the state in which a job has a turn.
const QUEUED: &str = "queued";

/// What may change about a job, ready to be written.
pub(super) struct JobRow {
    pub id: JobId,
    pub run: RunId,
    pub version: u64,
    pub state: JobState,
    since: i64,
    wake_at: Option<i64>,
    attempt: u32,
    worker: Option<[u8; 16]>,
    secret: Option<i64>,
    cancelling: bool,
    mail_sent: u32,
    mail_applied: u32,
    rest: String,
    /// What never changes: the queue and the priority are of interest.
    pub spec: Arc<JobSpec>,
}

/// A job that is not on record yet.
pub(super) struct NewJob {
    pub row: JobRow,
    spec_doc: String,
}

impl JobRow {
    /// The row of `job`.
    pub fn of(job: &Job) -> Result<Self, StoreError> {
        let mut rest = Rest::of(job);
        let Job { phase, spec, .. } = job;
        let mut row = Self {
            id: job.id,
            run: job.run,
            version: job.version,
            state: phase.state(),
            since: from_moment(phase.since()),
            wake_at: None,
            attempt: job.attempt,
            worker: None,
            secret: None,
            cancelling: job.cancel.is_some(),
            mail_sent: job.mail_sent,
            mail_applied: job.mail_applied,
            rest: String::new(),
            spec: spec.clone(),
        };
        row.place(phase, spec, &mut rest);
        row.rest = encode(&rest, "a job")?;
        Ok(row)
    }

    /// Spreads a phase over the columns and the rest.
    fn place(&mut self, phase: &Phase, spec: &JobSpec, rest: &mut Rest<'_>) {
        match phase {
            Phase::Blocked { on, since: _ } => rest.on = Some(*on),
            Phase::Scheduled { due, reason, since: _ } => {
                self.wake_at = Some(from_moment(*due));
                rest.delay = Some(*reason);
            }
            Phase::Queued { since } => {
                // The queue time-out ends with the first attempt.
                let limit_ms = spec.limits.queue_timeout_ms.filter(|_| self.attempt == 0);
                self.wake_at = limit_ms.map(|limit_ms| from_moment(*since + limit_ms));
            }
            Phase::Running { lease } => {
                self.wake_at = Some(from_moment(lease.until));
                self.worker = Some(*lease.worker.as_bytes());
                self.secret = Some(lease.token.secret.cast_signed());
            }
            Phase::Ended { .. } => {}
        }
    }

    /// Replaces the row of a job that is on record, and takes a turn for it if it has come into its queue.
    pub fn update(&self, conn: &Connection, turns: &mut TurnBook) -> rusqlite::Result<()> {
        let is_new_there = self.state == JobState::Queued && state_word(conn, self.id)?.as_deref() != Some(QUEUED);
        let turn = is_new_there.then(|| self.take_turn(conn, turns)).transpose()?;
        prepared(conn, sql!("job_update"))?.execute(params![
            self.id.as_bytes(),
            self.version.cast_signed(),
            self.state.as_str(),
            self.since,
            self.wake_at,
            self.attempt,
            self.worker,
            self.secret,
            self.cancelling,
            self.mail_sent,
            self.mail_applied,
            self.rest,
            turn,
        ])?;
        Ok(())
    }

    fn take_turn(&self, conn: &Connection, turns: &mut TurnBook) -> rusqlite::Result<i64> {
        let turn = turns.take(conn, &self.spec.queue, self.spec.priority, self.run)?;
        Ok(turn.cast_signed())
    }
}

impl NewJob {
    /// The rows of `job`.
    pub fn of(job: &Job) -> Result<Self, StoreError> {
        Ok(Self {
            row: JobRow::of(job)?,
            spec_doc: encode(&*job.spec, "the specification of a job")?,
        })
    }

    /// Inserts the rows.
    pub fn insert(&self, conn: &Connection, turns: &mut TurnBook) -> rusqlite::Result<()> {
        let Self { row, spec_doc } = self;
        let spec = &row.spec;
        let turn = match row.state {
            JobState::Queued => row.take_turn(conn, turns)?,
            _ => 0,
        };
        prepared(conn, sql!("job_insert"))?.execute(params![
            row.id.as_bytes(),
            row.run.as_bytes(),
            row.version.cast_signed(),
            row.state.as_str(),
            row.since,
            row.wake_at,
            row.attempt,
            row.worker,
            row.secret,
            row.cancelling,
            row.mail_sent,
            row.mail_applied,
            row.rest,
            spec.queue,
            spec.priority,
            spec.parent.as_ref().map(JobId::as_bytes),
            spec.name,
            turn,
        ])?;
        prepared(conn, sql!("job_spec_insert"))?.execute(params![row.id.as_bytes(), spec_doc])?;
        Ok(())
    }
}

/// The record of a job.
pub(super) fn load(conn: &Connection, id: JobId) -> Result<Option<Job>, StoreError> {
    let mut statement = prepared(conn, sql!("job")).map_err(|error| classify(&error))?;
    let mut rows = statement.query([id.as_bytes()]).map_err(|error| classify(&error))?;
    match rows.next().map_err(|error| classify(&error))? {
        Some(row) => read(row).map(Some),
        None => Ok(None),
    }
}

/// The version of a job; zero if there is none.
pub(super) fn version(conn: &Connection, id: JobId) -> rusqlite::Result<u64> {
    let version: Option<i64> = prepared(conn, sql!("job_version"))?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(version.map_or(0, i64::cast_unsigned))
}

fn state_word(conn: &Connection, id: JobId) -> rusqlite::Result<Option<String>> {
    prepared(conn, sql!("job_state"))?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()
}

/// Where a job stands, if there is one.
pub(super) fn state(conn: &Connection, id: JobId) -> Result<Option<JobState>, StoreError> {
    let word = state_word(conn, id).map_err(|error| classify(&error))?;
    word.map(|word| parse_state(&word)).transpose()
}

fn parse_state(word: &str) -> Result<JobState, StoreError> {
    JobState::parse(word).ok_or_else(|| corrupt("the state of a job", word))
}

/// The job of a row of the query `job`.
fn read(row: &Row<'_>) -> Result<Job, StoreError> {
    let id = JobId::from_bytes(column(row, 0)?);
    let state: String = column(row, 3)?;
    let attempt: u32 = column(row, 6)?;
    let mut rest: Rest<'static> = document(row, 11, "a job")?;
    let places = Places {
        since: to_moment(column(row, 4)?),
        wake_at: column::<Option<i64>>(row, 5)?.map(to_moment),
        worker: column::<Option<[u8; 16]>>(row, 7)?.map(WorkerId::from_bytes),
        secret: column::<Option<i64>>(row, 8)?.map(i64::cast_unsigned),
    };
    let phase = places
        .phase(parse_state(&state)?, id, attempt, &mut rest)
        .ok_or_else(|| corrupt(id, format!("it is {state}, and what belongs to that is missing")))?;
    Ok(rest.into_job(Head {
        id,
        run: RunId::from_bytes(column(row, 1)?),
        version: column::<i64>(row, 2)?.cast_unsigned(),
        spec: Arc::new(document(row, 12, "the specification of a job")?),
        phase,
        attempt,
        mail_sent: column(row, 9)?,
        mail_applied: column(row, 10)?,
    }))
}

/// The columns that make up a phase.
struct Places {
    since: Timestamp,
    wake_at: Option<Timestamp>,
    worker: Option<WorkerId>,
    secret: Option<u64>,
}

impl Places {
    fn phase(self, state: JobState, job: JobId, attempt: u32, rest: &mut Rest<'static>) -> Option<Phase> {
        let since = self.since;
        Some(match state {
            JobState::Blocked => Phase::Blocked { on: rest.on?, since },
            JobState::Scheduled => Phase::Scheduled {
                due: self.wake_at?,
                reason: rest.delay?,
                since,
            },
            JobState::Queued => Phase::Queued { since },
            JobState::Running => {
                let token = LeaseToken {
                    job,
                    attempt,
                    secret: self.secret?,
                };
                let lease = Lease {
                    token,
                    worker: self.worker?,
                    since,
                    until: self.wake_at?,
                };
                Phase::Running { lease }
            }
            JobState::Succeeded | JobState::Failed | JobState::Cancelled | JobState::Skipped => Phase::Ended {
                outcome: rest.outcome.take()?.into_owned(),
                at: since,
            },
        })
    }
}
