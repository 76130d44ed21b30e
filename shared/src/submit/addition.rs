//! Jobs that are added to a run: their records, edges, counters and events.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::batch::{Batch, NewEvent, RunCharge};
use crate::budget::{Counter, RunLimits};
use crate::dag::{self, Condition, Edge, EdgeKind, Readiness};
use crate::id::{JobId, RunId};
use crate::job::{BlockedOn, Charge, Delay, EventKind, Job, JobSpec, JobState, Phase};

/// What a job that is to be added waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// Whom.
    pub id: JobId,
    /// Which outcome is needed.
    pub condition: Condition,
    /// How it stands now; a new one is `Queued` or `Blocked`.
    pub state: JobState,
    /// Its version, where it exists already.
    pub version: Option<u64>,
}

/// A job that is to be added to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Addition {
    /// Its id.
    pub id: JobId,
    /// What it is asked to do.
    pub spec: JobSpec,
    /// What it waits for.
    pub parents: Vec<Parent>,
}

/// Adds jobs to a batch: records in the phase their parents allow, edges, counters, events.
///
/// A parent that has not ended is touched, so that a worker that is about to settle it learns of its new dependent. A
/// parent that ended otherwise than needed cascades: the tracker skips the new job with the right cause.
pub fn add_jobs(batch: &mut Batch, run: RunId, limits: &RunLimits, additions: Vec<Addition>) {
    let now = batch.at;
    let count = i64::try_from(additions.len()).unwrap_or(i64::MAX);
    for (counter, must_fit) in [(Counter::Open, false), (Counter::Jobs, true)] {
        let charge = Charge {
            counter,
            add: count,
            must_fit,
        };
        batch.charges.push(RunCharge {
            run,
            charge,
            bound: limits.bound(counter),
        });
    }
    let mut touched: BTreeMap<JobId, u64> = BTreeMap::new();
    for addition in additions {
        let states = addition
            .parents
            .iter()
            .map(|parent| (parent.id, parent.condition, parent.state));
        let readiness = dag::readiness(states);
        if let Readiness::Never(parent) = readiness {
            batch.cascade.push(parent);
        }
        for parent in &addition.parents {
            let edge = Edge {
                parent: parent.id,
                child: addition.id,
                condition: parent.condition,
                kind: EdgeKind::Dependency,
            };
            let unmet = dag::standing(parent.condition, parent.state) != dag::Standing::Met;
            batch.edges.push((edge, unmet));
            // An ended parent is touched too: a retry of it at this very moment must not slip between.
            if let Some(version) = parent.version {
                touched.insert(parent.id, version);
            }
        }
        let (phase, event) = match (readiness, addition.spec.start_at) {
            (Readiness::Waiting | Readiness::Never(_), _) => {
                let on = BlockedOn::Dependencies;
                (Phase::Blocked { on, since: now }, EventKind::Blocked { on })
            }
            (Readiness::Ready, Some(due)) if due > now => {
                let reason = Delay::Start;
                (
                    Phase::Scheduled {
                        due,
                        reason,
                        since: now,
                    },
                    EventKind::Scheduled { due, reason },
                )
            }
            (Readiness::Ready, _) => (Phase::Queued { since: now }, EventKind::Queued),
        };
        batch.events.push(NewEvent {
            run,
            job: Some(addition.id),
            kind: event,
        });
        batch
            .insert
            .push(Job::new(addition.id, run, Arc::new(addition.spec), phase, now));
    }
    batch.touch.extend(touched);
}
