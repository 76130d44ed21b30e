//! The hot record of a job: what scripts look at and change, in the order in which `record.lua` names it.

use std::sync::Arc;

use super::pack::{Packer, Unpacker};
use crate::id::{JobId, RunId, WorkerId};
use crate::job::{BlockedOn, Delay, Job, JobSpec, JobState, Lease, LeaseToken, Phase, Times};
use crate::store::StoreError;
use crate::store::document::{Head, Rest, corrupt, decode_bytes};
use crate::time::Timestamp;

/// How many values a hot record has.
const LEN: usize = 22;
/// How many it had in the first format: all but the turn.
const LEN_FIRST: usize = 21;
const BLOCKED_ON: [BlockedOn; 2] = [BlockedOn::Dependencies, BlockedOn::Children];
const DELAYS: [Delay; 3] = [Delay::Start, Delay::Retry, Delay::Provider];

/// The code of a state: its place in a job's life.
pub(super) fn code_of(state: JobState) -> u64 {
    state as u64
}

fn place_in<T: PartialEq>(all: &[T], value: &T) -> i64 {
    let place = all.iter().position(|known| known == value);
    place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1)
}

fn at_place<T: Copy>(all: &[T], place: i64) -> Option<T> {
    all.get(usize::try_from(place).ok()?).copied()
}

/// The hot record of `job`, packed.
pub(super) fn pack(job: &Job) -> Vec<u8> {
    let mut packer = Packer::default();
    let spec = &*job.spec;
    let phase = Places::of(job);
    let times = &job.times;
    packer
        .list(LEN)
        .uint(job.version)
        .uint(code_of(job.state()))
        .moment(job.phase.since())
        .maybe(phase.wake.map(|at| at.0))
        .uint(u64::from(job.attempt))
        .bytes(phase.lease.as_ref().map_or(&[], |lease| lease.worker.as_bytes()))
        .bytes(phase.lease.as_ref().map_or(&[], |lease| &lease.secret))
        .uint(u64::from(job.cancel.is_some()))
        .uint(u64::from(job.mail_sent))
        .uint(u64::from(job.mail_applied))
        .int(phase.why)
        .maybe(job.started_at.map(|at| at.0));
    for ms in [times.blocked_ms, times.scheduled_ms, times.queued_ms, times.running_ms] {
        packer.maybe(Some(ms));
    }
    packer
        .maybe(spec.limits.queue_timeout_ms)
        .maybe(spec.start_at.map(|at| at.0))
        .int(i64::from(spec.priority))
        .bytes(spec.queue.as_bytes())
        .bytes(job.run.as_bytes())
        // The script fills in a queued job's turn.
        .int(-1);
    packer.into_bytes()
}

struct HeldBy {
    worker: WorkerId,
    secret: [u8; 8],
}

/// What of a phase is in the hot record.
struct Places {
    wake: Option<Timestamp>,
    lease: Option<HeldBy>,
    why: i64,
}

impl Places {
    fn of(job: &Job) -> Self {
        let mut places = Self {
            wake: None,
            lease: None,
            why: -1,
        };
        match &job.phase {
            Phase::Blocked { on, since: _ } => places.why = place_in(&BLOCKED_ON, on),
            Phase::Scheduled { due, reason, since: _ } => {
                places.wake = Some(*due);
                places.why = place_in(&DELAYS, reason);
            }
            Phase::Queued { since } => {
                // The queue time-out ends with the first attempt.
                let limit_ms = job.spec.limits.queue_timeout_ms.filter(|_| job.attempt == 0);
                places.wake = limit_ms.map(|limit_ms| *since + limit_ms);
            }
            Phase::Running { lease } => {
                places.wake = Some(lease.until);
                places.lease = Some(HeldBy {
                    worker: lease.worker,
                    secret: lease.token.secret.to_be_bytes(),
                });
            }
            Phase::Ended { .. } => {}
        }
        places
    }
}

/// A hot record as it was read.
pub(super) struct Hot {
    pub state: JobState,
    pub run: RunId,
    version: u64,
    since: Timestamp,
    wake: Option<Timestamp>,
    attempt: u32,
    pub worker: Option<WorkerId>,
    secret: Option<u64>,
    mail_sent: u32,
    mail_applied: u32,
    why: i64,
    started_at: Option<Timestamp>,
    times: Times,
}

impl Hot {
    /// Reads a packed record.
    pub fn read(packed: &[u8]) -> Result<Self, StoreError> {
        let mut from = Unpacker::of(packed);
        let len = from.list()?;
        if len != LEN && len != LEN_FIRST {
            return Err(corrupt("the record of a job", format_args!("it has {len} values")));
        }
        let version = from.uint()?;
        let state = at_place(&JobState::ALL, from.int()?).ok_or_else(|| corrupt("a job", "its state is unknown"))?;
        let (since, wake) = (from.moment()?, from.maybe()?.map(super::pack::moment));
        let attempt = from.small()?;
        let worker = from.id()?.map(WorkerId::from_bytes);
        let secret = from.bytes()?;
        let _cancelling = from.uint()?;
        let (mail_sent, mail_applied) = (from.small()?, from.small()?);
        let why = from.int()?;
        let started_at = from.maybe()?.map(super::pack::moment);
        let times = Times {
            blocked_ms: from.uint()?,
            scheduled_ms: from.uint()?,
            queued_ms: from.uint()?,
            running_ms: from.uint()?,
        };
        // The queue time-out, the start time and the priority are in the specification as well.
        let _ = (from.int()?, from.int()?, from.int()?, from.bytes()?);
        let run = from.id()?.map(RunId::from_bytes);
        Ok(Self {
            state,
            run: run.ok_or_else(|| corrupt("a job", "it belongs to no run"))?,
            version,
            since,
            wake,
            attempt,
            worker,
            secret: secret.try_into().ok().map(u64::from_be_bytes),
            mail_sent,
            mail_applied,
            why,
            started_at,
            times,
        })
    }

    /// The job of this record, its rest and its specification.
    pub fn compose(self, id: JobId, rest: &[u8], spec: Arc<JobSpec>) -> Result<Job, StoreError> {
        let mut rest: Rest<'static> = decode_bytes(rest, "a job")?;
        rest.times = self.times;
        rest.started_at = self.started_at;
        let phase = self.phase(id, &mut rest).ok_or_else(|| {
            let state = self.state;
            corrupt(id, format_args!("it is {state}, and what belongs to that is missing"))
        })?;
        Ok(rest.into_job(Head {
            id,
            run: self.run,
            version: self.version,
            spec,
            phase,
            attempt: self.attempt,
            mail_sent: self.mail_sent,
            mail_applied: self.mail_applied,
        }))
    }

    fn phase(&self, job: JobId, rest: &mut Rest<'static>) -> Option<Phase> {
        let since = self.since;
        Some(match self.state {
            JobState::Blocked => Phase::Blocked {
                on: at_place(&BLOCKED_ON, self.why)?,
                since,
            },
            JobState::Scheduled => Phase::Scheduled {
                due: self.wake?,
                reason: at_place(&DELAYS, self.why)?,
                since,
            },
            JobState::Queued => Phase::Queued { since },
            JobState::Running => {
                let token = LeaseToken {
                    job,
                    attempt: self.attempt,
                    secret: self.secret?,
                };
                Phase::Running {
                    lease: Lease {
                        token,
                        worker: self.worker?,
                        since,
                        until: self.wake?,
                    },
                }
            }
            JobState::Succeeded | JobState::Failed | JobState::Cancelled | JobState::Skipped => Phase::Ended {
                outcome: rest.outcome.take()?.into_owned(),
                at: since,
            },
        })
    }
}

/// The rest of `job` as a document: what the hot record holds is left out.
pub(super) fn rest_of(job: &Job) -> Result<String, StoreError> {
    let mut rest = Rest::of(job);
    rest.times = Times::default();
    rest.started_at = None;
    crate::store::document::encode(&rest, "a job")
}
