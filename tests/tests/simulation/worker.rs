//! A worker of the simulation: it claims, reports, hands out work and settles, and does by chance what models do.

use legwork_shared::batch::{Batch, FileRecord, JournalEntry};
use legwork_shared::budget::{Reservation, Usage};
use legwork_shared::dag::{Condition, Edge, EdgeKind};
use legwork_shared::id::{JobId, WorkerId};
use legwork_shared::job::{
    BlockedOn, Checkpoint, Command, FailReason, Job, JobError, LeaseToken, Phase, Refusal, Verdict, apply,
};
use legwork_shared::store::{ClaimRequest, Claimed, Store, StoreError};
use legwork_tests::engine::START;
use legwork_tests::make;
use serde_json::json;

use super::faulty::Faulty;

/// How long a lease holds.
pub const LEASE_MS: u64 = 30_000;
/// How often a write is tried again; then the worker gives up and its lease lapses.
const TRIES: u32 = 6;
/// The most that one call of a model may take, in tokens each way.
const TOKENS: u64 = 20;
/// Jobs at this depth hand out none.
pub const DEPTH_MAX: u32 = 2;

/// One process.
pub struct Worker {
    store: Faulty,
    id: WorkerId,
}

/// A job at work.
struct Work {
    claimed: Claimed,
    token: LeaseToken,
    /// Whether the list of dependents is as new as the record.
    fresh: bool,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Yes,
    /// A budget does not allow it.
    Exhausted,
    /// The job is another's, or the store is away for too long.
    Gone,
}

impl Worker {
    pub fn new(store: Faulty, number: u32) -> Self {
        let id = WorkerId::nth(START, number, 0);
        Self { store, id }
    }

    /// Claims once, and does what it got.
    pub async fn work(self) {
        let request = ClaimRequest {
            worker: self.id,
            queues: vec!["default".to_owned()],
            slots: 1 + usize::from(self.chance(4) == 0),
            lease_ms: LEASE_MS,
            entropy: self.chance(u64::MAX),
        };
        let Ok(claimed) = self.store.claim(&request).await else {
            return;
        };
        for claimed in claimed {
            let token = make::token(&claimed.job);
            let work = Work {
                claimed,
                token,
                fresh: true,
            };
            self.attempt(work).await;
        }
    }

    fn chance(&self, end: u64) -> u64 {
        self.store.fate.below(end)
    }

    async fn attempt(&self, mut work: Work) {
        for _ in 0..self.chance(4) {
            let goes_on = match self.chance(8) {
                0 => {
                    let until = self.store.now() + LEASE_MS;
                    // Whether it worked shows with the next write.
                    let _ = self.store.extend(&[work.token], until).await;
                    true
                }
                1 | 2 if work.claimed.job.spec.depth < DEPTH_MAX => self.hand_out(&mut work).await,
                _ => self.report(&mut work).await,
            };
            if !goes_on {
                return;
            }
        }
        let verdict = self.verdict();
        self.settle(&mut work, verdict).await;
    }

    fn verdict(&self) -> Verdict {
        match self.chance(12) {
            0 | 1 => Verdict::Failed(JobError::retryable("rate_limited", "slow down")),
            2 => Verdict::Failed(JobError::fatal(FailReason::Schema, "schema", "it does not fit")),
            3 => Verdict::Yielded {
                due: self.store.now() + self.chance(60_000),
            },
            4 => Verdict::Cancelled,
            5..=7 => Verdict::Answered(make::result("answered")),
            _ => Verdict::Succeeded(make::result("done")),
        }
    }

    /// One step of a model: what the last one cost, what the next one may, an entry, perhaps mail and a file.
    async fn report(&self, work: &mut Work) -> bool {
        let (reserve, file) = (self.chance(2) == 0, self.chance(3) == 0);
        let mail = self.store.mail(work.token.job).await.unwrap_or_default();
        let applied: Vec<_> = mail.iter().map(|mail| mail.id).collect();
        let (input, output) = (self.chance(TOKENS), self.chance(TOKENS));
        let make = |job: &Job, batch: &mut Batch, reserve: bool| {
            let ahead = Reservation {
                input_tokens: input,
                output_tokens: output,
                cost_micro_usd: 1,
            };
            batch.journal.push(entry(job, batch));
            batch.mail_applied.extend(applied.iter().map(|id| (job.id, *id)));
            batch.files.extend(file.then(|| file_of(job, batch)));
            let mut progress = job.progress.clone();
            progress.step += 1;
            Checkpoint {
                entries: 1,
                spent: spent(job),
                reserve: reserve.then_some(ahead),
                applied: applied.clone(),
                progress,
                todos: None,
                lease_until: batch.at + LEASE_MS,
            }
        };
        let token = work.token;
        for reserve in [reserve, false] {
            let written = self
                .write(work, |job, batch| {
                    let report = make(job, batch, reserve);
                    let transition = apply(job, &Command::Checkpoint { token, report }, batch.at)?;
                    Ok(transition)
                })
                .await;
            match written {
                Written::Yes => return true,
                Written::Exhausted => {}
                Written::Gone => return false,
            }
        }
        true
    }

    /// Hands out a job or two; says whether the attempt goes on.
    async fn hand_out(&self, work: &mut Work) -> bool {
        let (count, waits) = (1 + self.chance(2), self.chance(2) == 0);
        let run = work.claimed.run.clone();
        let token = work.token;
        let salt = self.chance(u64::MAX);
        let written = self
            .write(work, |job, batch| {
                if job.cancel.is_some() {
                    return Err(Refusal::Fenced {
                        job: job.id,
                        attempt: token.attempt,
                    });
                }
                batch.journal.push(entry(job, batch));
                let report = Checkpoint {
                    entries: 1,
                    spent: spent(job),
                    progress: job.progress.clone(),
                    lease_until: batch.at + LEASE_MS,
                    ..Checkpoint::default()
                };
                let mut transition = apply(job, &Command::Checkpoint { token, report }, batch.at)?;
                let mut children = Vec::new();
                for number in 0..count {
                    let number = u32::try_from(number).unwrap();
                    let mut spec = make::spec(&format!("{}/{}", job.spec.name, job.journal_len));
                    spec.parent = Some(job.id);
                    spec.depth = job.spec.depth + 1;
                    spec.limits = job.spec.limits;
                    // By this the onlooker sees which attempt handed it out.
                    spec.context = Some(json!(token.attempt));
                    let id = JobId::nth(batch.at, number, u128::from(salt) << 64);
                    children.push(make::queued(id, &run, spec, batch.at));
                }
                if waits {
                    let verdict = Verdict::Waiting(BlockedOn::Children);
                    let asleep = apply(&transition.job, &Command::Settle { token, verdict }, batch.at)?;
                    transition = transition.then(asleep);
                    batch
                        .edges
                        .extend(children.iter().map(|child| (awaits(job, child), true)));
                }
                make::add_jobs(batch, &run, &children, &[]);
                Ok(transition)
            })
            .await;
        match written {
            Written::Yes => !waits,
            Written::Exhausted => true,
            Written::Gone => false,
        }
    }

    async fn settle(&self, work: &mut Work, mut verdict: Verdict) {
        let token = work.token;
        loop {
            let command = Command::Settle {
                token,
                verdict: verdict.clone(),
            };
            let written = self.write(work, |job, batch| apply(job, &command, batch.at)).await;
            match (written, &verdict) {
                (Written::Exhausted, Verdict::Failed(error)) if error.reason == FailReason::Error => {
                    verdict = Verdict::Failed(JobError::fatal(FailReason::Budget, "retry_budget", "no retry is left"));
                }
                (Written::Exhausted, _) if verdict == Verdict::Cancelled => {
                    verdict = Verdict::Failed(JobError::retryable("stopped", "it stopped without being asked to"));
                }
                _ => return,
            }
        }
    }

    /// Decides, commits, and decides again on a newer record, as a worker does that may have been paused at any point.
    async fn write(
        &self,
        work: &mut Work,
        decide: impl Fn(&Job, &mut Batch) -> Result<legwork_shared::job::Transition, Refusal>,
    ) -> Written {
        for _ in 0..TRIES {
            if !work.fresh && self.reload(work).await.is_err() {
                continue;
            }
            let mut batch = Batch::at(self.store.now());
            let transition = match decide(&work.claimed.job, &mut batch) {
                Ok(transition) => transition,
                Err(Refusal::Fenced { .. }) => return Written::Gone,
                Err(Refusal::State { .. } | Refusal::Budget { .. }) => return Written::Exhausted,
            };
            let next = transition.job.clone();
            batch.transition(transition, &work.claimed.run, &work.claimed.dependents);
            match self.store.commit(batch).await {
                Ok(_) => {
                    let goes_on = matches!(next.phase, Phase::Running { .. });
                    work.claimed.job = next;
                    return if goes_on { Written::Yes } else { Written::Gone };
                }
                Err(StoreError::Exhausted { .. }) => return Written::Exhausted,
                Err(_) => work.fresh = false,
            }
        }
        Written::Gone
    }

    async fn reload(&self, work: &mut Work) -> Result<(), StoreError> {
        let job = self.store.job(work.token.job).await?;
        work.claimed.job = job.expect("no job is removed here");
        work.claimed.dependents = self.store.dependents(work.token.job).await?;
        work.fresh = true;
        Ok(())
    }
}

fn entry(job: &Job, batch: &Batch) -> JournalEntry {
    JournalEntry {
        job: job.id,
        seq: job.journal_len,
        attempt: job.attempt,
        at: batch.at,
        entry: json!({"step": job.progress.step}),
    }
}

/// A file whose size says which attempt wrote it.
fn file_of(job: &Job, batch: &Batch) -> FileRecord {
    FileRecord {
        run: job.run,
        path: format!("out/{}.md", job.spec.name),
        sha256: "c".repeat(64),
        size: u64::from(job.attempt),
        media_type: "text/markdown".to_owned(),
        by: job.id,
        at: batch.at,
    }
}

/// A call costs at most what was reserved for it.
fn spent(job: &Job) -> Usage {
    let ahead = job.reserved.unwrap_or_default();
    Usage {
        input_tokens: ahead.input_tokens,
        output_tokens: ahead.output_tokens / 2,
        cost_micro_usd: ahead.cost_micro_usd,
        model_calls: 1,
        tool_calls: 1,
    }
}

fn awaits(sleeper: &Job, child: &Job) -> Edge {
    Edge {
        parent: child.id,
        child: sleeper.id,
        condition: Condition::Finished,
        kind: EdgeKind::Await,
    }
}
