//! What is read of one run or one job.

use std::sync::Arc;

use redis::{Value, pipe};

use super::edges;
use super::hot::Hot;
use super::pack::Unpacker;
use super::run_record::{RunCache, RunHead};
use super::shard::{Shard, all_bytes, bytes, list};
use crate::batch::{FileRecord, JournalEntry, NewEvent};
use crate::budget::Counter;
use crate::dag::Edge;
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{EventKind, Job, JobState, Mail};
use crate::run::{Run, RunState, RunView};
use crate::store::document::{corrupt, decode_bytes};
use crate::store::{EventRecord, StoreError};

/// Records that are asked for at once: some hundred kilobytes.
pub(super) const CHUNK: usize = 256;

/// The jobs of those ids that are on record, in their order.
pub(super) async fn jobs(shard: &Shard, ids: &[JobId]) -> Result<Vec<Job>, StoreError> {
    let mut found = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let mut wanted = pipe();
        for id in chunk {
            let key = shard.key("j", id.as_bytes());
            wanted.cmd("HMGET").arg(key).arg("h").arg("d").arg("s");
        }
        let answers = shard.ask(&wanted).await?;
        for (id, answer) in chunk.iter().zip(answers) {
            found.extend(job(*id, answer)?);
        }
    }
    Ok(found)
}

fn job(id: JobId, answer: Value) -> Result<Option<Job>, StoreError> {
    let parts = list(answer)?.into_iter().map(bytes);
    let parts: Vec<Option<Vec<u8>>> = parts.collect::<Result<_, _>>()?;
    match parts.as_slice() {
        [Some(hot), Some(rest), Some(spec)] => {
            let hot = Hot::read(hot)?;
            let spec = Arc::new(decode_bytes(spec, "the specification of a job")?);
            hot.compose(id, rest, spec).map(Some)
        }
        [None, None, None] => Ok(None),
        _ => Err(corrupt(id, "a part of it is missing")),
    }
}

/// The states of those jobs that are on record.
async fn states(shard: &Shard, ids: &[JobId]) -> Result<Vec<JobState>, StoreError> {
    let mut wanted = pipe();
    for id in ids {
        wanted.cmd("HGET").arg(shard.key("j", id.as_bytes())).arg("h");
    }
    let mut states = Vec::with_capacity(ids.len());
    for answer in shard.ask(&wanted).await? {
        if let Some(hot) = bytes(answer)? {
            states.push(Hot::read(&hot)?.state);
        }
    }
    Ok(states)
}

/// Which of the jobs a worker holds.
pub(super) async fn held(shard: &Shard, ids: &[JobId], worker: WorkerId) -> Result<Vec<JobId>, StoreError> {
    let mut held = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let mut wanted = pipe();
        for id in chunk {
            wanted.cmd("HGET").arg(shard.key("j", id.as_bytes())).arg("h");
        }
        for (id, answer) in chunk.iter().zip(shard.ask(&wanted).await?) {
            let hot = bytes(answer)?.map(|hot| Hot::read(&hot)).transpose()?;
            held.extend(hot.filter(|hot| hot.worker == Some(worker)).map(|_| *id));
        }
    }
    Ok(held)
}

/// The runs of those ids that are on record, in their order.
pub(super) async fn views(shard: &Shard, cache: &RunCache, ids: &[RunId]) -> Result<Vec<RunView>, StoreError> {
    let mut views = Vec::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let mut wanted = pipe();
        for id in chunk {
            wanted.cmd("HMGET").arg(shard.key("r", id.as_bytes())).arg("h").arg("d");
        }
        for (id, answer) in chunk.iter().zip(shard.ask(&wanted).await?) {
            let parts = list(answer)?.into_iter().map(bytes);
            let parts: Vec<Option<Vec<u8>>> = parts.collect::<Result<_, _>>()?;
            if let [Some(head), Some(document)] = parts.as_slice() {
                let head = RunHead::read(head)?;
                let run = cache.run(shard, *id, &head, document).await?;
                views.push(view(shard, run, &head).await?);
            }
        }
    }
    Ok(views)
}

async fn view(shard: &Shard, run: Arc<Run>, head: &RunHead) -> Result<RunView, StoreError> {
    let counters = head.counters();
    let open = counters.get(&Counter::Open).copied().unwrap_or(0);
    let results = if open == 0 {
        states(shard, &run.results).await?
    } else {
        Vec::new()
    };
    let state = RunState::derive(open, results);
    Ok(RunView { run, state, counters })
}

/// The edges at one end of each of those jobs.
async fn edges_of(shard: &Shard, kind: &str, ids: &[JobId]) -> Result<Vec<Vec<(Vec<u8>, Vec<u8>)>>, StoreError> {
    let mut wanted = pipe();
    for id in ids {
        wanted.cmd("HGETALL").arg(shard.key(kind, id.as_bytes()));
    }
    let answers = shard.ask(&wanted).await?.into_iter().map(|answer| {
        let mut values = all_bytes(answer)?.into_iter();
        let mut pairs = Vec::with_capacity(values.len() / 2);
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            pairs.push((name, value));
        }
        Ok(pairs)
    });
    answers.collect()
}

/// The edges in which the job is the parent.
pub(super) async fn dependents(shard: &Shard, parent: JobId) -> Result<Vec<Edge>, StoreError> {
    let stored = edges_of(shard, "d", &[parent]).await?;
    edges::dependents(parent, stored.into_iter().flatten())
}

/// The edges into the jobs, in their order.
pub(super) async fn dependencies(shard: &Shard, children: &[JobId]) -> Result<Vec<Edge>, StoreError> {
    let mut found = Vec::new();
    for chunk in children.chunks(CHUNK) {
        for (child, stored) in chunk.iter().zip(edges_of(shard, "e", chunk).await?) {
            found.extend(edges::dependencies(*child, stored.into_iter())?);
        }
    }
    Ok(found)
}

/// The part of a list from place `from` on, at most `limit`.
async fn part_of(shard: &Shard, key: Vec<u8>, from: u64, limit: usize) -> Result<Vec<Vec<u8>>, StoreError> {
    let Ok(first) = i64::try_from(from) else {
        return Ok(Vec::new());
    };
    if limit == 0 {
        return Ok(Vec::new());
    }
    let last = first.saturating_add(i64::try_from(limit - 1).unwrap_or(i64::MAX));
    let command = redis::cmd("LRANGE").arg(key).arg(first).arg(last).take();
    all_bytes(shard.link.command(&command).await?)
}

/// A part of a job's journal.
pub(super) async fn journal(
    shard: &Shard,
    job: JobId,
    from: u32,
    limit: usize,
) -> Result<Vec<JournalEntry>, StoreError> {
    let stored = part_of(shard, shard.key("l", job.as_bytes()), u64::from(from), limit).await?;
    let entries = (from..=u32::MAX).zip(stored).map(|(seq, packed)| {
        let mut from = Unpacker::of(&packed);
        from.list()?;
        Ok(JournalEntry {
            job,
            seq,
            attempt: from.small()?,
            at: from.moment()?,
            entry: decode_bytes(from.bytes()?, "a journal entry")?,
        })
    });
    entries.collect()
}

/// A job's mailbox.
pub(super) async fn mail(shard: &Shard, job: JobId) -> Result<Vec<Mail>, StoreError> {
    let stored = part_of(shard, shard.key("m", job.as_bytes()), 0, usize::MAX).await?;
    // In front stands the id, by which the script finds it.
    let mails = stored
        .iter()
        .map(|stored| decode_bytes(stored.get(16..).unwrap_or_default(), "an update"));
    mails.collect()
}

/// A part of a run's log.
pub(super) async fn events(
    shard: &Shard,
    run: RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<EventRecord>, StoreError> {
    let stored = part_of(shard, shard.key("v", run.as_bytes()), after, limit).await?;
    let events = (after.saturating_add(1)..=u64::MAX).zip(stored);
    events.map(|(seq, packed)| event(run, seq, &packed)).collect()
}

/// The newest event of a run.
pub(super) async fn last_event(shard: &Shard, run: RunId) -> Result<Option<EventRecord>, StoreError> {
    let key = shard.key("v", run.as_bytes());
    let mut wanted = pipe();
    wanted.atomic().cmd("LLEN").arg(&key).cmd("LINDEX").arg(&key).arg(-1);
    let answers = shard.ask(&wanted).await?;
    let [Value::Int(len), newest] = answers.as_slice() else {
        return Err(corrupt("a log", "it has no length"));
    };
    let seq = u64::try_from(*len).map_err(|error| corrupt("a log", error))?;
    bytes(newest.clone())?
        .map(|packed| event(run, seq, &packed))
        .transpose()
}

fn event(run: RunId, seq: u64, packed: &[u8]) -> Result<EventRecord, StoreError> {
    let mut from = Unpacker::of(packed);
    from.list()?;
    let at = from.moment()?;
    let job = from.id()?.map(JobId::from_bytes);
    let kind = if from.is_list() {
        made_by_script(&mut from)?
    } else {
        decode_bytes(from.bytes()?, "an event")?
    };
    let event = NewEvent { run, job, kind };
    Ok(EventRecord { seq, at, event })
}

/// An event of a transition that is mirrored in a script.
fn made_by_script(from: &mut Unpacker<'_>) -> Result<EventKind, StoreError> {
    from.list()?;
    Ok(match from.text()? {
        "queued" => EventKind::Queued,
        "scheduled" => EventKind::Scheduled {
            due: from.moment()?,
            reason: crate::job::Delay::Start,
        },
        "started" => EventKind::Started {
            attempt: from.small()?,
            worker: from
                .id()?
                .map(WorkerId::from_bytes)
                .ok_or_else(|| corrupt("an event", "it names no worker"))?,
        },
        other => return Err(corrupt("an event", format_args!("`{other}` is unknown"))),
    })
}

/// A published file.
pub(super) async fn file(shard: &Shard, run: RunId, path: &str) -> Result<Option<FileRecord>, StoreError> {
    let command = redis::cmd("HGET").arg(shard.key("f", run.as_bytes())).arg(path).take();
    let stored = bytes(shard.link.command(&command).await?)?;
    stored.map(|doc| decode_bytes(&doc, "a file")).transpose()
}

/// A run's published files whose path begins with `prefix`.
pub(super) async fn files(shard: &Shard, run: RunId, prefix: &str) -> Result<Vec<FileRecord>, StoreError> {
    let command = redis::cmd("HVALS").arg(shard.key("f", run.as_bytes())).take();
    let stored = all_bytes(shard.link.command(&command).await?)?;
    let files = stored.iter().map(|doc| decode_bytes(doc, "a file"));
    let mut files: Vec<FileRecord> = files.collect::<Result<_, _>>()?;
    files.retain(|file| file.path.starts_with(prefix));
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}
