//! An event of a run's log, for programs.

use serde::{Deserialize, Serialize};

use crate::id::{JobId, RunId};
use crate::job::EventKind;
use crate::time::Timestamp;

/// One numbered fact. Following a log means asking for what comes after the last `seq` that was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    /// Its number in the run's log, from 1 and without gaps.
    pub seq: u64,
    /// When.
    pub at_ms: Timestamp,
    /// The run.
    pub run: RunId,
    /// The job; absent where it is about the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// The job's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What happened, under the key `event`, with its details beside it.
    #[serde(flatten)]
    pub kind: EventKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_flat_object() {
        let run = RunId::new(Timestamp(1), 0);
        let event = EventView {
            seq: 3,
            at_ms: Timestamp(5),
            run,
            job: None,
            name: None,
            kind: EventKind::Submitted,
        };
        let json = serde_json::to_value(&event).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({"seq": 3, "at_ms": 5, "run": run.to_string(), "event": "submitted"})
        );
        assert_eq!(serde_json::from_value::<EventView>(json).expect("an event"), event);
    }
}
