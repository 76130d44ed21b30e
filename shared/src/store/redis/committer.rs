//! How batches become calls: what waits is sent as one, up to a bound, while the call before is on its way.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot, watch};

use super::lane::Lane;
use super::pack::Unpacker;
use super::packed::Packed;
use super::script::COMMIT;
use super::shard::Shard;
use crate::batch::KeyClaim;
use crate::id::{JobId, RunId};
use crate::store::document::corrupt;
use crate::store::{Commit, StoreError};

/// The most batches of one call: at some 50 µs each, the server is busy with it for some milliseconds.
const GROUP_MAX: usize = 64;
/// The most bytes of one call beyond its first batch, for the same reason.
const GROUP_BYTES_MAX: usize = 512 * 1024;
/// Calls under way at a time: the server works on one while the other is packed, sent and answered.
const LANES: usize = 2;
/// Batches that wait; further callers wait for a place.
const WAITING_MAX: usize = 4 * GROUP_MAX;

struct Waiting {
    batch: Packed,
    reply: oneshot::Sender<Result<Commit, StoreError>>,
}

/// The hand that callers hold of a shard's lanes.
pub(super) struct Committer {
    sender: mpsc::Sender<Waiting>,
}

/// How changes are told.
#[derive(Clone)]
pub(super) struct News {
    pub channel: Arc<[u8]>,
    /// What this process says, by which it knows its own words.
    pub voice: [u8; 16],
    pub changes: watch::Sender<u64>,
}

impl News {
    /// Tells this process of a change; the script tells the others.
    pub fn tell(&self) {
        self.changes.send_modify(|seen| *seen += 1);
    }
}

impl Committer {
    /// Starts the lanes of a shard.
    pub fn start(shard: &Shard, news: &News) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..LANES {
            let lane = Lane::new(shard.link.clone(), &shard.tag);
            let (receiver, news) = (receiver.clone(), news.clone());
            shard
                .link
                .runtime()
                .spawn(async move { serve(lane, receiver, news).await });
        }
        Self { sender }
    }

    /// Commits a batch.
    pub async fn commit(&self, batch: Packed) -> Result<Commit, StoreError> {
        let (reply, answer) = oneshot::channel();
        let waiting = Waiting { batch, reply };
        self.sender.send(waiting).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable {
        message: "it is being closed".to_owned(),
    }
}

async fn serve(lane: Lane, receiver: Arc<Mutex<mpsc::Receiver<Waiting>>>, news: News) {
    loop {
        let group = {
            let mut receiver = receiver.lock().await;
            next_group(&mut receiver).await
        };
        if group.is_empty() {
            return;
        }
        send(&lane, group, &news).await;
    }
}

/// What waits now, or the next batch that comes; nothing once all callers are gone.
async fn next_group(receiver: &mut mpsc::Receiver<Waiting>) -> Vec<Waiting> {
    let Some(first) = receiver.recv().await else {
        return Vec::new();
    };
    let mut bytes = 0;
    let mut group = vec![first];
    while group.len() < GROUP_MAX && bytes < GROUP_BYTES_MAX {
        let Ok(next) = receiver.try_recv() else {
            break;
        };
        bytes += next.batch.bytes.len();
        group.push(next);
    }
    group
}

async fn send(lane: &Lane, mut group: Vec<Waiting>, news: &News) {
    let mut arguments = vec![news.channel.to_vec(), news.voice.to_vec()];
    arguments.extend(group.iter_mut().map(|waiting| std::mem::take(&mut waiting.batch.bytes)));
    let answers = match lane.call(&COMMIT, arguments).await {
        Ok(answer) => answers(&answer, &group),
        Err(error) => Err(error),
    };
    match answers {
        Ok(answers) => {
            if answers.contains(&Ok(Commit::Done)) {
                news.tell();
            }
            for (waiting, answer) in group.into_iter().zip(answers) {
                // Nobody listens if the caller's future was dropped.
                let _ = waiting.reply.send(answer);
            }
        }
        Err(error) => {
            for waiting in group {
                let _ = waiting.reply.send(Err(error.clone()));
            }
        }
    }
}

fn answers(packed: &[u8], group: &[Waiting]) -> Result<Vec<Result<Commit, StoreError>>, StoreError> {
    let mut from = Unpacker::of(packed);
    let count = from.list()?;
    if count != group.len() {
        let why = format_args!("{count} answers to {} batches", group.len());
        return Err(corrupt("a commit", why));
    }
    group.iter().map(|waiting| answer(&mut from, &waiting.batch)).collect()
}

/// Reads the answer to one batch; the codes stand in `commit.lua`.
fn answer(from: &mut Unpacker<'_>, batch: &Packed) -> Result<Result<Commit, StoreError>, StoreError> {
    let len = from.list()?;
    Ok(match (len, from.uint()?) {
        (1, 0) => Ok(Commit::Done),
        (2, 1) => {
            let wanted = batch.key.as_ref().ok_or_else(|| corrupt("a commit", "it had no key"))?;
            Ok(Commit::Replayed(claim_of(&wanted.tenant, &wanted.key, from.bytes()?)?))
        }
        (1, 2) => Err(StoreError::KeyConflict {
            key: batch.key.as_ref().map(|claim| claim.key.clone()).unwrap_or_default(),
        }),
        (3, 3) => {
            let (kind, id) = (from.uint()?, super::pack::id(from.bytes()?)?);
            Err(StoreError::Conflict {
                what: match kind {
                    0 => RunId::from_bytes(id).to_string(),
                    1 => JobId::from_bytes(id).to_string(),
                    _ => format!("the journal of {}", JobId::from_bytes(id)),
                },
            })
        }
        (4, 4) => {
            let place = usize::try_from(from.uint()?).unwrap_or(usize::MAX);
            let used = from.uint()? << 32 | from.uint()?;
            let row = batch.charges.get(place);
            let row = row.ok_or_else(|| corrupt("a commit", "it had no such charge"))?;
            Err(StoreError::Exhausted {
                counter: row.charge.counter,
                bound: row.bound.unwrap_or(u64::MAX),
                used,
                wanted: row.charge.add.unsigned_abs(),
            })
        }
        (len, code) => return Err(corrupt("a commit", format_args!("the answer {code} of {len} values"))),
    })
}

/// What a key stands for, as it is stored.
pub(super) fn claim_of(tenant: &str, key: &str, packed: &[u8]) -> Result<KeyClaim, StoreError> {
    let mut from = Unpacker::of(packed);
    from.list()?;
    Ok(KeyClaim {
        tenant: tenant.to_owned(),
        key: key.to_owned(),
        fingerprint: from.text()?.to_owned(),
        run: from
            .id()?
            .map(RunId::from_bytes)
            .ok_or_else(|| corrupt("a key", "it stands for no run"))?,
        job: from.id()?.map(JobId::from_bytes),
    })
}
