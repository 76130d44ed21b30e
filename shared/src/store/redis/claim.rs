//! Leases: taken and extended by scripts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::committer::News;
use super::edges;
use super::hot::Hot;
use super::lane::Lane;
use super::pack::{Packer, Unpacker};
use super::run_record::{RunCache, RunHead};
use super::script::{CLAIM, Call, EXTEND};
use super::shard::Shard;
use crate::id::{JobId, RunId};
use crate::job::LeaseToken;
use crate::run::Run;
use crate::store::document::{corrupt, decode_bytes};
use crate::store::{ClaimRequest, Claimed, Extension, StoreError};
use crate::time::Timestamp;

/// Takes up to `slots` of the next jobs of the request's queues in one shard.
pub(super) async fn claim(
    shard: &Shard,
    lane: &Lane,
    news: &News,
    runs: &RunCache,
    request: &ClaimRequest,
    now: Timestamp,
) -> Result<Vec<Claimed>, StoreError> {
    let mut arguments = vec![
        news.channel.to_vec(),
        news.voice.to_vec(),
        now.0.to_string().into_bytes(),
        (now + request.lease_ms).0.to_string().into_bytes(),
        request.slots.to_string().into_bytes(),
        request.worker.as_bytes().to_vec(),
        request.entropy.to_be_bytes().to_vec(),
    ];
    let queues: BTreeSet<&String> = request.queues.iter().collect();
    arguments.extend(queues.into_iter().map(|queue| queue.clone().into_bytes()));
    let answer = lane.call(&CLAIM, arguments).await?;
    let claimed = read(shard, runs, &answer).await?;
    if !claimed.is_empty() {
        news.tell();
    }
    Ok(claimed)
}

/// A job of the answer, whose run is not looked up yet.
struct Taken<'a> {
    id: JobId,
    hot: Hot,
    rest: &'a [u8],
    spec: &'a [u8],
    dependents: Vec<(&'a [u8], &'a [u8])>,
}

async fn read(shard: &Shard, runs: &RunCache, answer: &[u8]) -> Result<Vec<Claimed>, StoreError> {
    let mut from = Unpacker::of(answer);
    from.list()?;
    let jobs = (0..from.list()?).map(|_| taken(&mut from));
    let jobs: Vec<Taken<'_>> = jobs.collect::<Result<_, _>>()?;
    let mut known: HashMap<RunId, Arc<Run>> = HashMap::new();
    for _ in 0..from.list()? {
        from.list()?;
        let id = from.id()?.map(RunId::from_bytes);
        let id = id.ok_or_else(|| corrupt("a claim", "a run has no id"))?;
        let (head, document) = (RunHead::read(from.bytes()?)?, from.bytes()?);
        known.insert(id, runs.run(shard, id, &head, document).await?);
    }
    jobs.into_iter().map(|job| job.with(&known)).collect()
}

fn taken<'a>(from: &mut Unpacker<'a>) -> Result<Taken<'a>, StoreError> {
    from.list()?;
    let id = from.id()?.map(JobId::from_bytes);
    let (hot, rest, spec) = (Hot::read(from.bytes()?)?, from.bytes()?, from.bytes()?);
    let dependents = (0..from.list()? / 2).map(|_| Ok((from.bytes()?, from.bytes()?)));
    Ok(Taken {
        id: id.ok_or_else(|| corrupt("a claim", "a job has no id"))?,
        hot,
        rest,
        spec,
        dependents: dependents.collect::<Result<_, StoreError>>()?,
    })
}

impl Taken<'_> {
    fn with(self, runs: &HashMap<RunId, Arc<Run>>) -> Result<Claimed, StoreError> {
        let run = runs.get(&self.hot.run).cloned();
        let spec = Arc::new(decode_bytes(self.spec, "the specification of a job")?);
        Ok(Claimed {
            run: run.ok_or_else(|| corrupt(self.id, "it belongs to no run"))?,
            job: self.hot.compose(self.id, self.rest, spec)?,
            dependents: edges::dependents(self.id, self.dependents.into_iter())?,
        })
    }
}

/// Extends leases of one shard, or looks after them.
pub(super) async fn extend(
    shard: &Shard,
    tokens: &[LeaseToken],
    until: Timestamp,
) -> Result<Vec<Extension>, StoreError> {
    let mut packer = Packer::default();
    packer.list(tokens.len());
    for token in tokens {
        packer
            .list(3)
            .bytes(token.job.as_bytes())
            .uint(u64::from(token.attempt))
            .bytes(&token.secret.to_be_bytes());
    }
    let call = Call {
        script: &EXTEND,
        // It may be repeated, so that it needs no lane.
        keys: [&shard.tag, &shard.tag],
        arguments: vec![until.0.to_string().into_bytes(), packer.into_bytes()],
    };
    let answer = shard.link.script(&call).await?;
    let mut from = Unpacker::of(&answer);
    let count = from.list()?;
    if count != tokens.len() {
        let why = format_args!("{count} answers to {} tokens", tokens.len());
        return Err(corrupt("an extension", why));
    }
    let extensions = tokens.iter().map(|token| {
        from.list()?;
        Ok(Extension {
            token: *token,
            held: from.uint()? == 1,
            version: from.uint()?,
            cancel: from.uint()? == 1,
            mail: from.small()?,
        })
    });
    extensions.collect()
}
