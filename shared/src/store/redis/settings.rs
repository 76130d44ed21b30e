//! What holds for all users of a store: its format and its shards, written by the first and checked by all others.

use std::sync::Arc;

use super::link::Link;
use super::shard::{bytes, list};
use crate::store::StoreError;
use crate::store::document::corrupt;

/// The format that this version writes. Another format of keys or records is another number. In the first one, queued jobs
/// had no turns; their records are read, and written in the second one when they change.
const FORMAT: u32 = 2;
/// One shard is enough for one server.
const SHARDS: u8 = 1;
const FIELDS: [&str; 2] = ["format", "shards"];

/// Agrees with the store on its format, and returns in how many shards it is laid out.
///
/// # Errors
/// [`StoreError::Newer`] if it has a later format; [`StoreError::Unfit`] if other shards are wanted than it has.
pub(super) async fn agree(link: &Arc<Link>) -> Result<usize, StoreError> {
    let address = link.address();
    let key = format!("{{{}}}:settings", address.prefix);
    let mut values = read(link, &key).await?;
    if values.len() < FIELDS.len() {
        // The first one writes, whoever it is.
        let shards = address.shards.unwrap_or(SHARDS);
        for (name, value) in FIELDS.into_iter().zip([FORMAT, u32::from(shards)]) {
            let command = redis::cmd("HSETNX").arg(&key).arg(name).arg(value).take();
            link.command(&command).await?;
        }
        values = read(link, &key).await?;
    }
    let numbers = values
        .iter()
        .map(|bytes| std::str::from_utf8(bytes).ok()?.parse::<u32>().ok());
    let numbers: Vec<u32> = numbers
        .collect::<Option<_>>()
        .ok_or_else(|| corrupt("the store's settings", "they are not numbers"))?;
    let [format, shards] = numbers[..] else {
        return Err(corrupt("the store's settings", "some are missing"));
    };
    if format > FORMAT {
        return Err(StoreError::Newer {
            found: format,
            known: FORMAT,
        });
    }
    if format < FORMAT {
        // From now on, programs that know only the first one are told so.
        let command = redis::cmd("HSET").arg(&key).arg(FIELDS[0]).arg(FORMAT).take();
        link.command(&command).await?;
    }
    if let Some(wanted) = address.shards.filter(|wanted| u32::from(*wanted) != shards) {
        return Err(StoreError::Unfit {
            message: format!("it is laid out in {shards} shards, and its address asks for {wanted}"),
        });
    }
    usize::try_from(shards.max(1)).map_err(|error| corrupt("the store's settings", error))
}

async fn read(link: &Arc<Link>, key: &str) -> Result<Vec<Vec<u8>>, StoreError> {
    let command = redis::cmd("HMGET").arg(key).arg(&FIELDS).take();
    let values = list(link.command(&command).await?)?.into_iter().map(bytes);
    Ok(values.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The key of the records of workers, which belong to no run.
pub(super) fn workers_key(link: &Link) -> String {
    format!("{{{}}}:workers", link.address().prefix)
}

/// The settings of the server by name, as `CONFIG GET` gives them.
pub(super) fn pairs(value: redis::Value) -> Result<Vec<(String, String)>, StoreError> {
    let mut values = list(value)?.into_iter().map(bytes);
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        let text = |bytes: Option<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        pairs.push((text(name?), text(value?)));
    }
    Ok(pairs)
}
