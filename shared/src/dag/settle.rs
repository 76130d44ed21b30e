//! What the outcome of a parent means for the jobs that wait for it.

use super::{Condition, Edge};
use crate::id::JobId;
use crate::job::JobState;
use crate::run::OnFailure;

/// What one parent's state means for one edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The parent has not ended.
    Open,
    /// It ended as the edge needs.
    Met,
    /// It ended otherwise: the child can never run.
    Broken,
}

/// What a parent in `state` means for an edge with `condition`.
///
/// A cancelled parent breaks a `failure` edge: somebody wanted the work to stop, so no recovery starts by itself.
#[must_use]
pub fn standing(condition: Condition, state: JobState) -> Standing {
    match (state, condition) {
        (JobState::Blocked | JobState::Scheduled | JobState::Queued | JobState::Running, _) => Standing::Open,
        (JobState::Succeeded, Condition::Success | Condition::Finished)
        | (JobState::Failed | JobState::Skipped, Condition::Failure | Condition::Finished)
        | (JobState::Cancelled, Condition::Finished) => Standing::Met,
        (JobState::Succeeded, Condition::Failure)
        | (JobState::Failed | JobState::Skipped, Condition::Success)
        | (JobState::Cancelled, Condition::Success | Condition::Failure) => Standing::Broken,
    }
}

/// Whether a child that can never run because of a parent in `state` waits for a person instead of being skipped.
///
/// Only a failure can be made good. What a person has cancelled, and a recovery that was not needed, is skipped in any case,
/// and so is what needs one that was skipped.
#[must_use]
pub fn is_held(on_failure: OnFailure, condition: Condition, state: JobState) -> bool {
    on_failure == OnFailure::Hold && condition == Condition::Success && state == JobState::Failed
}

/// What the end of a parent means for all its dependents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settlement {
    /// Edges to take out of their child's unmet set.
    pub met: Vec<Edge>,
    /// Children that can never run and are to be skipped.
    pub broken: Vec<JobId>,
}

/// Sorts the `dependents` of a parent that ended in `state`.
#[must_use]
pub fn settle(state: JobState, dependents: &[Edge]) -> Settlement {
    let mut settlement = Settlement::default();
    for edge in dependents {
        match standing(edge.condition, state) {
            Standing::Met => settlement.met.push(*edge),
            Standing::Broken => settlement.broken.push(edge.child),
            Standing::Open => {}
        }
    }
    settlement
}

/// Whether a job may start, by the states of what it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// All are met.
    Ready,
    /// Some have not ended.
    Waiting,
    /// This parent ended otherwise than needed.
    Never(JobId),
}

/// Whether a job may start whose parents stand as in `parents`.
#[must_use]
pub fn readiness(parents: impl IntoIterator<Item = (JobId, Condition, JobState)>) -> Readiness {
    let mut ready = Readiness::Ready;
    for (parent, condition, state) in parents {
        match standing(condition, state) {
            Standing::Met => {}
            Standing::Open => ready = Readiness::Waiting,
            Standing::Broken => return Readiness::Never(parent),
        }
    }
    ready
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_is_decided_for_each_state() {
        use Condition::{Failure, Finished, Success};
        use Standing::{Broken, Met, Open};
        for state in JobState::ALL {
            let found = [Success, Failure, Finished].map(|condition| standing(condition, state));
            let wanted = match state {
                JobState::Blocked | JobState::Scheduled | JobState::Queued | JobState::Running => [Open, Open, Open],
                JobState::Succeeded => [Met, Broken, Met],
                JobState::Failed | JobState::Skipped => [Broken, Met, Met],
                JobState::Cancelled => [Broken, Broken, Met],
            };
            assert_eq!(found, wanted, "{state}");
        }
    }

    #[test]
    fn s23_only_what_needs_the_success_of_a_failed_parent_is_held_and_only_if_the_run_says_so() {
        let conditions = [Condition::Success, Condition::Failure, Condition::Finished];
        for state in JobState::ALL {
            for condition in conditions {
                let may_be = condition == Condition::Success && state == JobState::Failed;
                assert_eq!(is_held(OnFailure::Hold, condition, state), may_be, "{state}");
                assert!(!may_be || standing(condition, state) == Standing::Broken, "{state}");
                assert!(!is_held(OnFailure::Skip, condition, state), "{state}");
            }
        }
    }
}
