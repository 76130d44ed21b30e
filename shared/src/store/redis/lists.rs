//! What is read of many runs and jobs: lists by page, ids by their beginning, what is due.

use super::hot::code_of;
use super::read::{self, CHUNK};
use super::run_record::RunCache;
use super::shard::{Question, Shard, all_bytes};
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{Job, JobState};
use crate::run::RunView;
use crate::store::document::corrupt;
use crate::store::{Due, JobQuery, Match, Page, RunQuery, StoreError};
use crate::time::Timestamp;

/// The bytes of an id.
const ID: usize = 16;

/// A border of a range over ids.
struct Border(Vec<u8>);

impl Border {
    /// Before all.
    fn lowest() -> Self {
        Self(b"-".to_vec())
    }

    /// After all.
    fn highest() -> Self {
        Self(b"+".to_vec())
    }

    /// At `id`, which belongs to the range.
    fn at(id: &[u8; ID]) -> Self {
        Self::of(b'[', id)
    }

    /// At `id`, which does not.
    fn beside(id: &[u8; ID]) -> Self {
        Self::of(b'(', id)
    }

    /// After `id` and all that begins with it.
    fn after(id: &[u8; ID]) -> Self {
        match u128::from_be_bytes(*id).checked_add(1) {
            Some(next) => Self::at(&next.to_be_bytes()),
            None => Self::of(b'(', &[u8::MAX; ID + 1]),
        }
    }

    fn of(sign: u8, id: &[u8]) -> Self {
        let mut border = vec![sign];
        border.extend_from_slice(id);
        Self(border)
    }
}

fn number(limit: usize) -> Vec<u8> {
    i64::try_from(limit).unwrap_or(i64::MAX).to_string().into_bytes()
}

fn question<const N: usize>(name: &str, words: [&[u8]; N]) -> Question {
    let words = words.into_iter().map(<[u8]>::to_vec);
    std::iter::once(name.as_bytes().to_vec()).chain(words).collect()
}

fn range(key: &[u8], from: &Border, to: &Border, limit: usize) -> Question {
    question("ZRANGEBYLEX", [key, &from.0, &to.0, b"LIMIT", b"0", &number(limit)])
}

/// The ids that members of an index begin with.
fn ids(members: &[Vec<u8>]) -> Result<Vec<[u8; ID]>, StoreError> {
    members
        .iter()
        .map(|member| super::pack::id(member.get(..ID).unwrap_or(member)))
        .collect()
}

fn page<T>(mut items: Vec<T>, limit: usize) -> Page<T> {
    let more = items.len() > limit;
    items.truncate(limit);
    Page { items, more }
}

/// The indexes in which the jobs of a query stand, each job in one of them.
fn indexes(shard: &Shard, query: &JobQuery) -> Vec<Vec<u8>> {
    if let Some(parent) = query.parent {
        return vec![shard.key("c", parent.as_bytes())];
    }
    if let Some(run) = query.run {
        return vec![shard.key("n", run.as_bytes())];
    }
    let states = match query.states.as_slice() {
        [] => JobState::ALL.as_slice(),
        states => states,
    };
    let mut keys: Vec<Vec<u8>> = states.iter().map(|state| index_of(shard, *state)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The index of the jobs in a state; see `record.lua`.
fn index_of(shard: &Shard, state: JobState) -> Vec<u8> {
    if state.is_terminal() {
        shard.key("s", code_of(state).to_string().as_bytes())
    } else {
        shard.key("s", b"live")
    }
}

fn matches(job: &Job, query: &JobQuery) -> bool {
    query.run.is_none_or(|run| job.run == run)
        && (query.states.is_empty() || query.states.contains(&job.state()))
        && query.name.as_ref().is_none_or(|name| job.spec.name == *name)
        && query.parent.is_none_or(|parent| job.spec.parent == Some(parent))
}

/// The running jobs of a shard by query: they are looked up by their leases, however many wait.
async fn running_of(shard: &Shard, query: &JobQuery, limit: usize) -> Result<Vec<Job>, StoreError> {
    let mut ids = running(shard).await?;
    ids.retain(|id| query.after.is_none_or(|after| *id > after));
    ids.sort_unstable();
    let mut found = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let jobs = read::jobs(shard, chunk).await?;
        found.extend(jobs.into_iter().filter(|job| matches(job, query)));
        if found.len() >= limit {
            break;
        }
    }
    Ok(found)
}

/// The jobs of a shard by query, at most `limit`, in the order of their ids.
async fn jobs_of(shard: &Shard, query: &JobQuery, limit: usize) -> Result<Vec<Job>, StoreError> {
    if query.states == [JobState::Running] && query.run.is_none() && query.parent.is_none() {
        return running_of(shard, query, limit).await;
    }
    let mut found = Vec::new();
    let mut after = query.after;
    let keys = indexes(shard, query);
    loop {
        let wanted = (limit - found.len()).min(CHUNK);
        let from = after.map_or_else(Border::lowest, |id| Border::after(id.as_bytes()));
        let ranges = keys.iter().map(|key| range(key, &from, &Border::highest(), wanted));
        let mut next: Vec<JobId> = Vec::new();
        // As of one moment: a job that moves from one state to another in between would be missed.
        for answer in shard.look(&ranges.collect::<Vec<_>>()).await? {
            next.extend(ids(&answer)?.into_iter().map(JobId::from_bytes));
        }
        next.sort_unstable();
        next.dedup();
        next.truncate(wanted);
        let jobs = read::jobs(shard, &next).await?;
        found.extend(jobs.into_iter().filter(|job| matches(job, query)));
        after = next.last().copied();
        if next.len() < wanted || found.len() >= limit {
            return Ok(found);
        }
    }
}

/// Jobs by query.
pub(super) async fn jobs(shards: &[Shard], query: &JobQuery) -> Result<Page<Job>, StoreError> {
    let limit = query.limit.max(1);
    let mut found = Vec::new();
    for shard in shards {
        found.extend(jobs_of(shard, query, limit.saturating_add(1)).await?);
    }
    found.sort_unstable_by_key(|job| job.id);
    Ok(page(found, limit))
}

/// The jobs of a run, in the order of their ids.
pub(super) async fn job_ids_of(shard: &Shard, run: RunId) -> Result<Vec<JobId>, StoreError> {
    let key = shard.key("n", run.as_bytes());
    let command = redis::cmd("ZRANGE").arg(key).arg(0).arg(-1).take();
    let members = all_bytes(shard.link.command(&command).await?)?;
    Ok(ids(&members)?.into_iter().map(JobId::from_bytes).collect())
}

/// Runs by query.
pub(super) async fn runs(shards: &[Shard], cache: &RunCache, query: &RunQuery) -> Result<Page<RunView>, StoreError> {
    let limit = query.limit.max(1);
    let mut found: Vec<(RunId, &Shard)> = Vec::new();
    let to = query
        .before
        .map_or_else(Border::highest, |id| Border::beside(id.as_bytes()));
    let fetch = number(limit.saturating_add(1));
    for shard in shards {
        let tenants = match &query.tenant {
            Some(tenant) => vec![tenant.clone().into_bytes()],
            None => tenants(shard).await?,
        };
        let newest = |tenant: &Vec<u8>| {
            let words: [&[u8]; 6] = [&shard.key("t", tenant), &to.0, b"-", b"LIMIT", b"0", &fetch];
            question("ZREVRANGEBYLEX", words)
        };
        for members in shard.look(&tenants.iter().map(newest).collect::<Vec<_>>()).await? {
            found.extend(ids(&members)?.into_iter().map(|id| (RunId::from_bytes(id), shard)));
        }
    }
    found.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
    let Page { items, more } = page(found, limit);
    let mut views = Vec::with_capacity(items.len());
    for shard in shards {
        let here = items.iter().filter(|(_, place)| place.tag == shard.tag);
        let here: Vec<RunId> = here.map(|(id, _)| *id).collect();
        views.extend(read::views(shard, cache, &here).await?);
    }
    views.sort_unstable_by_key(|view| std::cmp::Reverse(view.run.id));
    Ok(Page { items: views, more })
}

/// The tenants that have runs in a shard, or had some.
async fn tenants(shard: &Shard) -> Result<Vec<Vec<u8>>, StoreError> {
    let command = redis::cmd("SMEMBERS").arg(shard.one("t")).take();
    all_bytes(shard.link.command(&command).await?)
}

/// The runs and jobs whose id begins with `prefix`.
pub(super) async fn resolve(shards: &[Shard], prefix: &str, limit: usize) -> Result<Match, StoreError> {
    let mut found = Match::default();
    for shard in shards {
        if let Some((low, high)) = RunId::range_of(prefix) {
            let tenants = tenants(shard).await?;
            let keys = tenants.iter().map(|tenant| shard.key("t", tenant));
            let ids = between(shard, keys, low.as_bytes(), high.as_bytes(), limit).await?;
            found.runs.extend(ids.into_iter().map(RunId::from_bytes));
        }
        if let Some((low, high)) = JobId::range_of(prefix) {
            let keys = indexes(shard, &JobQuery::default()).into_iter();
            let ids = between(shard, keys, low.as_bytes(), high.as_bytes(), limit).await?;
            found.jobs.extend(ids.into_iter().map(JobId::from_bytes));
        }
    }
    found.runs.sort_unstable();
    found.runs.truncate(limit);
    found.jobs.sort_unstable();
    found.jobs.truncate(limit);
    Ok(found)
}

async fn between(
    shard: &Shard,
    keys: impl Iterator<Item = Vec<u8>>,
    low: &[u8; ID],
    high: &[u8; ID],
    limit: usize,
) -> Result<Vec<[u8; ID]>, StoreError> {
    let ranges = keys.map(|key| range(&key, &Border::at(low), &Border::at(high), limit));
    let mut found = Vec::new();
    for answer in shard.look(&ranges.collect::<Vec<_>>()).await? {
        found.extend(ids(&answer)?);
    }
    Ok(found)
}

/// The states in which a job may fall due.
const TIMED: [JobState; 3] = [JobState::Scheduled, JobState::Running, JobState::Queued];

/// What is due in a shard, and what falls due next in it.
fn questions(shard: &Shard, now: Timestamp, limit: usize) -> Vec<Question> {
    let (at, after) = (now.0.to_string(), format!("({}", now.0));
    let mut questions = Vec::new();
    for state in TIMED {
        let key = shard.key("w", code_of(state).to_string().as_bytes());
        let fetch = number(limit.saturating_add(1));
        questions.push(question(
            "ZRANGEBYSCORE",
            [&key, b"-inf", at.as_bytes(), b"LIMIT", b"0", &fetch],
        ));
        let next: [&[u8]; 7] = [&key, after.as_bytes(), b"+inf", b"WITHSCORES", b"LIMIT", b"0", b"1"];
        questions.push(question("ZRANGEBYSCORE", next));
    }
    questions.push(question("ZRANGE", [&shard.one("x"), b"0", &number(limit)]));
    questions
}

/// What maintenance has to look at.
pub(super) async fn due(shards: &[Shard], now: Timestamp, limit: usize) -> Result<Due, StoreError> {
    let mut due = Due::default();
    let mut left = false;
    for shard in shards {
        let mut answers = shard.look(&questions(shard, now, limit)).await?.into_iter();
        for list in [&mut due.scheduled, &mut due.expired, &mut due.overdue] {
            let here: Vec<JobId> = ids(&answers.next().unwrap_or_default())?
                .into_iter()
                .map(JobId::from_bytes)
                .collect();
            let room = limit.saturating_sub(list.len());
            left |= here.len() > room;
            list.extend(read::jobs(shard, &here[..here.len().min(room)]).await?);
            let upcoming = score(&answers.next().unwrap_or_default())?;
            due.next = due.next.into_iter().chain(upcoming).min();
        }
        let here = ids(&answers.next().unwrap_or_default())?;
        due.cascades.extend(here.into_iter().map(JobId::from_bytes));
    }
    due.cascades.sort_unstable();
    left |= due.cascades.len() > limit;
    due.cascades.truncate(limit);
    due.next = due.next.into_iter().chain(left.then_some(now)).min();
    Ok(due)
}

/// The score behind the first member, if there is one: whole milliseconds, written by us.
fn score(answer: &[Vec<u8>]) -> Result<Option<Timestamp>, StoreError> {
    let Some(score) = answer.get(1) else {
        return Ok(None);
    };
    let number = std::str::from_utf8(score).ok().and_then(|text| text.parse().ok());
    let number: u64 = number.ok_or_else(|| corrupt("an index", "a score is not a moment"))?;
    Ok(Some(super::pack::moment(number)))
}

/// All running jobs of a shard: as many as its workers have slots.
async fn running(shard: &Shard) -> Result<Vec<JobId>, StoreError> {
    let key = shard.key("w", code_of(JobState::Running).to_string().as_bytes());
    let command = redis::cmd("ZRANGE").arg(key).arg(0).arg(-1).take();
    let found = ids(&all_bytes(shard.link.command(&command).await?)?)?;
    Ok(found.into_iter().map(JobId::from_bytes).collect())
}

/// The running jobs of a worker.
pub(super) async fn held(shards: &[Shard], worker: WorkerId) -> Result<Vec<Job>, StoreError> {
    let mut found = Vec::new();
    for shard in shards {
        let running = running(shard).await?;
        let here = read::held(shard, &running, worker).await?;
        found.extend(read::jobs(shard, &here).await?);
    }
    // A job may have ended since its id was read.
    found.retain(|job| job.phase.lease().is_some_and(|lease| lease.worker == worker));
    found.sort_unstable_by_key(|job| job.id);
    Ok(found)
}
