//! Submits the plans of schedules when they are due. Each occurrence has an idempotency key of its own, so that a crash between
//! the submit and the note that it was done makes no second run.

use std::collections::BTreeMap;
use std::sync::Arc;

use legwork_shared::agent::AgentSpec;
use legwork_shared::schedule::{Occurrence, Schedule};
use legwork_shared::store::{Store, StoreError};
use legwork_shared::time::Timestamp;

use crate::coordinator::Coordinator;
use crate::timetable::Timetable;

/// Submits what is due by `now`. Returns when to look again.
///
/// Of several occurrences that nobody was there for, the latest is made good.
///
/// # Errors
/// [`StoreError`]; what was not submitted stays due.
pub async fn tick(store: &Arc<dyn Store>, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let mut soonest: Option<Timestamp> = None;
    for schedule in store.schedules(None).await? {
        let next = match schedule.next_at {
            Some(due) if due <= now => fire(store, schedule, due, now).await?,
            upcoming => upcoming,
        };
        soonest = soonest.into_iter().chain(next).min();
    }
    Ok(soonest)
}

/// Submits one plan, and notes it. Returns when its schedule is due next.
async fn fire(
    store: &Arc<dyn Store>,
    mut schedule: Schedule,
    due: Timestamp,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let (at, next) = match Timetable::parse(&schedule.cron, &schedule.zone) {
        Ok(table) => table.latest(due, now),
        // A version that reads other expressions has written it.
        Err(_) => (due, None),
    };
    let mut plan = schedule.plan.clone();
    let (name, made) = (&schedule.name, schedule.created_at.0);
    plan.idempotency_key = Some(format!("schedule:{name}:{made}:{}", at.0));
    let coordinator = Coordinator::new(store.clone(), &schedule.tenant);
    // The plan brings all agents that it needs.
    let nobody: BTreeMap<String, Arc<AgentSpec>> = BTreeMap::new();
    let last = match coordinator.submit(&plan, &nobody).await {
        Ok(submitted) => Occurrence {
            at,
            run: Some(submitted.run),
            error: None,
        },
        Err(fault) if fault.code == legwork_shared::fault::Code::StoreBusy => {
            return Err(StoreError::Unavailable { message: fault.message });
        }
        Err(fault) => {
            tracing::error!(schedule = %schedule.name, "the plan of the schedule is refused: {fault}");
            Occurrence {
                at,
                run: None,
                error: Some(fault.to_string()),
            }
        }
    };
    schedule.version += 1;
    schedule.last = Some(last);
    schedule.next_at = next;
    match store.put_schedule(&schedule).await {
        // Somebody has changed it meanwhile: the next look decides anew, and the key keeps it to one run.
        Ok(()) | Err(StoreError::Conflict { .. }) => Ok(next),
        Err(error) => Err(error),
    }
}
