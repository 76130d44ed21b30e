//! Queues and runs that are held back. A run's pause stands in its shard, a queue's in each.

use std::collections::BTreeMap;

use super::committer::News;
use super::pack::Unpacker;
use super::packed::stored_event;
use super::script::{Call, PAUSE};
use super::shard::{Shard, all_bytes};
use crate::job::EventKind;
use crate::run::{Pausable, Pause};
use crate::store::StoreError;
use crate::store::document::{decode_bytes, encode};
use crate::time::Timestamp;

/// The shards in which a pause stands.
fn places<'a>(shards: &'a [Shard], of: &Pausable) -> &'a [Shard] {
    match of {
        Pausable::Queue(_) => shards,
        Pausable::Run(run) => {
            let place = usize::from(run.slot()) % shards.len();
            &shards[place..=place]
        }
    }
}

/// What a pause is stored under, see `pause.lua`.
fn subject(of: &Pausable) -> Vec<u8> {
    match of {
        Pausable::Queue(queue) => [b"q", queue.as_bytes()].concat(),
        Pausable::Run(run) => [b"r", run.as_bytes().as_slice()].concat(),
    }
}

/// Pauses a queue or a run.
pub(super) async fn pause(shards: &[Shard], news: &News, pause: &Pause) -> Result<bool, StoreError> {
    let document = encode(pause, "a pause")?;
    let event = stored_event(None, &EventKind::Paused { by: pause.by.clone() }, pause.at)?;
    set(shards, news, &pause.of, document.as_bytes(), &event).await
}

/// Ends a pause.
pub(super) async fn resume(
    shards: &[Shard],
    news: &News,
    of: &Pausable,
    by: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let event = stored_event(None, &EventKind::Resumed { by: by.to_owned() }, now)?;
    set(shards, news, of, &[], &event).await
}

async fn set(shards: &[Shard], news: &News, of: &Pausable, document: &[u8], event: &[u8]) -> Result<bool, StoreError> {
    let mut is_done = false;
    for shard in places(shards, of) {
        let call = Call {
            script: &PAUSE,
            // A repeated call finds it done, so that it needs no lane.
            keys: [&shard.tag, &shard.tag],
            arguments: vec![
                news.channel.to_vec(),
                news.voice.to_vec(),
                subject(of),
                document.to_vec(),
                event.to_vec(),
            ],
        };
        let answer = shard.link.script(&call).await?;
        let mut from = Unpacker::of(&answer);
        from.list()?;
        is_done |= from.uint()? == 1;
    }
    if is_done {
        news.tell();
    }
    Ok(is_done)
}

/// All pauses.
pub(super) async fn pauses(shards: &[Shard]) -> Result<Vec<Pause>, StoreError> {
    let mut found = BTreeMap::new();
    for shard in shards {
        let command = redis::cmd("HVALS").arg(shard.one("paused")).take();
        for document in all_bytes(shard.link.command(&command).await?)? {
            let pause: Pause = decode_bytes(&document, "a pause")?;
            found.entry(pause.of.clone()).or_insert(pause);
        }
    }
    Ok(found.into_values().collect())
}
