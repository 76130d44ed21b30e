//! Schedules. They belong to no run: all of them stand in one hash.

use std::sync::Arc;

use super::committer::News;
use super::link::Link;
use super::pack::Unpacker;
use super::packed::key_name;
use super::script::{Call, SCHEDULE};
use super::shard::all_bytes;
use super::upkeep::tag;
use crate::schedule::Schedule;
use crate::store::StoreError;
use crate::store::document::{decode_bytes, encode};

/// Records a schedule, or forgets it if there is no document. Whether that was done.
async fn set(link: &Arc<Link>, news: &News, field: Vec<u8>, version: u64, document: &[u8]) -> Result<bool, StoreError> {
    let tag = tag(link);
    let call = Call {
        script: &SCHEDULE,
        // A repeated call finds what it has written, and says so.
        keys: [&tag, &tag],
        arguments: vec![
            news.channel.to_vec(),
            news.voice.to_vec(),
            field,
            version.to_string().into_bytes(),
            document.to_vec(),
        ],
    };
    let answer = link.script(&call).await?;
    let mut from = Unpacker::of(&answer);
    from.list()?;
    let is_done = from.uint()? == 1;
    if is_done {
        news.tell();
    }
    Ok(is_done)
}

/// Records a schedule.
pub(super) async fn put(link: &Arc<Link>, news: &News, schedule: &Schedule) -> Result<(), StoreError> {
    let field = key_name(&schedule.tenant, &schedule.name);
    let document = encode(schedule, "a schedule")?;
    if set(link, news, field, schedule.version, document.as_bytes()).await? {
        return Ok(());
    }
    let what = format!("the schedule `{}`", schedule.name);
    Err(StoreError::Conflict { what })
}

/// Forgets a schedule.
pub(super) async fn remove(link: &Arc<Link>, news: &News, tenant: &str, name: &str) -> Result<bool, StoreError> {
    set(link, news, key_name(tenant, name), 0, &[]).await
}

/// The schedules of a tenant, or of all.
pub(super) async fn list(link: &Arc<Link>, tenant: Option<&str>) -> Result<Vec<Schedule>, StoreError> {
    let mut key = tag(link);
    key.extend_from_slice(b":schedules");
    let command = redis::cmd("HVALS").arg(key).take();
    let stored = all_bytes(link.command(&command).await?)?;
    let schedules = stored.iter().map(|packed| {
        let mut from = Unpacker::of(packed);
        from.list()?;
        from.uint()?;
        decode_bytes(from.bytes()?, "a schedule")
    });
    let mut schedules: Vec<Schedule> = schedules.collect::<Result<_, _>>()?;
    schedules.retain(|schedule| tenant.is_none_or(|tenant| schedule.tenant == tenant));
    schedules.sort_unstable_by(|one, other| (&one.tenant, &one.name).cmp(&(&other.tenant, &other.name)));
    Ok(schedules)
}
