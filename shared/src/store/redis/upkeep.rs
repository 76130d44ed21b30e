//! What maintenance asks of the server: who leads it, and the deletion of what has ended.

use std::sync::Arc;

use super::committer::News;
use super::link::Link;
use super::pack::Unpacker;
use super::read;
use super::run_record::RunCache;
use super::script::{Call, LEAD, PRUNE};
use super::shard::{Shard, all_bytes, bytes, list};
use crate::id::{RunId, WorkerId};
use crate::store::document::corrupt;
use crate::store::{Lead, StoreError};
use crate::time::Timestamp;

/// Jobs that one call deletes: the server is busy with them for some ten milliseconds.
const JOBS_MAX: usize = 1_000;

/// What the keys begin with that belong to no run.
pub(super) fn tag(link: &Link) -> Vec<u8> {
    format!("{{{}}}", link.address().prefix).into_bytes()
}

/// Asks for the lead.
pub(super) async fn lead(
    link: &Arc<Link>,
    who: WorkerId,
    until: Timestamp,
    now: Timestamp,
) -> Result<Lead, StoreError> {
    let tag = tag(link);
    let call = Call {
        script: &LEAD,
        // It may be repeated, so that it needs no lane.
        keys: [&tag, &tag],
        arguments: vec![
            now.0.to_string().into_bytes(),
            until.0.to_string().into_bytes(),
            who.as_bytes().to_vec(),
        ],
    };
    let answer = link.script(&call).await?;
    let mut from = Unpacker::of(&answer);
    from.list()?;
    let holder = from.id()?.map(WorkerId::from_bytes);
    Ok(Lead {
        holder: holder.ok_or_else(nobody)?,
        until: from.moment()?,
    })
}

fn nobody() -> StoreError {
    corrupt("the lead", "nobody holds it")
}

/// Who leads now.
pub(super) async fn leader(link: &Arc<Link>, now: Timestamp) -> Result<Option<Lead>, StoreError> {
    let mut key = tag(link);
    key.extend_from_slice(b":lead");
    let command = redis::cmd("HMGET").arg(key).arg("holder").arg("until").take();
    let values = list(link.command(&command).await?)?.into_iter().map(bytes);
    let values: Vec<Option<Vec<u8>>> = values.collect::<Result<_, _>>()?;
    let [Some(holder), Some(until)] = values.as_slice() else {
        return Ok(None);
    };
    let until = std::str::from_utf8(until).ok().and_then(|text| text.parse().ok());
    let lead = Lead {
        holder: WorkerId::from_bytes(super::pack::id(holder)?),
        until: until.map(Timestamp).ok_or_else(nobody)?,
    };
    Ok(Some(lead).filter(|lead| lead.until > now))
}

/// Deletes an ended run whose newest event has the number `last`, and what crashes have left of others.
pub(super) async fn prune(
    shard: &Shard,
    runs: &RunCache,
    news: &News,
    run: RunId,
    last: u64,
) -> Result<(), StoreError> {
    let left = redis::cmd("SMEMBERS").arg(shard.one("gone")).take();
    for id in all_bytes(shard.link.command(&left).await?)? {
        let id = RunId::from_bytes(super::pack::id(&id)?);
        delete(shard, news, id, "", 0).await?;
    }
    match read::views(shard, runs, &[run]).await?.pop() {
        Some(view) => delete(shard, news, run, &view.run.tenant, last).await,
        None => Ok(()),
    }
}

async fn delete(shard: &Shard, news: &News, run: RunId, tenant: &str, last: u64) -> Result<(), StoreError> {
    loop {
        let call = Call {
            script: &PRUNE,
            // A repeated call goes on where the first one ended.
            keys: [&shard.tag, &shard.tag],
            arguments: vec![
                news.channel.to_vec(),
                news.voice.to_vec(),
                run.as_bytes().to_vec(),
                tenant.as_bytes().to_vec(),
                last.to_string().into_bytes(),
                JOBS_MAX.to_string().into_bytes(),
            ],
        };
        let answer = shard.link.script(&call).await?;
        let mut from = Unpacker::of(&answer);
        from.list()?;
        match from.uint()? {
            0 => break,
            1 => {}
            _ => return Err(StoreError::Conflict { what: run.to_string() }),
        }
    }
    news.tell();
    Ok(())
}
