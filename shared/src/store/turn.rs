//! Who is next in a queue. The runs take turns, so that one of a hundred thousand jobs does not keep one of three waiting.
//!
//! This is start-time fair queuing (Goyal, Vin and Cheng, 1996) with a run for a flow and every job of one length: a job gets
//! its turn when it is queued, one after the last of its run, and no earlier than where the queue has got to. A job that waits
//! for a slot so waits for at most one job of each other run that is there, and for those of its own.

use std::cmp::Reverse;

use crate::id::JobId;
use crate::time::Timestamp;

/// The turn of a job of a run whose last one in this queue and priority is `last`, while the queue has got to `now`.
///
/// Who comes anew goes beside the next jobs of the others, not before them: else runs of one job each, that come as fast as
/// they are served, would keep all others waiting for ever. A last turn that is not after `now` is of no account, so that it
/// need not be remembered.
#[must_use]
pub(super) fn next(now: u64, last: Option<u64>) -> u64 {
    now.max(last.unwrap_or(now)) + 1
}

/// A queued job, as a claim looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub priority: i32,
    pub turn: u64,
    pub since: Timestamp,
    pub id: JobId,
}

/// The next jobs of several queues together, each queue in its own order: of those at the heads, the one of the highest
/// priority, then the one that has waited longest, then by id. Turns of two queues say nothing of each other.
#[must_use]
pub(super) fn merge(queues: Vec<Vec<Candidate>>, slots: usize) -> Vec<Candidate> {
    let mut queues: Vec<_> = queues.into_iter().map(|queue| queue.into_iter().peekable()).collect();
    let mut found = Vec::new();
    while found.len() < slots {
        let heads = queues.iter_mut().filter_map(|queue| {
            let head = *queue.peek()?;
            Some(((Reverse(head.priority), head.since, head.id), queue))
        });
        let Some((_, first)) = heads.min_by_key(|(key, _)| *key) else {
            break;
        };
        found.extend(first.next());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(n: u32, priority: i32, turn: u64, since: u64) -> Candidate {
        let since = Timestamp(since);
        Candidate {
            priority,
            turn,
            since,
            id: JobId::nth(since, n, 0),
        }
    }

    #[test]
    fn a_run_that_was_away_begins_where_the_queue_is() {
        assert_eq!(next(7, None), 8);
        assert_eq!(next(7, Some(3)), 8, "as if it were not known");
        assert_eq!(next(7, Some(7)), 8, "the same");
        assert_eq!(next(7, Some(99)), 100);
    }

    #[test]
    fn queues_are_merged_by_their_heads() {
        let first = vec![candidate(1, 5, 0, 30), candidate(2, 0, 90, 10), candidate(3, 0, 91, 40)];
        let second = vec![candidate(4, 0, 3, 20), candidate(5, 0, 4, 50)];
        let order = |slots| {
            let merged = merge(vec![first.clone(), second.clone()], slots);
            merged.iter().map(|found| found.since.0).collect::<Vec<_>>()
        };
        assert_eq!(order(9), [30, 10, 20, 40, 50]);
        assert_eq!(order(2), [30, 10]);
        assert_eq!(order(0), [0; 0]);
    }
}
