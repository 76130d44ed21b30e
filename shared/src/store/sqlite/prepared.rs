//! A batch in the form in which it is written. Made by the caller, so that the writer has less to do.

use super::job_row::{JobRow, NewJob};
use super::run_row::RunRow;
use super::value::encode;
use crate::batch::{Batch, KeyClaim, NewEvent, RunCharge};
use crate::dag::Edge;
use crate::id::{JobId, RunId, UpdateId};
use crate::job::EventKind;
use crate::store::StoreError;
use crate::time::Timestamp;

/// An event whose number is not known yet.
pub(super) struct EventRow {
    pub run: RunId,
    pub job: Option<JobId>,
    pub doc: String,
}

impl EventRow {
    pub fn of(run: RunId, job: Option<JobId>, kind: &EventKind) -> Result<Self, StoreError> {
        let doc = encode(kind, "an event")?;
        Ok(Self { run, job, doc })
    }
}

/// A journal entry.
pub(super) struct JournalRow {
    pub job: JobId,
    pub seq: u32,
    pub attempt: u32,
    pub at: Timestamp,
    pub doc: String,
}

/// A batch with its records as rows.
pub(super) struct Prepared {
    pub key: Option<KeyClaim>,
    pub runs: Vec<RunRow>,
    pub insert: Vec<NewJob>,
    pub put: Vec<JobRow>,
    pub touch: Vec<(JobId, u64)>,
    pub edges: Vec<(Edge, bool)>,
    pub reopen: Vec<Edge>,
    pub countdown: Vec<Edge>,
    pub cascade: Vec<JobId>,
    pub cascaded: Vec<JobId>,
    pub charges: Vec<RunCharge>,
    pub journal: Vec<JournalRow>,
    pub mail: Vec<(JobId, UpdateId, String)>,
    pub mail_applied: Vec<(JobId, UpdateId)>,
    pub files: Vec<(RunId, String, String)>,
    pub events: Vec<EventRow>,
    pub at: Timestamp,
}

impl Prepared {
    pub fn of(batch: Batch) -> Result<Self, StoreError> {
        let journal = batch.journal.iter().map(|entry| {
            Ok(JournalRow {
                job: entry.job,
                seq: entry.seq,
                attempt: entry.attempt,
                at: entry.at,
                doc: encode(&entry.entry, "a journal entry")?,
            })
        });
        let event = |event: &NewEvent| EventRow::of(event.run, event.job, &event.kind);
        Ok(Self {
            journal: journal.collect::<Result<_, StoreError>>()?,
            mail: batch
                .mail
                .iter()
                .map(|mail| Ok((mail.job, mail.id, encode(mail, "an update")?)))
                .collect::<Result<_, StoreError>>()?,
            files: batch
                .files
                .into_iter()
                .map(|file| Ok((file.run, encode(&file, "a file")?, file.path)))
                .map(|row| row.map(|(run, doc, path)| (run, path, doc)))
                .collect::<Result<_, StoreError>>()?,
            events: batch.events.iter().map(event).collect::<Result<_, _>>()?,
            runs: batch.runs.into_iter().map(RunRow::of).collect::<Result<_, _>>()?,
            insert: batch.insert.iter().map(NewJob::of).collect::<Result<_, _>>()?,
            put: batch.put.iter().map(JobRow::of).collect::<Result<_, _>>()?,
            key: batch.key,
            touch: batch.touch,
            edges: batch.edges,
            reopen: batch.reopen,
            countdown: batch.countdown,
            cascade: batch.cascade,
            cascaded: batch.cascaded,
            charges: batch.charges,
            mail_applied: batch.mail_applied,
            at: batch.at,
        })
    }
}
