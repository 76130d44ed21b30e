//! A batch in the form in which `commit.lua` takes it. Made by the caller, so that the lanes have less to do.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::hot;
use super::pack::Packer;
use crate::batch::{Batch, FileRecord, JournalEntry, KeyClaim, NewEvent, RunCharge};
use crate::dag::{Condition, Edge, EdgeKind};
use crate::id::{JobId, RunId, UpdateId};
use crate::job::{EventKind, Job, JobState, Mail};
use crate::run::Run;
use crate::store::StoreError;
use crate::store::document::encode;
use crate::time::Timestamp;

/// The parts of a batch, by the numbers under which `commit.lua` knows them.
#[derive(Clone, Copy)]
enum Part {
    Key = 2,
    Runs,
    Insert,
    Put,
    Touch,
    Edges,
    Reopen,
    Countdown,
    Cascade,
    Cascaded,
    Charges,
    Journal,
    Mail,
    MailRead,
    Files,
    Events,
    Look,
}

/// The parts of a batch that are not empty, each behind its number: most batches have few, and the server unpacks each.
#[derive(Default)]
struct Parts {
    packer: Packer,
    count: usize,
}

impl Parts {
    /// Adds a list, unless it is empty.
    fn each<T>(
        &mut self,
        part: Part,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        pack: impl Fn(&mut Packer, T),
    ) {
        let items = items.into_iter();
        if self.begin(part, items.len()) {
            items.for_each(|item| pack(&mut self.packer, item));
        }
    }

    /// The same of records that are encoded, which may fail.
    fn try_each<T>(
        &mut self,
        part: Part,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        pack: impl Fn(&mut Packer, T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut items = items.into_iter();
        if !self.begin(part, items.len()) {
            return Ok(());
        }
        items.try_for_each(|item| pack(&mut self.packer, item))
    }

    /// Begins a list; says whether anything follows.
    fn begin(&mut self, part: Part, len: usize) -> bool {
        if len > 0 {
            self.count += 1;
            self.packer.uint(part as u64).list(len);
        }
        len > 0
    }

    /// The whole batch.
    fn of_moment(self, at: Timestamp) -> Vec<u8> {
        let mut packer = Packer::default();
        packer
            .list(1 + 2 * self.count)
            .moment(at)
            .packed(&self.packer.into_bytes());
        packer.into_bytes()
    }
}

/// A batch, packed, and what is needed to tell its refusal.
pub(super) struct Packed {
    pub bytes: Vec<u8>,
    pub key: Option<KeyClaim>,
    pub charges: Vec<RunCharge>,
}

impl Packed {
    /// Packs a batch.
    pub fn of(batch: Batch) -> Result<Self, StoreError> {
        let mut parts = Parts::default();
        let look = look(&batch);
        parts.each(Part::Key, &key_words(batch.key.as_ref()), |packer, word| {
            packer.bytes(word);
        });
        parts.try_each(Part::Runs, batch.runs, run)?;
        parts.try_each(Part::Insert, &batch.insert, insert)?;
        parts.try_each(Part::Put, &batch.put, put)?;
        parts.each(Part::Touch, &batch.touch, touch);
        parts.each(Part::Edges, &batch.edges, edge);
        parts.each(Part::Reopen, &batch.reopen, mark);
        parts.each(Part::Countdown, &batch.countdown, mark);
        parts.each(Part::Cascade, &batch.cascade, job);
        parts.each(Part::Cascaded, &batch.cascaded, job);
        parts.each(Part::Charges, &batch.charges, charge);
        parts.try_each(Part::Journal, &batch.journal, journal_entry)?;
        parts.try_each(Part::Mail, &batch.mail, mail)?;
        parts.each(Part::MailRead, &batch.mail_applied, mail_read);
        parts.try_each(Part::Files, &batch.files, file)?;
        parts.each(Part::Events, logs(&batch.events, batch.at)?, log);
        parts.each(Part::Look, &look, job);
        Ok(Self {
            bytes: parts.of_moment(batch.at),
            key: batch.key,
            charges: batch.charges,
        })
    }
}

/// The slot of all that a batch touches.
///
/// # Errors
/// [`StoreError::Unfit`] if it touches more than one of the `shards`: it could not be written all or nothing.
pub(super) fn slot_of(batch: &Batch, shards: usize) -> Result<u8, StoreError> {
    let key = batch
        .key
        .as_ref()
        .map(|claim| KeyClaim::slot_of(&claim.tenant, &claim.key));
    let runs = batch.runs.iter().map(|run| run.id.slot());
    let jobs = batch.insert.iter().chain(&batch.put).map(|job| job.id.slot());
    let edges = batch.edges.iter().map(|(edge, _)| edge);
    let edges = edges.chain(&batch.reopen).chain(&batch.countdown);
    let slots = key
        .into_iter()
        .chain(runs)
        .chain(jobs)
        .chain(batch.touch.iter().map(|(id, _)| id.slot()))
        .chain(edges.flat_map(|edge| [edge.parent.slot(), edge.child.slot()]))
        .chain(batch.cascade.iter().chain(&batch.cascaded).map(JobId::slot))
        .chain(batch.charges.iter().map(|row| row.run.slot()))
        .chain(batch.journal.iter().map(|entry| entry.job.slot()))
        .chain(batch.mail.iter().map(|mail| mail.job.slot()))
        .chain(batch.mail_applied.iter().map(|(job, _)| job.slot()))
        .chain(batch.files.iter().map(|file| file.run.slot()))
        .chain(batch.events.iter().map(|event| event.run.slot()));
    let mut slot = 0;
    for (place, next) in slots.enumerate() {
        if place > 0 && usize::from(next) % shards != usize::from(slot) % shards {
            return Err(StoreError::Unfit {
                message: "a commit touches runs or keys of two of its shards".to_owned(),
            });
        }
        slot = next;
    }
    Ok(slot)
}

/// The jobs that may have to be released, in the order of their ids.
fn look(batch: &Batch) -> Vec<JobId> {
    let written = batch.insert.iter().chain(&batch.put);
    let blocked = written.filter(|job| job.state() == JobState::Blocked).map(|job| job.id);
    let children = batch.edges.iter().map(|(edge, _)| edge.child);
    let counted = batch.countdown.iter().map(|edge| edge.child);
    let all: BTreeSet<JobId> = blocked.chain(children).chain(counted).collect();
    all.into_iter().collect()
}

/// The name that a key is stored under. The length in front keeps tenant and key apart.
pub(super) fn key_name(tenant: &str, key: &str) -> Vec<u8> {
    format!("{}:{tenant}{key}", tenant.len()).into_bytes()
}

/// The words about a key: its name, its fingerprint, and what is stored under it.
fn key_words(claim: Option<&KeyClaim>) -> Vec<Vec<u8>> {
    let Some(claim) = claim else {
        return Vec::new();
    };
    let mut stored = Packer::default();
    stored
        .list(3)
        .bytes(claim.fingerprint.as_bytes())
        .bytes(claim.run.as_bytes())
        .bytes(claim.job.as_ref().map_or(&[], |job| job.as_bytes()));
    vec![
        key_name(&claim.tenant, &claim.key),
        claim.fingerprint.as_bytes().to_vec(),
        stored.into_bytes(),
    ]
}

/// A run; its agents are stored once each, under their hash.
fn run(packer: &mut Packer, mut run: Run) -> Result<(), StoreError> {
    let mut names = Packer::default();
    let mut agents = Vec::with_capacity(run.agents.len());
    names.list(run.agents.len());
    for (name, agent) in std::mem::take(&mut run.agents) {
        let doc = encode(&*agent, "an agent")?;
        let hash: [u8; 32] = Sha256::digest(doc.as_bytes()).into();
        names.list(2).bytes(name.as_bytes()).bytes(&hash);
        agents.push((hash, doc));
    }
    let mut document = Packer::default();
    document
        .list(2)
        .bytes(&names.into_bytes())
        .bytes(encode(&run, "a run")?.as_bytes());
    packer
        .list(5)
        .bytes(run.id.as_bytes())
        .uint(run.version)
        .bytes(run.tenant.as_bytes())
        .bytes(&document.into_bytes())
        .list(agents.len());
    for (hash, doc) in agents {
        packer.list(2).bytes(&hash).bytes(doc.as_bytes());
    }
    Ok(())
}

fn insert(packer: &mut Packer, job: &Job) -> Result<(), StoreError> {
    packer
        .list(6)
        .bytes(job.id.as_bytes())
        .bytes(&hot::pack(job))
        .bytes(hot::rest_of(job)?.as_bytes())
        .bytes(encode(&*job.spec, "the specification of a job")?.as_bytes())
        .bytes(job.spec.parent.as_ref().map_or(&[], |parent| parent.as_bytes()))
        .bytes(job.spec.name.as_bytes());
    Ok(())
}

fn put(packer: &mut Packer, job: &Job) -> Result<(), StoreError> {
    packer
        .list(3)
        .bytes(job.id.as_bytes())
        .bytes(&hot::pack(job))
        .bytes(hot::rest_of(job)?.as_bytes());
    Ok(())
}

fn job(packer: &mut Packer, id: &JobId) {
    packer.bytes(id.as_bytes());
}

fn touch(packer: &mut Packer, (id, version): &(JobId, u64)) {
    packer.list(2).bytes(id.as_bytes()).uint(*version);
}

/// What stands for the kind of an edge.
pub(super) fn kind_byte(kind: EdgeKind) -> u8 {
    match kind {
        EdgeKind::Dependency => b'd',
        EdgeKind::Await => b'w',
    }
}

/// What stands for the condition of an edge.
pub(super) fn condition_byte(condition: Condition) -> u8 {
    match condition {
        Condition::Success => b's',
        Condition::Failure => b'f',
        Condition::Finished => b'e',
    }
}

fn edge(packer: &mut Packer, (edge, unmet): &(Edge, bool)) {
    packer
        .list(5)
        .bytes(edge.child.as_bytes())
        .bytes(edge.parent.as_bytes())
        .bytes(&[kind_byte(edge.kind)])
        .bytes(&[condition_byte(edge.condition)])
        .uint(u64::from(*unmet));
}

/// An edge that is to be marked as met or unmet.
fn mark(packer: &mut Packer, edge: &Edge) {
    let mut name = edge.parent.as_bytes().to_vec();
    name.push(kind_byte(edge.kind));
    packer.list(2).bytes(edge.child.as_bytes()).bytes(&name);
}

/// A charge. Figures of 64 bits travel as two of 32, which Lua's numbers hold exactly.
fn charge(packer: &mut Packer, row: &RunCharge) {
    let charge = &row.charge;
    packer
        .list(7)
        .bytes(row.run.as_bytes())
        .uint(charge.counter as u64)
        .uint(u64::from(charge.add < 0));
    halves(packer, charge.add.unsigned_abs());
    match row.bound.filter(|_| charge.must_fit && charge.add > 0) {
        Some(bound) => halves(packer, bound),
        None => {
            packer.int(-1).int(-1);
        }
    }
}

fn halves(packer: &mut Packer, value: u64) {
    packer.uint(value >> 32).uint(value & u64::from(u32::MAX));
}

fn journal_entry(packer: &mut Packer, entry: &JournalEntry) -> Result<(), StoreError> {
    let mut stored = Packer::default();
    stored
        .list(3)
        .uint(u64::from(entry.attempt))
        .moment(entry.at)
        .bytes(encode(&entry.entry, "a journal entry")?.as_bytes());
    packer
        .list(3)
        .bytes(entry.job.as_bytes())
        .uint(u64::from(entry.seq))
        .bytes(&stored.into_bytes());
    Ok(())
}

/// An update, behind its id, by which the script finds it when it was read.
fn mail(packer: &mut Packer, mail: &Mail) -> Result<(), StoreError> {
    let mut stored = mail.id.as_bytes().to_vec();
    stored.extend_from_slice(encode(mail, "an update")?.as_bytes());
    packer.list(2).bytes(mail.job.as_bytes()).bytes(&stored);
    Ok(())
}

fn mail_read(packer: &mut Packer, (job, update): &(JobId, UpdateId)) {
    packer.list(2).bytes(job.as_bytes()).bytes(update.as_bytes());
}

fn file(packer: &mut Packer, file: &FileRecord) -> Result<(), StoreError> {
    packer
        .list(3)
        .bytes(file.run.as_bytes())
        .bytes(file.path.as_bytes())
        .bytes(encode(file, "a file")?.as_bytes());
    Ok(())
}

/// An event as it stands in the log of its run.
pub(super) fn stored_event(job: Option<JobId>, kind: &EventKind, at: Timestamp) -> Result<Vec<u8>, StoreError> {
    let mut stored = Packer::default();
    stored
        .list(3)
        .moment(at)
        .bytes(job.as_ref().map_or(&[], |job| job.as_bytes()))
        .bytes(encode(kind, "an event")?.as_bytes());
    Ok(stored.into_bytes())
}

fn log(packer: &mut Packer, (run, events): (RunId, Vec<Vec<u8>>)) {
    packer.list(2).bytes(run.as_bytes()).list(events.len());
    for event in events {
        packer.bytes(&event);
    }
}

/// The events by run; a run's own stay in their order.
fn logs(events: &[NewEvent], at: Timestamp) -> Result<BTreeMap<RunId, Vec<Vec<u8>>>, StoreError> {
    let mut logs: BTreeMap<RunId, Vec<Vec<u8>>> = BTreeMap::new();
    for event in events {
        let log = logs.entry(event.run).or_default();
        log.push(stored_event(event.job, &event.kind, at)?);
    }
    Ok(logs)
}
